package commitlog

import (
	"encoding/binary"
	"net"
	"testing"

	"twinlog/engine/disk"
)

// batchOf is many frames that renumber gives their offsets, without allocating.
func batchOf(frames, payload int) []byte {
	var all []byte
	for range frames {
		all = append(all, makeFrame(0, 1, payload, 1)...)
	}
	return all
}

func renumber(batch []byte, next int64) {
	for at := 0; at < len(batch); {
		binary.BigEndian.PutUint64(batch[at+4:], uint64(next))
		size := int(binary.BigEndian.Uint32(batch[at:]))
		binary.BigEndian.PutUint32(batch[at+24:], checksum(batch[at:at+size]))
		next++
		at += size
	}
}

// TestAppendAndReadAllocateNothing: not a byte on the heap for an append, a read, or the bytes of a read.
func TestAppendAndReadAllocateNothing(t *testing.T) {
	d, err := disk.NewOS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log, err := Open(d, "log", testFraming{}, Config{SegmentBytes: 1 << 40, Preallocate: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	batch := batchOf(64, 1000)
	appended := func() {
		renumber(batch, log.Next())
		if _, err := log.Append(batch); err != nil {
			t.Fatal(err)
		}
	}
	appended()
	var section Section
	buffer := make([]byte, 64<<10)
	read := func() {
		if err := log.ReadTo(&section, log.Next()-40, -1, 20<<10); err != nil {
			t.Fatal(err)
		}
		if err := section.ReadInto(buffer[:section.Size()]); err != nil || section.Size() < 10<<10 {
			t.Fatal(err, section.Size())
		}
		section.Close()
	}
	synced := func() {
		appended()
		if err := log.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	for name, path := range map[string]func(){"append": appended, "read": read, "append and sync": synced} {
		if n := testing.AllocsPerRun(200, path); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, shape := range []struct {
		name            string
		frames, payload int
	}{{"1 frame of 1 KiB", 1, 1<<10 - testHeader}, {"64 frames of 1 KiB", 64, 1<<10 - testHeader}, {"1 frame of 1 MiB", 1, 1<<20 - testHeader}} {
		b.Run(shape.name, func(b *testing.B) {
			d, _ := disk.NewOS(b.TempDir())
			log, err := Open(d, "log", testFraming{}, Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer log.Abandon()
			batch := batchOf(shape.frames, shape.payload)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for b.Loop() {
				for at, next := 0, log.Next(); at < len(batch); at, next = at+testHeader+shape.payload, next+1 {
					binary.BigEndian.PutUint64(batch[at+4:], uint64(next))
				}
				if _, err := log.Append(batch); err != nil {
					b.Fatal(err)
				}
				if log.Size() > 512<<20 {
					b.StopTimer()
					if err := log.DeleteBefore(log.Next()); err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
				}
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	d, _ := disk.NewOS(b.TempDir())
	log, err := Open(d, "log", testFraming{}, Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer log.Abandon()
	batch := batchOf(64, 1<<10-testHeader)
	for range 256 {
		renumber(batch, log.Next())
		if _, err := log.Append(batch); err != nil {
			b.Fatal(err)
		}
	}
	var section Section
	buffer := make([]byte, 64<<10)
	b.Run("find", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := log.ReadTo(&section, log.Next()/2, -1, len(buffer)); err != nil {
				b.Fatal(err)
			}
			section.Close()
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(buffer)))
		for b.Loop() {
			if err := log.ReadTo(&section, log.Next()/2, -1, len(buffer)); err != nil {
				b.Fatal(err)
			}
			if err := section.ReadInto(buffer[:section.Size()]); err != nil {
				b.Fatal(err)
			}
			section.Close()
		}
	})
	b.Run("send", func(b *testing.B) {
		conn := discardingConnection(b)
		b.ReportAllocs()
		b.SetBytes(int64(len(buffer)))
		for b.Loop() {
			if err := log.ReadTo(&section, log.Next()/2, -1, len(buffer)); err != nil {
				b.Fatal(err)
			}
			if _, err := section.WriteTo(conn); err != nil {
				b.Fatal(err)
			}
			section.Close()
		}
	})
}

// discardingConnection is a TCP connection whose other end reads and forgets.
func discardingConnection(b *testing.B) net.Conn {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for buffer := make([]byte, 1<<20); err == nil; {
			_, err = conn.Read(buffer)
		}
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close(); listener.Close(); <-done })
	return conn
}
