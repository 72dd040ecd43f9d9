package bench

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"twinlog/engine/commitlog"
	"twinlog/engine/disk"
)

// benchFraming is | size u32 | offset i64 | crc32c u32 | payload |.
type benchFraming struct{}

const benchHeader = 16

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (benchFraming) HeaderSize() int { return benchHeader }
func (benchFraming) MaxSize() int    { return 4 << 20 }

func (benchFraming) Parse(header []byte) (commitlog.Frame, error) {
	offset := int64(binary.BigEndian.Uint64(header[4:]))
	return commitlog.Frame{Size: int(binary.BigEndian.Uint32(header)), BaseOffset: offset, LastOffset: offset}, nil
}

func (benchFraming) Checksum(header []byte) commitlog.Checksum {
	return commitlog.Checksum{From: benchHeader, Want: binary.BigEndian.Uint32(header[12:])}
}

// makeBatch returns frames of frameBytes each, batchBytes in all; number gives them their offsets.
func makeBatch(frameBytes, batchBytes int) []byte {
	batch := make([]byte, batchBytes)
	for i := range batch {
		batch[i] = byte(i * 7)
	}
	for at := 0; at < batchBytes; at += frameBytes {
		binary.BigEndian.PutUint32(batch[at:], uint32(frameBytes))
		binary.BigEndian.PutUint32(batch[at+12:], crc32.Checksum(batch[at+benchHeader:at+frameBytes], castagnoli))
	}
	return batch
}

func number(batch []byte, frameBytes int, next int64) int64 {
	for at := 0; at < len(batch); at += frameBytes {
		binary.BigEndian.PutUint64(batch[at+4:], uint64(next))
		next++
	}
	return next
}

// measureLog is everything about the log core alone.
func (b *bench) measureLog() error {
	for _, measure := range []func() error{b.measureAppends, b.measureTailReads, b.measureGroupCommit, b.measureReopening} {
		if err := measure(); err != nil {
			return err
		}
	}
	return nil
}

// measureAppends compares appends, synced once at the end, with plain writes of the same size to one file, synced once at the end.
func (b *bench) measureAppends() error {
	b.report.title(fmt.Sprintf("commitlog: append %d MiB, sync at the end, beside a plain sequential write", b.diskMiB))
	for _, shape := range []struct {
		name              string
		frame, batchBytes int
	}{
		{"frames of 1 MiB", 1 << 20, 1 << 20},
		{"frames of 1 KiB in batches of 64 KiB", 1 << 10, 64 << 10},
	} {
		var raw, log samples
		for range b.rounds {
			rate, err := b.writePlain(shape.batchBytes)
			if err != nil {
				return err
			}
			raw = append(raw, rate)
			if rate, err = b.writeLog(shape.frame, shape.batchBytes); err != nil {
				return err
			}
			log = append(log, rate)
		}
		b.report.line(shape.name+": plain write, MB/s", raw.spread("%.0f"))
		b.report.line(shape.name+": commitlog, MB/s", log.spread("%.0f"))
		b.report.line(shape.name+": commitlog / plain write, %", log.over(raw).percent().spread("%.0f"))
	}
	return nil
}

func (b *bench) writePlain(batchBytes int) (float64, error) {
	dir, err := os.MkdirTemp(b.directory, "plain")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	file, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		return 0, err
	}
	defer file.Close()
	batch := makeBatch(batchBytes, batchBytes)
	total := b.diskMiB << 20
	began := time.Now()
	for written := 0; written < total; written += len(batch) {
		if _, err := file.Write(batch); err != nil {
			return 0, err
		}
	}
	if err := file.Sync(); err != nil {
		return 0, err
	}
	return float64(total) / 1e6 / time.Since(began).Seconds(), nil
}

func (b *bench) writeLog(frameBytes, batchBytes int) (float64, error) {
	dir, err := os.MkdirTemp(b.directory, "log")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	d, err := disk.NewOS(dir)
	if err != nil {
		return 0, err
	}
	log, err := commitlog.Open(d, "log", benchFraming{}, commitlog.Config{SegmentBytes: 1 << 30})
	if err != nil {
		return 0, err
	}
	defer log.Abandon()
	batch := makeBatch(frameBytes, batchBytes)
	total := b.diskMiB << 20
	next := int64(0)
	began := time.Now()
	for written := 0; written < total; written += len(batch) {
		next = number(batch, frameBytes, next)
		if _, err := log.Append(batch); err != nil {
			return 0, err
		}
	}
	if err := log.Sync(); err != nil {
		return 0, err
	}
	return float64(total) / 1e6 / time.Since(began).Seconds(), nil
}
