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
	commitTurn    = 25  // syncs of one side before the next side has its turn: a disk that others use too changes its mind quickly
)

// measureGroupCommit lets 64 writers append frames of 1 KiB that are durable when the append returns. The disk allows 64 of them for each
// sync: how long a write of 64 KiB and its sync take is measured in turns with it, on a plain file that grows, and on one that was filled
// with zeros before, as the log fills its segments ahead.
func (b *bench) measureGroupCommit() error {
	b.report.title(fmt.Sprintf("commitlog: group commit, %d writers of frames of 1 KiB, each durable before its append returns", commitWriters))
	var growing, filled, perCommit, ofGrowing, ofFilled samples
	for range b.rounds {
		seconds, err := b.commitRound()
		if err != nil {
			return err
		}
		growing = append(growing, seconds[0]*1e6)
		filled = append(filled, seconds[1]*1e6)
		perCommit = append(perCommit, seconds[2]*1e6)
		ofGrowing = append(ofGrowing, seconds[0]/seconds[2])
		ofFilled = append(ofFilled, seconds[1]/seconds[2])
	}
	b.report.line("64 KiB and a sync, plain file that grows, µs", growing.spread("%.0f"))
	b.report.line("64 KiB and a sync, plain file filled before, µs", filled.spread("%.0f"))
	b.report.line("commitlog: 64 appends, µs", perCommit.spread("%.0f"))
	b.report.line("appends / what the sync of a growing file allows, %", ofGrowing.percent().spread("%.0f"))
	b.report.line("appends / what the sync of a filled file allows, %", ofFilled.percent().spread("%.0f"))
	return nil
}

// commitRound has the three sides take turns and tells how long each took for 64 KiB and a sync, in seconds.
func (b *bench) commitRound() (mean [3]float64, err error) {
	growing, closeGrowing, err := b.plainSyncs(0)
	if err != nil {
		return mean, err
	}
	defer closeGrowing()
	filled, closeFilled, err := b.plainSyncs(commitSyncs * commitWriters << 10)
	if err != nil {
		return mean, err
	}
	defer closeFilled()
	commits, closeLog, err := b.commits()
	if err != nil {
		return mean, err
	}
	for done := 0; done < commitSyncs && err == nil; done += commitTurn {
		for i, turn := range []func(int) error{growing, filled, commits} {
			began := time.Now()
			err = errors.Join(err, turn(commitTurn))
			mean[i] += time.Since(began).Seconds() / commitSyncs
		}
	}
	return mean, errors.Join(err, closeLog())
}

// plainSyncs writes to a plain file of that many zeros: each call so many times 64 KiB, synced each time.
func (b *bench) plainSyncs(zeros int) (syncs func(count int) error, remove func(), err error) {
	dir, err := os.MkdirTemp(b.directory, "sync")
	if err != nil {
		return nil, nil, err
	}
	files, err := disk.NewOS(dir)
	var file disk.File
	if err == nil {
		file, err = files.OpenFile("file", os.O_RDWR|os.O_CREATE)
	}
	if err == nil {
		if _, err = file.WriteAt(make([]byte, zeros), 0); err == nil {
			err = file.Sync()
		}
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	batch := makeBatch(1<<10, commitWriters<<10)
	at := int64(0)
	return func(count int) error {
		for range count {
			if _, err := file.WriteAt(batch, at); err != nil {
				return err
			}
			if err := file.Sync(); err != nil {
				return err
			}
			at += int64(len(batch))
		}
		return nil
	}, func() { file.Close(); os.RemoveAll(dir) }, nil
}

// commits appends to a log as bookies and ensemble servers do: in each call every writer so many frames.
func (b *bench) commits() (commits func(count int) error, end func() error, err error) {
	log, _, remove, err := b.scratchLog(commitlog.Config{Preallocate: 1 << 20})
	if err != nil {
		return nil, nil, err
	}
	committer := commitlog.NewCommitter(log, commitlog.CommitterConfig{
		Sync:  commitlog.SyncPolicy{EveryReturn: true},
		Place: func(frames []byte, next int64) { number(frames, 1<<10, next) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- committer.Run(ctx) }()
	commits = func(count int) error {
		failures := make([]error, commitWriters)
		var writers sync.WaitGroup
		for w := range commitWriters {
			writers.Go(func() {
				frame := makeBatch(1<<10, 1<<10)
				for i := 0; i < count && failures[w] == nil; i++ {
					_, failures[w] = committer.Append(ctx, frame)
				}
			})
		}
		writers.Wait()
		return errors.Join(failures...)
	}
	return commits, func() error { cancel(); defer remove(); return <-ended }, nil
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
