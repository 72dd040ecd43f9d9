package node

import (
	"context"
	"fmt"
	"log/slog"

	"twinlog/engine/ensemble/clienttrace"
	"twinlog/engine/sentence"
)

// driver is what a role's package makes: see New of engine/ensemble/server, engine/kafka/broker, engine/pulsar/broker and
// engine/pulsar/bookie.
type driver interface {
	// Run serves until the context ends, then shuts down in order and returns after all of its goroutines ended. When its network or
	// disk fail meanwhile, as they do for a killed node, it ends soon nevertheless.
	Run(ctx context.Context) error
	// Ready is closed when everything serves.
	Ready() <-chan struct{}
}

// Node is one node that can run once.
type Node struct {
	config Config
	driver driver
}

// New makes the node. It opens nothing yet that Run would not close.
func New(config Config, surroundings Surroundings) (*Node, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if surroundings.Logger == nil {
		surroundings.Logger = slog.New(slog.DiscardHandler)
	}
	if config.NodeOf == nil {
		config.NodeOf = func(address string) string { return address }
	}
	make, built := makers[config.Role]
	if !built {
		return nil, fmt.Errorf("node %s: this twinlog has no %s yet", config.Name(), config.Role)
	}
	surroundings.Network = clienttrace.Network(surroundings.Network, config.ZooKeeper, surroundings.Tracer)
	d, err := make(config, config.Pace.timeouts(), surroundings)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", config.Name(), err)
	}
	return &Node{config: config, driver: d}, nil
}

// Run serves until the context ends.
func (n *Node) Run(ctx context.Context) error {
	if err := n.driver.Run(ctx); err != nil {
		return fmt.Errorf("node %s: %w", n.config.Name(), err)
	}
	return nil
}

// Ready is closed when the node serves.
func (n *Node) Ready() <-chan struct{} { return n.driver.Ready() }

// LookAt tells what the node knows now of a thing, such as "znode /controller", "group readers" or
// "topic persistent://public/default/orders".
func (n *Node) LookAt(ctx context.Context, thing string) (any, error) {
	looker, can := n.driver.(interface {
		LookAt(ctx context.Context, thing string) (any, error)
	})
	if !can {
		return nil, sentence.Error(nil, "roleTellsNothing", "a {role} tells nothing of the things in it", n.config.Role)
	}
	return looker.LookAt(ctx, thing)
}
