package commitlog

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/disk"
)

// Suffixes of the files of a replacement, see FORMAT.md.
const (
	rewriteSuffix = ".rewrite" // BASE.rewrite: being written; worth nothing after a crash
	swapSuffix    = ".swap"    // BASE-END.swap: decided; it stands for all segments from BASE up to END
)

// Rewrite is a replacement of a run of sealed segments by one new segment, as compaction makes it: it reads the old ones, appends the
// frames that stay, and commits. Any goroutine may write it while the log is in use; only the log's owner commits.
//
// Replacing is all or nothing, also in a crash: before the commit's decision the old segments are the log, afterwards the new one is, and
// Open finishes what a crash left between.
type Rewrite struct {
	log   *Log
	from  int64
	to    int64
	file  disk.File
	made  *segment
	after int64 // one past the last offset in it
	done  bool
}

// Rewrite begins a replacement of the sealed segments from the one at from up to, but without, the one at to. Both are bases of segments.
func (l *Log) Rewrite(from, to int64) (*Rewrite, error) {
	l.mu.RLock()
	_, err := l.run(from, to)
	usable := l.usable()
	l.mu.RUnlock()
	if err = errors.Join(err, usable); err != nil {
		return nil, fmt.Errorf("rewrite %s from %d to %d: %w", l.dir, from, to, err)
	}
	made := &segment{base: from, next: from, index: &segmentIndex{}, began: time.Now(), pinned: true}
	file, err := l.disk.OpenFile(made.file(l.dir, rewriteSuffix), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, fmt.Errorf("rewrite %s from %d to %d: %w", l.dir, from, to, err)
	}
	return &Rewrite{log: l, from: from, to: to, file: file, made: made, after: from}, nil
}

// run finds the sealed segments from..to. It is called with mu held.
func (l *Log) run(from, to int64) ([]*segment, error) {
	at := func(base int64) int {
		return slices.IndexFunc(l.segments, func(s *segment) bool { return s.base == base })
	}
	first, end := at(from), at(to)
	if first < 0 || end < 0 || first >= end {
		return nil, fmt.Errorf("%w: no sealed segments from %d up to %d", ErrOutOfRange, from, to)
	}
	if l.segments[first].moved {
		return nil, ErrMoved
	}
	return l.segments[first:end], nil
}

// Append adds whole frames, in the order of their offsets, which must lie in the run that is replaced.
func (r *Rewrite) Append(frames []byte) error {
	for at := 0; at < len(frames); {
		frame, err := parse(r.log.framing, frames[at:])
		if err == nil {
			err = Verify(r.log.framing, frames[at:at+frame.Size])
		}
		if err == nil && (frame.BaseOffset < r.after || frame.LastOffset < frame.BaseOffset || frame.LastOffset >= r.to) {
			err = fmt.Errorf("%w: frame %d-%d is not between %d and %d", ErrOutOfOrder, frame.BaseOffset, frame.LastOffset, r.after, r.to)
		}
		if err != nil {
			return fmt.Errorf("rewrite %s: frame at byte %d: %w", r.log.dir, at, err)
		}
		r.made.index.add(frame, r.made.size+int64(at), r.log.config.IndexInterval)
		r.after = frame.LastOffset + 1
		at += frame.Size
	}
	if _, err := r.file.WriteAt(frames, r.made.size); err != nil {
		return fmt.Errorf("rewrite %s: %w", r.log.dir, err)
	}
	r.made.size += int64(len(frames))
	r.made.next = r.after
	return nil
}

// Size is what was appended so far, in bytes.
func (r *Rewrite) Size() int64 { return r.made.size }

// Abort gives the replacement up; after Commit it does nothing.
func (r *Rewrite) Abort() {
	if r.done {
		return
	}
	r.done = true
	r.file.Close()
	_ = r.log.disk.Remove(r.made.file(r.log.dir, rewriteSuffix)) // what stays, the next Open removes
}

// Commit puts the new segment in the old ones' place. The log's owner calls it. It fails with ErrOutOfRange, and changes nothing, when the
// old segments are no longer all there.
//
// A [Location] in a replaced segment means nothing any more.
func (r *Rewrite) Commit() error {
	if r.done {
		return fmt.Errorf("rewrite %s: %w", r.log.dir, ErrClosed)
	}
	if err := r.commit(); err != nil {
		r.Abort()
		return fmt.Errorf("rewrite %s from %d to %d: %w", r.log.dir, r.from, r.to, err)
	}
	return nil
}

