package commitlog

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// SyncPolicy says when appended frames are made durable. The zero value never syncs on its own: sealing a segment and closing the log do.
// Each bound that is set counts.
type SyncPolicy struct {
	EveryReturn bool          // before an append returns; appends that come together share one sync (group commit)
	Bytes       int64         // once so many bytes are not synced
	Offsets     int64         // once so many offsets are not synced (Kafka's flush.messages)
	Interval    time.Duration // once the oldest of them has waited so long (Kafka's flush.ms)
}

// Due decides whether a sync is due.
func (p SyncPolicy) Due(bytes, offsets int64, waited time.Duration) bool {
	switch {
	case bytes == 0:
		return false
	case p.EveryReturn:
		return true
	}
	return p.Bytes > 0 && bytes >= p.Bytes || p.Offsets > 0 && offsets >= p.Offsets || p.Interval > 0 && waited >= p.Interval
}

// CommitterConfig tunes a Committer.
type CommitterConfig struct {
	Sync SyncPolicy
	// Place writes offsets into the headers of frames, the first of which gets next. Needed.
	Place func(frames []byte, next int64)
	// Appends and Bytes bound what waits for the owner, and with it what is written at once; more appends wait outside. An append that is
	// larger alone goes alone. Default 1024 and 4 MiB.
	Appends int
	Bytes   int
}

// Committer lets any number of goroutines append to one log. Its Run is the log's owner: it writes what has come together with one write,
// syncs as the policy says, and answers all at once.
type Committer struct {
	log    *Log
	config CommitterConfig
	wake   chan struct{} // something is in open

	mu     sync.Mutex // guards open's contents until the owner takes it; held to copy frames, never across I/O
	open   *group
	closed error

	unsynced int64     // bytes
	synced   int64     // offset
	since    time.Time // when the oldest byte that is not synced was written
	due      *time.Timer

	spare     []byte        // memory for the next group's frames
	lastGroup int           // appends
	lastSync  time.Duration // that one sync took
}

// group is the appends that share a write, and a sync if there is one.
type group struct {
	frames  []byte
	appends []groupAppend
	taken   chan struct{} // closed when the owner takes the group: there is room again
	done    chan struct{} // closed with the answers
}

type groupAppend struct {
	end      int // of its bytes in frames
	location Location
	err      error
}

func newGroup() *group { return &group{taken: make(chan struct{}), done: make(chan struct{})} }

// NewCommitter returns a committer. Appends wait until Run runs.
func NewCommitter(log *Log, config CommitterConfig) *Committer {
	if config.Appends <= 0 {
		config.Appends = 1024
	}
	if config.Bytes <= 0 {
		config.Bytes = 4 << 20
	}
	return &Committer{log: log, config: config, wake: make(chan struct{}, 1), open: newGroup(), synced: log.Synced()}
}

// Append gives whole frames their offsets, appends them, and returns when the policy allows. Ctx bounds the wait for room; from there on
// the answer comes from the log, or is ErrClosed when Run ends first.
func (c *Committer) Append(ctx context.Context, frames []byte) (Location, error) {
	for {
		c.mu.Lock()
		g := c.open
		if c.closed != nil {
			c.mu.Unlock()
			return Location{}, c.closed
		}
		n := len(g.appends)
		if n == 0 || n < c.config.Appends && len(g.frames)+len(frames) <= c.config.Bytes {
			g.frames = append(g.frames, frames...)
			g.appends = append(g.appends, groupAppend{end: len(g.frames)})
			c.mu.Unlock()
			if n == 0 {
				c.wake <- struct{}{} // has room: the owner took the last one before it opened this group
			}
			<-g.done
			return g.appends[n].location, g.appends[n].err
		}
		c.mu.Unlock()
		select {
		case <-g.taken:
		case <-ctx.Done():
			return Location{}, ctx.Err()
		}
	}
}

// Run owns the log until ctx ends or the log fails. What waits then is refused. The log stays open.
func (c *Committer) Run(ctx context.Context) (err error) {
	c.due = time.NewTimer(time.Hour)
	c.due.Stop()
	defer c.due.Stop()
	for {
		select {
		case <-ctx.Done():
			c.close(ErrClosed)
			return nil
		case <-c.wake:
			err = c.commit()
		case <-c.due.C:
			err = c.sync()
		}
		if err != nil {
			c.close(err)
			return err
		}
	}
}

