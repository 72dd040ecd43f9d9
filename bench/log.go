package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// scratchLog is a commitlog in a directory of its own.
func (b *bench) scratchLog(config commitlog.Config) (log *commitlog.Log, files *disk.OS, remove func(), err error) {
	dir, err := os.MkdirTemp(b.directory, "log")
	if err != nil {
		return nil, nil, nil, err
	}
	if files, err = disk.NewOS(dir); err == nil {
		log, err = commitlog.Open(files, "log", benchFraming{}, config)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, nil, err
	}
	return log, files, func() { log.Abandon(); os.RemoveAll(dir) }, nil
}

func fillLog(log *commitlog.Log, mib int) error {
	batch := makeBatch(1<<10, 64<<10)
	for next, written := log.Next(), 0; written < mib<<20; written += len(batch) {
		next = number(batch, 1<<10, next)
		if _, err := log.Append(batch); err != nil {
			return err
		}
	}
	return nil
}

const (
	sentMiB     = 64        // the tail that is read again and again
	sentSection = 1 << 20   // bytes of one read
	sentTotal   = 1 << 30   // bytes sent in one round
	sentBuffer  = 256 << 10 // of the receiver
)

// measureTailReads compares sections that go out by sendfile with a file that does, to the same kind of socket in chunks of the same size.
func (b *bench) measureTailReads() error {
	b.report.title(fmt.Sprintf("commitlog: tail reads of %d KiB to a TCP socket, beside the same bytes of a plain file by sendfile", sentSection>>10))
	log, files, remove, err := b.scratchLog(commitlog.Config{SegmentBytes: 1 << 30})
	if err != nil {
		return err
	}
	defer remove()
	if err := fillLog(log, sentMiB); err != nil {
		return err
	}
	plain, err := files.OpenFile(log.Segments()[0].File, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer plain.Close()
	var raw, tail samples
	for range b.rounds {
		for _, side := range []struct {
			into *samples
			send func(*net.TCPConn) error
		}{
			{&raw, func(conn *net.TCPConn) error { return sendPlain(conn, plain.OSFile()) }},
			{&tail, func(conn *net.TCPConn) error { return sendTail(conn, log) }},
		} {
			rate, err := sendingRate(side.send)
			if err != nil {
				return err
			}
			*side.into = append(*side.into, rate)
		}
	}
	b.report.line("plain file by sendfile, MB/s", raw.spread("%.0f"))
	b.report.line("commitlog's tail, MB/s", tail.spread("%.0f"))
	b.report.line("commitlog's tail / plain file, %", tail.over(raw).percent().spread("%.0f"))
	return nil
}

func sendPlain(conn *net.TCPConn, file *os.File) error {
	for sent := 0; sent < sentTotal; sent += sentSection {
		if sent%(sentMiB<<20) == 0 {
			if _, err := file.Seek(0, io.SeekStart); err != nil {
				return err
			}
		}
		if _, err := conn.ReadFrom(&io.LimitedReader{R: file, N: sentSection}); err != nil {
			return err
		}
	}
	return nil
}

func sendTail(conn *net.TCPConn, log *commitlog.Log) error {
	var section commitlog.Section
	offset := int64(0)
	for sent := int64(0); sent < sentTotal; {
		if err := log.ReadTo(&section, offset, -1, sentSection); err != nil {
			return err
		}
		if section.Size() == 0 {
			offset = 0
			section.Close()
			continue
		}
		n, err := section.WriteTo(conn)
		section.Close()
		if err != nil {
			return err
		}
		sent += n
		offset += n >> 10 // frames of 1 KiB
	}
	return nil
}

// sendingRate sends to a connection whose other end reads and forgets, in MB/s.
func sendingRate(send func(*net.TCPConn) error) (float64, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	received := make(chan int64, 1)
	go func() {
		total := int64(0)
		if conn, err := listener.Accept(); err == nil {
			buffer := make([]byte, sentBuffer)
			for err == nil {
				var n int
				n, err = conn.Read(buffer)
				total += int64(n)
			}
			conn.Close()
		}
		received <- total
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return 0, err
	}
	began := time.Now()
	err = send(conn.(*net.TCPConn))
	conn.Close()
	total := <-received
	if err == nil && total < sentTotal {
		err = fmt.Errorf("only %d of %d bytes arrived", total, sentTotal)
	}
	return float64(total) / 1e6 / time.Since(began).Seconds(), err
}

const (
	commitWriters = 64
	commitSyncs   = 200 // in one round
)

// measureGroupCommit lets 64 writers append frames of 1 KiB that are durable when the append returns. The disk allows 64 of them for each
// sync: how long a sync of 64 KiB takes is measured on a plain file just before.
func (b *bench) measureGroupCommit() error {
	b.report.title(fmt.Sprintf("commitlog: group commit, %d writers of frames of 1 KiB, each durable before its append returns", commitWriters))
	var latency, allowed, reached samples
	for range b.rounds {
		seconds, err := b.syncLatency()
		if err != nil {
			return err
		}
		rate, err := b.commitRate()
		if err != nil {
			return err
		}
		latency = append(latency, seconds*1e6)
		allowed = append(allowed, commitWriters/seconds)
		reached = append(reached, rate)
	}
	b.report.line("one write of 64 KiB and its sync, plain file, µs", latency.spread("%.0f"))
	b.report.line("appends that this allows, per s", allowed.spread("%.0f"))
	b.report.line("appends, per s", reached.spread("%.0f"))
	b.report.line("appends / what the sync allows, %", reached.over(allowed).percent().spread("%.0f"))
	return nil
}

// syncLatency is the mean time of a write at the end of a file and its sync, in seconds.
func (b *bench) syncLatency() (float64, error) {
	dir, err := os.MkdirTemp(b.directory, "sync")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	files, err := disk.NewOS(dir)
	if err != nil {
		return 0, err
	}
	file, err := files.OpenFile("file", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	batch := makeBatch(1<<10, commitWriters<<10)
	began := time.Now()
	for i := range commitSyncs {
		if _, err := file.WriteAt(batch, int64(i*len(batch))); err != nil {
			return 0, err
		}
		if err := file.Sync(); err != nil {
			return 0, err
		}
	}
	return time.Since(began).Seconds() / commitSyncs, nil
}

func (b *bench) commitRate() (float64, error) {
	log, _, remove, err := b.scratchLog(commitlog.Config{})
	if err != nil {
		return 0, err
	}
	defer remove()
	committer := commitlog.NewCommitter(log, commitlog.CommitterConfig{
		Sync:  commitlog.SyncPolicy{EveryReturn: true},
		Place: func(frames []byte, next int64) { number(frames, 1<<10, next) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- committer.Run(ctx) }()
	failures := make([]error, commitWriters)
	var writers sync.WaitGroup
	began := time.Now()
	for w := range commitWriters {
		writers.Go(func() {
			frame := makeBatch(1<<10, 1<<10)
			for i := 0; i < commitSyncs && failures[w] == nil; i++ {
				_, failures[w] = committer.Append(ctx, frame)
			}
		})
	}
	writers.Wait()
	elapsed := time.Since(began)
	cancel()
	failures = append(failures, <-ended)
	return commitWriters * commitSyncs / elapsed.Seconds(), errors.Join(failures...)
}

// spareMiB is what a measurement leaves free on the disk.
const spareMiB = 4096

// reopenSize is how much is written to be opened again: less than was asked for, and why, where the disk has no room for it.
func (b *bench) reopenSize() (mib int, shortened string) {
	free, err := freeMiB(b.directory)
	room := max(free-spareMiB, 256)
	switch {
	case err != nil:
		return min(b.reopenMiB, 1024), fmt.Sprintf("nobody knows how much room the disk has: %v", err)
	case room < b.reopenMiB:
		return room, fmt.Sprintf("the disk has %d MiB free, of which %d stay", free, spareMiB)
	}
	return b.reopenMiB, ""
}

// measureReopening opens a log that was closed in order, whose segments nobody needs to scan. It is written once and opened in each round.
func (b *bench) measureReopening() error {
	mib, shortened := b.reopenSize()
	b.report.title(fmt.Sprintf("commitlog: open %d MiB of clean segments of 64 MiB (frames of 1 KiB, the indexes in the page cache)", mib))
	log, files, remove, err := b.scratchLog(commitlog.Config{})
	if err != nil {
		return err
	}
	defer remove()
	if err := fillLog(log, mib); err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	var opening, large samples
	for range b.rounds {
		milliseconds, err := reopen(files)
		if err != nil {
			return err
		}
		opening = append(opening, milliseconds)
		large = append(large, milliseconds*10240/float64(mib))
	}
	b.report.line(fmt.Sprintf("open %d MiB, measured, ms", mib), opening.spread("%.1f"))
	if mib < 10240 {
		if shortened == "" {
			shortened = "--reopen-mib 10240 measures it"
		}
		b.report.line("10 GiB at that rate, extrapolated, ms", large.spread("%.0f")+": "+shortened)
	}
	return nil
}

// reopen opens and closes the log once and tells how long the opening took, in ms.
func reopen(files *disk.OS) (float64, error) {
	began := time.Now()
	log, err := commitlog.Open(files, "log", benchFraming{}, commitlog.Config{})
	if err != nil {
		return 0, err
	}
	milliseconds := time.Since(began).Seconds() * 1e3
	scanned := log.Recovery().Scanned
	if err := log.Close(); err != nil {
		return 0, err
	}
	if scanned > 0 {
		return 0, fmt.Errorf("opening the log read %d bytes of segments that were closed in order", scanned)
	}
	return milliseconds, nil
}