func (r *Rewrite) commit() error {
	l := r.log
	l.mu.RLock()
	old, err := l.run(r.from, r.to)
	old = slices.Clone(old)
	usable := l.usable()
	l.mu.RUnlock()
	if err = errors.Join(err, usable); err != nil {
		return err
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	// The decision: from here on only Open or we can go on, not back.
	r.done = true
	swap := swapName(l.dir, r.from, r.to)
	if err = l.disk.Rename(r.made.file(l.dir, rewriteSuffix), swap); err == nil {
		err = l.disk.SyncDir(l.dir)
	}
	if err != nil {
		r.file.Close()
		l.fail(err)
		return err
	}
	r.swapIn(old)
	if err := finishSwap(l.disk, l.dir, swap, r.from, old); err != nil {
		l.fail(err)
		return err
	}
	// Indexes are caches: without them, whoever opens the segment makes them anew.
	_ = r.made.saveIndexes(l.disk, l.dir)
	// From now on it is opened by its own name, as other sealed segments are.
	l.mu.Lock()
	held := l.forget(r.made)
	r.made.index, r.made.pinned = nil, false
	l.mu.Unlock()
	held.release()
	return nil
}

// swapIn makes the new segment the readers'. Readers that chose an old one before see it is gone and choose again.
func (r *Rewrite) swapIn(old []*segment) {
	l := r.log
	r.made.handle = newHandle(r.file)
	r.made.maxTime = r.made.index.maxTime
	var freed []*handle
	l.mu.Lock()
	at := slices.Index(l.segments, old[0])
	segments := append([]*segment(nil), l.segments[:at]...)
	segments = append(segments, r.made)
	l.segments = append(segments, l.segments[at+len(old):]...)
	for _, s := range old {
		freed = append(freed, l.forget(s))
		s.index = nil
	}
	l.mu.Unlock()
	for _, h := range freed {
		h.release()
	}
}

func swapName(dir string, from, to int64) string {
	return path.Join(dir, fmt.Sprintf("%020d-%020d%s", from, to, swapSuffix))
}

// swapOf reads a swap file's name.
func swapOf(name string) (from, to int64, ok bool) {
	numbers, isSwap := strings.CutSuffix(name, swapSuffix)
	low, high, two := strings.Cut(numbers, "-")
	if !isSwap || !two || len(low) != 20 || len(high) != 20 {
		return 0, 0, false
	}
	from, err := strconv.ParseInt(low, 10, 64)
	to, err2 := strconv.ParseInt(high, 10, 64)
	return from, to, err == nil && err2 == nil && from < to
}

// finishSwap removes the files of the old segments, durably, and gives the new one its name. The indexes of the old segment whose name
// it takes go with them: they must not vouch for it.
func finishSwap(d disk.Disk, dir, swap string, from int64, old []*segment) error {
	for _, s := range old {
		for _, suffix := range []string{logSuffix, indexSuffix, timeIndexSuffix} {
			if err := d.Remove(s.file(dir, suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if err := d.SyncDir(dir); err != nil {
		return err
	}
	made := &segment{base: from}
	if err := d.Rename(swap, made.file(dir, logSuffix)); err != nil {
		return err
	}
	return d.SyncDir(dir)
}

// finishRewrites does at Open what a crash kept a replacement from: those that were decided are finished, others are forgotten.
func (l *Log) finishRewrites() error {
	entries, err := l.disk.ReadDir(l.dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), rewriteSuffix) {
			if err := l.disk.Remove(path.Join(l.dir, entry.Name())); err != nil {
				return err
			}
		}
		from, to, ok := swapOf(entry.Name())
		if !ok {
			continue
		}
		// A base is a name: the indexes of segments whose log file is gone already have theirs in the list, too.
		old := []*segment{{base: from}}
		for _, other := range entries {
			number, _, _ := strings.Cut(other.Name(), ".")
			if base, err := strconv.ParseInt(number, 10, 64); err == nil && len(number) == 20 && base > from && base < to {
				old = append(old, &segment{base: base})
			}
		}
		if err := finishSwap(l.disk, l.dir, path.Join(l.dir, entry.Name()), from, old); err != nil {
			return fmt.Errorf("finish the replacement of segments %d to %d: %w", from, to, err)
		}
	}
	return nil
}