// close refuses what waits and what comes.
func (c *Committer) close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = err
	for i := range c.open.appends {
		c.open.appends[i].err = err
	}
	close(c.open.taken)
	close(c.open.done)
}

// commit writes what has come and answers. An error means that the log cannot go on.
func (c *Committer) commit() error {
	g := c.take()
	written := c.write(g)
	if c.unsynced == 0 && written > 0 {
		c.since = time.Now()
		if c.config.Sync.Interval > 0 {
			c.due.Reset(c.config.Sync.Interval)
		}
	}
	c.unsynced += written
	if cap(g.frames) <= 2*c.config.Bytes {
		c.spare = g.frames // they are in the log; the next group but one gets the memory
	}
	g.frames = nil
	var err error
	if c.config.Sync.Due(c.unsynced, c.log.Next()-c.synced, time.Since(c.since)) {
		err = c.sync()
	}
	if err != nil && c.config.Sync.EveryReturn {
		for i := range g.appends {
			g.appends[i].err = errors.Join(g.appends[i].err, err)
		}
	}
	close(g.done)
	return err
}

func (c *Committer) sync() error {
	c.due.Stop()
	began := time.Now()
	if err := c.log.Sync(); err != nil {
		return err
	}
	c.lastSync = time.Since(began)
	c.unsynced, c.synced = 0, c.log.Synced()
	return nil
}

// take closes the open group for newcomers. Where a sync follows, it first lets the writers that were just answered come back, for at most
// a quarter of what the last sync took: otherwise the first of them would have a whole sync alone and the others wait for the next one.
func (c *Committer) take() *group {
	began, before := time.Now(), 0
	for c.config.Sync.EveryReturn {
		c.mu.Lock()
		now := len(c.open.appends)
		c.mu.Unlock()
		if now >= c.config.Appends || now == before && (now >= c.lastGroup || time.Since(began) > c.lastSync/4) {
			break
		}
		before = now
		runtime.Gosched()
	}
	c.mu.Lock()
	g := c.open
	c.open = newGroup()
	c.open.frames, c.spare = c.spare[:0], nil
	c.open.appends = make([]groupAppend, 0, len(g.appends))
	c.mu.Unlock()
	c.lastGroup = len(g.appends)
	close(g.taken)
	return g
}

// write appends the group with one write and tells how many bytes the log took. If the log refuses it, each append is tried alone, so that
// one bad frame fails one append.
func (c *Committer) write(g *group) (written int64) {
	if !c.whole(g) {
		return c.writeEach(g)
	}
	c.config.Place(g.frames, c.log.Next())
	location, err := c.log.Append(g.frames)
	if err != nil {
		return c.writeEach(g)
	}
	begin := 0
	for i, a := range g.appends {
		g.appends[i].location = Location{Segment: location.Segment, Position: location.Position + int64(begin), Size: int64(a.end - begin)}
		begin = a.end
	}
	return int64(len(g.frames))
}

// whole tells whether each append is whole frames, so that Place, which trusts them, may see all at once.
func (c *Committer) whole(g *group) bool {
	begin := 0
	for _, a := range g.appends {
		if c.check(g.frames[begin:a.end]) != nil {
			return false
		}
		begin = a.end
	}
	return true
}

func (c *Committer) check(frames []byte) error {
	if len(frames) == 0 {
		return fmt.Errorf("commit to %s: %w: nothing to append", c.log.dir, ErrOutOfOrder)
	}
	for at := 0; at < len(frames); {
		frame, err := parse(c.log.framing, frames[at:])
		if err != nil {
			return fmt.Errorf("commit to %s: frame at byte %d: %w", c.log.dir, at, err)
		}
		at += frame.Size
	}
	return nil
}

func (c *Committer) writeEach(g *group) (written int64) {
	begin := 0
	for i, a := range g.appends {
		frames := g.frames[begin:a.end]
		begin = a.end
		err := c.check(frames)
		if err == nil {
			c.config.Place(frames, c.log.Next())
			g.appends[i].location, err = c.log.Append(frames)
		}
		if g.appends[i].err = err; err == nil {
			written += int64(len(frames))
		}
	}
	return written
}
