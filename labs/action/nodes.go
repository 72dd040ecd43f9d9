package action

import (
	"context"
	"fmt"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/labs/lab"
)

func (r *Runner) runOnNodes(ctx context.Context, start Start, step lab.Doing) error {
	var victim *lab.Victim
	var act func(context.Context, string) error
	switch step := step.(type) {
	case *lab.NodeKill:
		victim, act = &step.Victim, r.nodes.Kill
	case *lab.NodeStop:
		victim, act = &step.Victim, r.nodes.Stop
	case *lab.NodeStart:
		victim, act = &step.Victim, r.nodes.Start
	case *lab.NodePause:
		victim, act = &step.Victim, r.nodes.Pause
	case *lab.NodeResume:
		victim, act = &step.Victim, r.nodes.Resume
	case *lab.LinkSet:
		return r.setLink(ctx, start, step)
	case *lab.LinkHeal:
		return r.healLinks()
	default:
		return fmt.Errorf("nobody knows how to do %T", step)
	}
	node, err := r.choose(ctx, start, victim)
	if err != nil {
		return err
	}
	return act(ctx, node)
}

// choosePatience is how long an expression may take to name a node: who leads or owns something may just be being decided.
const choosePatience = 10 * time.Second

// choose returns the node's name.
func (r *Runner) choose(ctx context.Context, start Start, victim *lab.Victim) (string, error) {
	if victim.Node != "" {
		return victim.Node, nil
	}
	ctx, cancel := context.WithTimeout(ctx, choosePatience)
	defer cancel()
	for {
		name, err := victim.Expression().Run(r.Look(ctx, start, victim.Expression()))
		if text, ok := name.(string); err == nil && ok && text != "" {
			return text, nil
		}
		if waited := wait(ctx); waited != nil {
			return "", fmt.Errorf("which node is %s: it is %v, %v", victim.Which, name, err)
		}
	}
}

func (r *Runner) setLink(ctx context.Context, start Start, action *lab.LinkSet) error {
	var ends [2]string
	for i := range ends {
		var err error
		if ends[i], err = r.choose(ctx, start, &action.Between[i]); err != nil {
			return err
		}
	}
	rule := fabric.Link{Cut: action.Cut, Delay: time.Duration(action.DelayMS) * time.Millisecond}
	if err := r.nodes.SetLink(ends[0], ends[1], rule); err != nil {
		return err
	}
	return r.nodes.SetLink(ends[1], ends[0], rule)
}

func (r *Runner) healLinks() error {
	for _, rule := range r.nodes.Links() {
		if err := r.nodes.SetLink(rule.From, rule.To, fabric.Link{}); err != nil {
			return fmt.Errorf("heal the link from %s to %s: %w", rule.From, rule.To, err)
		}
	}
	return nil
}

// Restore ends what actions have left running and brings every node and link back: a lab begins in a whole classroom.
func (r *Runner) Restore(ctx context.Context) error {
	r.Close()
	if err := r.healLinks(); err != nil {
		return err
	}
	for _, node := range r.nodes.Nodes() {
		var err error
		switch node.State {
		case cluster.StatePaused:
			err = r.nodes.Resume(ctx, node.Name)
		case cluster.StateKilled, cluster.StateStopped, cluster.StateFailed:
			err = r.nodes.Start(ctx, node.Name)
		}
		if err != nil {
			return fmt.Errorf("bring %s (%s) back: %w", node.Name, node.State, err)
		}
	}
	return r.whole(ctx)
}

// whole returns when the clusters have taken everybody back: brokers are registered, and every partition has all its replicas in sync.
func (r *Runner) whole(ctx context.Context) error {
	for {
		missing := r.missing()
		if missing == "" {
			return nil
		}
		if err := wait(ctx); err != nil {
			return fmt.Errorf("the classroom is not whole again: %s: %w", missing, err)
		}
	}
}

func (r *Runner) missing() string {
	state, _ := r.trace.World()
	for name, node := range state.Nodes {
		if node.State != cluster.StateRunning {
			return name + " is " + node.State
		}
	}
	if state.Ensemble.Leader == "" || state.Kafka.Controller.Broker < 0 {
		return "there is no leader of the ensemble, or no controller"
	}
	for _, broker := range state.Kafka.Brokers {
		if !broker.Registered {
			return broker.Node + " is not registered"
		}
	}
	for name, broker := range state.Pulsar.Brokers {
		if !broker.Registered {
			return name + " is not registered"
		}
	}
	for _, bookie := range state.Pulsar.Bookies {
		if !bookie.Registered {
			return bookie.Node + " is not registered"
		}
	}
	for topic, detail := range state.Kafka.Topics {
		for number, partition := range detail.Partitions {
			if len(partition.ISR) < len(partition.Replicas) {
				return fmt.Sprintf("%s-%s has %d of %d replicas in sync", topic, number, len(partition.ISR), len(partition.Replicas))
			}
		}
	}
	return ""
}
