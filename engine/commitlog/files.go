package commitlog

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// FilePool bounds the segment files that logs hold open, all logs together that share it in their Config. The files of idle logs are closed,
// the active segments' too, and opened again on demand. An active segment is synced before it is closed, so that no write can be lost
// unseen behind a file that nobody holds.
//
// The bound is for what logs hold. A reader's section keeps its file until it is closed, and an active segment that is being written or
// cannot be synced stays open; so there may be a few more. An open active segment may have its durable file open beside it.
type FilePool struct {
	limit int

	mu   sync.Mutex // taken last: a log's mu may be held
	open []*openSegment
	hand int // of the clock that goes round looking for one that was not used since it came by
}

// openSegment is a segment whose file its log holds open.
type openSegment struct {
	log     *Log
	segment *segment
	used    atomic.Bool
	at      int // in the pool; -1: not in it
}

// NewFilePool returns a pool for limit files, at least one.
func NewFilePool(limit int) *FilePool { return &FilePool{limit: max(limit, 1)} }

// Open is how many segment files are held now.
func (p *FilePool) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.open)
}

// add takes in a segment and returns the one that has to go for it, if any, which the caller evicts when it holds no lock.
func (p *FilePool) add(o *openSegment) (victim *openSegment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.at = len(p.open)
	p.open = append(p.open, o)
	if len(p.open) <= p.limit {
		return nil
	}
	for range 2 * len(p.open) {
		p.hand = (p.hand + 1) % len(p.open)
		if candidate := p.open[p.hand]; candidate != o && !candidate.used.Swap(false) {
			p.take(candidate)
			return candidate
		}
	}
	return nil
}

// put takes a victim back in, which could not be closed.
func (p *FilePool) put(o *openSegment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.at = len(p.open)
	p.open = append(p.open, o)
}

func (p *FilePool) remove(o *openSegment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.at >= 0 {
		p.take(o)
	}
}

// take is called with mu held.
func (p *FilePool) take(o *openSegment) {
	last := len(p.open) - 1
	p.open[o.at] = p.open[last]
	p.open[o.at].at = o.at
	p.open[last] = nil
	p.open = p.open[:last]
	o.at = -1
}

// noteOpen says that a segment's file is held open, or used again, and returns the one that has to go. It is called with the log's mu held.
func (l *Log) noteOpen(s *segment) (victim *openSegment) {
	if o := s.open; o != nil {
		if !o.used.Load() {
			o.used.Store(true)
		}
		return nil
	}
	if s.pinned || l.ownFiles && s == l.segments[len(l.segments)-1] {
		return nil
	}
	s.open = &openSegment{log: l, segment: s}
	s.open.used.Store(true)
	return l.files.add(s.open)
}

// forget takes a segment out of the pool and returns its file for the caller to release. It is called with the log's mu held.
func (l *Log) forget(s *segment) *handle {
	held := s.handle
	s.handle = nil
	if s.open != nil {
		l.files.remove(s.open)
		s.open = nil
	}
	return held
}

// evict closes a segment's file if it can. The caller holds no lock.
func (o *openSegment) evict() {
	if o == nil {
		return
	}
	l, s := o.log, o.segment
	if l.isActive(s) && l.Sync() != nil {
		l.mu.RLock()
		if s.open == o { // the log has failed; its owner will close it
			l.files.put(o)
		}
		l.mu.RUnlock()
		return
	}
	l.mu.Lock()
	active := s == l.segments[len(l.segments)-1]
	switch {
	case s.open != o || s.handle == nil:
		l.mu.Unlock()
		return
	case active && (l.synced != l.next || s.handle.refs.Load() > 1):
		l.files.put(o) // it is being written
		l.mu.Unlock()
		return
	}
	held := s.handle
	s.handle, s.open = nil, nil
	if !active {
		s.index = nil // of the active segment it is the only one
	}
	l.mu.Unlock()
	held.release()
	if active {
		l.closeDurable()
	}
}

func (l *Log) isActive(s *segment) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return s == l.segments[len(l.segments)-1]
}

// holdActive returns the active segment's file for the caller to release. It opens the file if the pool has closed it.
func (l *Log) holdActive(s *segment) (*handle, error) {
	l.mu.RLock()
	if held := s.handle; held != nil {
		l.noteUse(s)
		held.retain()
		l.mu.RUnlock()
		return held, nil
	}
	l.mu.RUnlock()
	file, err := l.disk.OpenFile(s.file(l.dir, logSuffix), os.O_RDWR)
	if err != nil {
		return nil, l.orGone(s, err)
	}
	opened := newHandle(file)
	var unneeded *handle
	var victim *openSegment
	l.mu.Lock()
	switch {
	case l.closed || !slices.Contains(l.segments, s):
		err, unneeded = errSegmentGone, opened
		if l.closed {
			err = ErrClosed
		}
	case s.index == nil: // sealed meanwhile; only this caller has it
	case s.handle != nil: // somebody was quicker
		unneeded, opened = opened, s.handle.retain()
	default:
		s.handle = opened.retain()
		victim = l.noteOpen(s)
	}
	l.mu.Unlock()
	unneeded.release()
	victim.evict()
	if err != nil {
		return nil, err
	}
	return opened, nil
}

// noteUse tells the pool that an open segment is in use. It is called with mu held for reading at least.
func (l *Log) noteUse(s *segment) {
	if o := s.open; o != nil && !o.used.Load() {
		o.used.Store(true)
	}
}
