package commitlog

import (
	"context"
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
	// Place writes offsets into the headers of an append's frames, the first of which gets next. Needed.
	Place func(frames []byte, next int64)
	// Queue bounds the appends that wait; more wait outside. Default 1024.
	Queue int
	// BatchBytes bounds what is written at once, about. Default 4 MiB.
	BatchBytes int
}

// Committer lets any number of goroutines append to one log. Its Run is the log's owner: it writes what has come together with one write,
// syncs as the policy says, and answers.
type Committer struct {
	log    *Log
	config CommitterConfig
	queue  chan *commit
	ended  chan struct{}

	batch    []*commit
	buffer   []byte
	unsynced int64     // bytes
	synced   int64     // offset
	since    time.Time // the oldest byte that is not synced
	due      *time.Timer
}

// commit is one append under way.
type commit struct {
	frames   []byte
	location Location
	err      error
	done     chan struct{}
}

var commits = sync.Pool{New: func() any { return &commit{done: make(chan struct{}, 1)} }}

// NewCommitter returns a committer; nothing is appended before Run.
func NewCommitter(log *Log, config CommitterConfig) *Committer {
	if config.Queue <= 0 {
		config.Queue = 1024
	}
	if config.BatchBytes <= 0 {
		config.BatchBytes = 4 << 20
	}
	return &Committer{log: log, config: config, queue: make(chan *commit, config.Queue), ended: make(chan struct{}), synced: log.Synced()}
}

// Append gives whole frames their offsets, appends them, and returns when the policy allows. The frames' bytes are the committer's until
// then. Ctx bounds the wait for a place in the queue; from there on the answer comes from the log, or is ErrClosed when Run has ended.
func (c *Committer) Append(ctx context.Context, frames []byte) (Location, error) {
	r := commits.Get().(*commit)
	r.frames, r.err = frames, nil
	select {
	case c.queue <- r:
	case <-c.ended:
		return Location{}, ErrClosed
	case <-ctx.Done():
		return Location{}, ctx.Err()
	}
	select {
	case <-r.done:
	case <-c.ended:
		select {
		case <-r.done:
		default:
			return Location{}, ErrClosed // it stays in the queue, which nobody reads any more
		}
	}
	location, err := r.location, r.err
	r.frames = nil
	commits.Put(r)
	return location, err
}

// Run owns the log until ctx ends or the log fails. What waits then is refused. The log stays open.
func (c *Committer) Run(ctx context.Context) error {
	defer close(c.ended)
	c.due = time.NewTimer(time.Hour)
	c.due.Stop()
	defer c.due.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			c.refuse(ErrClosed)
			return nil
		case first := <-c.queue:
			err = c.commit(first)
		case <-c.due.C:
			err = c.sync()
		}
		if err != nil {
			c.refuse(err)
			return err
		}
	}
}

func (c *Committer) refuse(err error) {
	for {
		select {
		case r := <-c.queue:
			r.answer(Location{}, err)
		default:
			return
		}
	}
}

func (r *commit) answer(location Location, err error) {
	r.location, r.err = location, err
	r.done <- struct{}{}
}

// commit writes what has come and answers. An error means that the log cannot go on.
func (c *Committer) commit(first *commit) error {
	c.gather(first)
	c.write()
	written := int64(0)
	for _, r := range c.batch {
		if r.err == nil {
			written += int64(len(r.frames))
		}
	}
	if c.unsynced == 0 && written > 0 {
		c.since = time.Now()
		if c.config.Sync.Interval > 0 {
			c.due.Reset(c.config.Sync.Interval)
		}
	}
	c.unsynced += written
	var err error
	if c.config.Sync.Due(c.unsynced, c.log.Next()-c.synced, time.Since(c.since)) {
		err = c.sync()
	}
	for i, r := range c.batch {
		if r.err == nil && c.config.Sync.EveryReturn {
			r.err = err
		}
		r.answer(r.location, r.err)
		c.batch[i] = nil
	}
	return err
}

func (c *Committer) sync() error {
	c.due.Stop()
	if err := c.log.Sync(); err != nil {
		return err
	}
	c.unsynced, c.synced = 0, c.log.Synced()
	return nil
}

// gather takes what waits. Where a sync follows it lets writers that were just answered come back first, as long as each turn brings
// some: otherwise the first of them would pay a whole sync alone and the others wait for the next one.
func (c *Committer) gather(first *commit) {
	c.batch = append(c.batch[:0], first)
	size := len(first.frames)
	for came := true; came; {
		came = false
		for more := true; more && size < c.config.BatchBytes; {
			select {
			case r := <-c.queue:
				c.batch = append(c.batch, r)
				size += len(r.frames)
				came = true
			default:
				more = false
			}
		}
		if !c.config.Sync.EveryReturn || size >= c.config.BatchBytes {
			return
		}
		if came || len(c.batch) == 1 {
			runtime.Gosched()
			came = len(c.queue) > 0
		}
	}
}

// write appends the batch with one write. If the log refuses it, each append is tried alone, so that one bad frame fails one append.
func (c *Committer) write() {
	if len(c.batch) > 1 {
		c.buffer = c.buffer[:0]
		for _, r := range c.batch {
			c.buffer = append(c.buffer, r.frames...)
		}
		c.config.Place(c.buffer, c.log.Next())
		if location, err := c.log.Append(c.buffer); err == nil {
			for _, r := range c.batch {
				size := int64(len(r.frames))
				r.location = Location{Segment: location.Segment, Position: location.Position, Size: size}
				location.Position += size
			}
			return
		}
	}
	for _, r := range c.batch {
		c.config.Place(r.frames, c.log.Next())
		if r.location, r.err = c.log.Append(r.frames); r.err != nil {
			r.err = fmt.Errorf("commit: %w", r.err)
		}
	}
}
