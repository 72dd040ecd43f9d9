package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path"
	"strings"
	"testing"

	"twinlog/engine/disk"
)

// looseFraming leaves a frame's base offset out of its checksum, as Kafka's record batches do.
type looseFraming struct{ testFraming }

func (looseFraming) Checksum(header []byte) Checksum {
	sum := crc32.Update(crc32.Checksum(header[:4], castagnoli), castagnoli, header[12:24])
	return Checksum{From: testHeader, Begin: sum, Want: binary.BigEndian.Uint32(header[24:])}
}

func sealLoosely(frame []byte) {
	begin := looseFraming{}.Checksum(frame).Begin
	binary.BigEndian.PutUint32(frame[24:], crc32.Update(begin, castagnoli, frame[testHeader:]))
}

// damagedLog is a log of three segments, all of it durable, and where its frames begin.
type damagedLog struct {
	name    string
	framing Framing
	closed  bool // in order; else killed after the last sync
}

var damagedConfig = Config{SegmentBytes: 500, IndexInterval: 120}

func (c damagedLog) build(t *testing.T) (memory *disk.Memory, content []byte, begins map[string][]int64) {
	t.Helper()
	memory = disk.NewMemory()
	log, err := Open(memory, "log", c.framing, damagedConfig)
	if err != nil {
		t.Fatal(err)
	}
	begins = map[string][]int64{}
	for i := range 22 {
		frame := makeFrame(log.Next(), 1+i%3, 30, 1000+log.Next())
		if _, loose := c.framing.(looseFraming); loose {
			sealLoosely(frame)
		}
		place, err := log.Append(frame)
		if err != nil {
			t.Fatal(err)
		}
		content = append(content, frame...)
		name := (&segment{base: place.Segment}).file("log", logSuffix)
		begins[name] = append(begins[name], place.Position)
	}
	if err := log.DeleteBefore(1); err != nil {
		t.Fatal(err)
	}
	content = content[testHeader+30:]
	if c.closed {
		err = log.Close()
	} else {
		err = log.Sync()
		log.Abandon()
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(begins) < 3 {
		t.Fatalf("%d segments", len(begins))
	}
	return memory, content, begins
}

func readEverything(log *Log) (content []byte, err error) {
	for offset := log.Start(); offset < log.Next(); {
		section, err := log.Read(offset, 200)
		if err != nil {
			return content, err
		}
		bytes, err := section.ReadAll()
		section.Close()
		if err != nil || len(bytes) == 0 {
			return content, errors.Join(err, errors.New("the log ends early"))
		}
		content = append(content, bytes...)
		for at := 0; at < len(bytes); {
			frame, _ := parse(testFraming{}, bytes[at:])
			offset, at = frame.LastOffset+1, at+frame.Size
		}
	}
	return content, nil
}

// TestAFlippedBitAnywhereIsFoundAndNamed flips a bit of every byte of every file of a log whose contents are durable, the active segment
// included. What is read is what was written, or an error that names the file and the damaged frame; nothing that was durable is cut.
func TestAFlippedBitAnywhereIsFoundAndNamed(t *testing.T) {
	for _, c := range []damagedLog{{"closed", testFraming{}, true}, {"killed", testFraming{}, false}, {"closed, offsets outside the checksum", looseFraming{}, true}, {"killed, offsets outside the checksum", looseFraming{}, false}} {
		t.Run(c.name, func(t *testing.T) {
			memory, content, begins := c.build(t)
			entries, err := memory.ReadDir("log")
			if err != nil {
				t.Fatal(err)
			}
			flips := 0
			for _, entry := range entries {
				info, _ := entry.Info()
				for at := range info.Size() {
					if entry.Name() == durableFile && at%durableSlotGap >= durableSlotSize {
						continue // unused
					}
					damaged, _, _ := c.build(t)
					if err := disk.NewFaults(damaged).FlipBit(path.Join("log", entry.Name()), at, uint(at*5)); err != nil {
						t.Fatal(err)
					}
					flips++
					c.judge(t, damaged, path.Join("log", entry.Name()), at, content, begins)
				}
			}
			t.Logf("%d bits flipped", flips)
		})
	}
}

func (c damagedLog) judge(t *testing.T, d disk.Disk, name string, at int64, content []byte, begins map[string][]int64) {
	t.Helper()
	got, err := func() ([]byte, error) {
		log, err := Open(d, "log", c.framing, damagedConfig)
		if err != nil {
			return nil, err
		}
		defer log.Abandon()
		return readEverything(log)
	}()
	if !bytes.HasPrefix(content, got) {
		t.Fatalf("%s byte %d: bytes were served that nobody wrote", name, at)
	}
	var corrupt *CorruptError
	switch {
	case err == nil && len(got) != len(content):
		t.Fatalf("%s byte %d: %d of %d bytes are left, and no error", name, at, len(got), len(content))
	case err == nil && name == (&segment{}).file("log", logSuffix) && at < begins[name][1]: // a frame that is not kept any more
		return
	case err == nil && !strings.HasSuffix(name, indexSuffix) && !strings.HasSuffix(name, timeIndexSuffix) && path.Base(name) != durableFile:
		t.Fatalf("%s byte %d: not found", name, at)
	case err == nil:
		return
	case !errors.As(err, &corrupt):
		t.Fatalf("%s byte %d: %v", name, at, err)
	}
	if corrupt.File != name {
		t.Fatalf("%s byte %d: the error names %v", name, at, err)
	}
	// A wrong offset outside the checksum is seen only against its neighbour.
	_, loose := c.framing.(looseFraming)
	places := begins[name]
	for i, begin := range places {
		if end := append(places[1:len(places):len(places)], 1<<40)[i]; begin <= at && at < end {
			if near := corrupt.Position - begin; near != 0 && !(loose && near <= 58 && near >= -58) {
				t.Fatalf("%s byte %d in the frame at %d: %v", name, at, begin, err)
			}
		}
	}
}

// TestATailThatWasSyncedIsNeverCut: after a power cut, too, once the mark is on the disk.
func TestATailThatWasSyncedIsNeverCut(t *testing.T) {
	for name, damage := range map[string]func(d disk.Disk, file string){
		"a file that lost its end": func(d disk.Disk, file string) {
			f, _ := d.OpenFile(file, 2)
			f.Truncate(100)
			f.Close()
		},
		"a file that is gone": func(d disk.Disk, file string) { d.Remove(file) },
	} {
		t.Run(name, func(t *testing.T) {
			memory, _, _ := damagedLog{framing: testFraming{}}.build(t)
			log, err := Open(memory, "log", testFraming{}, damagedConfig)
			if err != nil {
				t.Fatal(err)
			}
			segments := log.Segments()
			log.Abandon()
			last := segments[len(segments)-1].File
			damage(memory, last)
			var corrupt *CorruptError
			if _, err := Open(memory, "log", testFraming{}, damagedConfig); !errors.As(err, &corrupt) || corrupt.File != last {
				t.Fatalf("opened with %v", err)
			}
		})
	}
}
