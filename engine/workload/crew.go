package workload

import (
	"context"
	"fmt"
	"sync"
)

// consumerProgram is what consumers are called, before their number.
const consumerProgram = "demo-consumer"

// crew is the consumers of a side, as many as are wanted at the moment.
type crew struct {
	mu      sync.Mutex
	side    *side                // nil until the side runs, and after it
	wanted  int                  // asked for before the side ran, plus one; 0: nothing was
	stops   []context.CancelFunc // of each consumer, by number
	working sync.WaitGroup
}

// open begins with so many consumers, or with as many as were asked for in the meantime.
func (c *crew) open(s *side, consumers int) {
	c.mu.Lock()
	c.side = s
	if c.wanted > 0 {
		consumers = c.wanted - 1
	}
	c.mu.Unlock()
	c.resize(consumers)
}

// resize starts or stops consumers until there are so many. Those that were started last are stopped first.
func (c *crew) resize(consumers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.side == nil {
		c.wanted = consumers + 1
		return
	}
	for len(c.stops) > consumers {
		last := len(c.stops) - 1
		c.stops[last]()
		c.stops = c.stops[:last]
	}
	for len(c.stops) < consumers {
		ctx, stop := context.WithCancel(c.side.running)
		c.stops = append(c.stops, stop)
		s, program := c.side, fmt.Sprintf("%s-%d", consumerProgram, len(c.stops))
		c.working.Go(func() {
			s.keepUp(ctx, program, func() error { return s.client.consume(ctx, program, s) })
		})
	}
}

// wait lets no more consumers start and waits for those that there are, whose side has ended.
func (c *crew) wait() {
	c.mu.Lock()
	c.side = nil
	for _, stop := range c.stops {
		stop()
	}
	c.stops = nil
	c.mu.Unlock()
	c.working.Wait()
}
