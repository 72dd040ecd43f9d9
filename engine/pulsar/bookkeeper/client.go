// Package bookkeeper is the BookKeeper client: it stripes the entries of a ledger over bookies, acknowledges an add when the ack
// quorum has it, replaces a dead bookie while the writer goes on, and recovers the ledgers of dead writers. The decisions are in
// package ledger; here are the connections, the znodes and the waiting.
package bookkeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

// Config is a client's surroundings. Zero values mean the defaults that are given.
type Config struct {
	Network fabric.Network
	Store   metadata.Store
	Tracer  *trace.Tracer
	Logger  *slog.Logger
	// NodeOf gives the node name of a bookie's address, for the trace; nil: what the network knows.
	NodeOf func(bookie string) string

	Version     int           // of the protocol: 2 (default; what Pulsar's brokers speak) or 3
	AddTimeout  time.Duration // a bookie that did not answer an add for so long is replaced; default 5 s
	ReadTimeout time.Duration // a bookie that did not answer a read for so long is passed over; default 2 s
}

// Client talks to the bookies of one cluster.
type Client struct {
	config Config
	node   string
	tracer *trace.Tracer
	logger *slog.Logger
	ready  chan struct{}

	ctx  context.Context // of Run, for everything that the client starts
	stop context.CancelFunc

	mu        sync.Mutex
	stopped   bool
	channels  map[string]*channel
	available []string
	suspects  map[string]time.Time // until when
	running   sync.WaitGroup
}

// suspectFor is how long a bookie that failed is passed over when there are others.
const suspectFor = 10 * time.Second

// New returns a client. It does nothing until Run.
func New(config Config) (*Client, error) {
	if config.Network == nil || config.Store == nil {
		return nil, errors.New("BookKeeper client: network and metadata store are needed")
	}
	if config.Version == 0 {
		config.Version = wire.Version2
	}
	if config.Version != wire.Version2 && config.Version != wire.Version3 {
		return nil, fmt.Errorf("BookKeeper client: protocol version %d: known are 2 and 3", config.Version)
	}
	if config.AddTimeout <= 0 {
		config.AddTimeout = 5 * time.Second
	}
	if config.ReadTimeout <= 0 {
		config.ReadTimeout = 2 * time.Second
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Client{
		config: config, node: config.Network.Node(), tracer: config.Tracer, logger: config.Logger, ready: make(chan struct{}),
		ctx: ctx, stop: cancel, channels: make(map[string]*channel), suspects: make(map[string]time.Time),
	}, nil
}

// Ready is closed when the list of available bookies is known.
func (c *Client) Ready() <-chan struct{} { return c.ready }

const listRetry = 200 * time.Millisecond

// Run keeps the list of available bookies until ctx ends, then ends all connections and writers, and returns after their goroutines.
func (c *Client) Run(ctx context.Context) error {
	defer func() {
		c.mu.Lock()
		c.stopped = true
		c.mu.Unlock()
		c.stop()
		c.running.Wait()
	}()
	for {
		bookies, changed, err := metadata.WatchBookies(c.config.Store)
		if err != nil {
			if ctx.Err() == nil {
				c.logger.Debug("cannot list bookies yet", "error", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(listRetry):
			}
			continue
		}
		c.setAvailable(bookies)
		select {
		case <-ctx.Done():
			return nil
		case <-changed: // a lost session closes it too: list again
		}
	}
}

func (c *Client) setAvailable(bookies []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.available = bookies
	select {
	case <-c.ready:
	default:
		close(c.ready)
	}
}

// start runs a goroutine that Run waits for; false: the client has stopped.
func (c *Client) start(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return false
	}
	c.running.Go(f)
	return true
}

// send sends a request to a bookie. Done is called once; it must not wait.
func (c *Client) send(bookie string, request *wire.Request, timeout time.Duration, done func(*wire.Response, error)) {
	c.channelTo(bookie).send(request, timeout, done)
}

func (c *Client) channelTo(bookie string) *channel {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.channels[bookie]
	if to == nil {
		to = newChannel(c, bookie)
		to.stopped = c.stopped
		c.channels[bookie] = to
		if !c.stopped {
			c.running.Go(func() { to.run(c.ctx) })
		}
	}
	return to
}

func (c *Client) suspect(bookie string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.suspects[bookie] = time.Now().Add(suspectFor)
}

func (c *Client) trust(bookie string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.suspects, bookie)
}

// choice is what the placement rules need: the bookies there are, and which failed lately.
func (c *Client) choice() (available []string, suspect func(string) bool, pick func(int) int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	suspects := make(map[string]bool, len(c.suspects))
	for bookie, until := range c.suspects {
		if now.Before(until) {
			suspects[bookie] = true
		} else {
			delete(c.suspects, bookie)
		}
	}
	return c.available, func(bookie string) bool { return suspects[bookie] }, rand.IntN
}

func (c *Client) isSuspect(bookie string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.suspects[bookie])
}

// outcomeOf translates an answer for the rules.
func outcomeOf(response *wire.Response, err error) ledger.Outcome {
	if err != nil {
		return ledger.Failed
	}
	switch response.Status {
	case wire.OK:
		return ledger.OK
	case wire.NoEntry:
		return ledger.NoSuchEntry
	case wire.NoLedger:
		return ledger.NoSuchLedger
	case wire.Fenced:
		return ledger.Fenced
	case wire.Unauthorized:
		return ledger.Unauthorized
	}
	return ledger.Failed
}

// DeleteLedger deletes a ledger's metadata; bookies drop the entries when they next collect. A ledger that is gone is no error.
func (c *Client) DeleteLedger(id int64) error {
	err := metadata.DeleteLedger(c.config.Store, id)
	if errors.Is(err, metadata.ErrNoSuchLedger) {
		return nil
	}
	if err == nil {
		c.tracer.Emit(trace.LedgerDeleted{Ledger: id})
	}
	return err
}

func subject(id int64) string { return "ledger " + strconv.FormatInt(id, 10) }
