package commitlog

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"twinlog/engine/disk"
)

// writtenFrame is a frame, where it is, and what it is.
type writtenFrame struct {
	modelFrame
	place Location
	time  time.Time
}

// runningLog is a log in use, three segments long, and the disk that it is on.
func runningLog(t *testing.T, files disk.Disk, framing Framing, config Config) (log *Log, frames []writtenFrame) {
	t.Helper()
	log, err := Open(files, "log", framing, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Abandon)
	for i := range 22 {
		base := log.Next()
		frame := makeFrame(base, 1+i%3, 30, 1000+base)
		if _, loose := framing.(looseFraming); loose {
			sealLoosely(frame)
		}
		place, err := log.Append(frame)
		if err != nil {
			t.Fatal(err)
		}
		frames = append(frames, writtenFrame{modelFrame{base, base + int64(i%3), frame}, place, time.UnixMilli(1000 + base)})
	}
	if len(log.Segments()) < 3 {
		t.Fatalf("%d segments", len(log.Segments()))
	}
	return log, frames
}

// ways are how a log's user gets at a frame's bytes.
func ways(log *Log) map[string]func(writtenFrame) ([]byte, error) {
	from := func(open func(writtenFrame) (*Section, error), read func(*Section) ([]byte, error)) func(writtenFrame) ([]byte, error) {
		return func(w writtenFrame) ([]byte, error) {
			section, err := open(w)
			if err != nil {
				return nil, err
			}
			defer section.Close()
			return read(section)
		}
	}
	copied := func(s *Section) ([]byte, error) {
		var out bytes.Buffer
		_, err := s.WriteTo(&out)
		return out.Bytes(), err
	}
	byOffset := func(w writtenFrame) (*Section, error) { return log.Read(w.base, 1) }
	return map[string]func(writtenFrame) ([]byte, error){
		"by offset, into memory":           from(byOffset, (*Section).ReadAll),
		"by offset, to a writer":           from(byOffset, copied),
		"by a later offset in the frame":   from(func(w writtenFrame) (*Section, error) { return log.Read(w.last, 1) }, (*Section).ReadAll),
		"as the first of many":             from(func(w writtenFrame) (*Section, error) { return log.Read(w.base, 400) }, (*Section).ReadAll),
		"as the last below a limit":        from(func(w writtenFrame) (*Section, error) { return log.ReadBelow(w.base, w.last+1, 400) }, (*Section).ReadAll),
		"by the place that Append told of": from(func(w writtenFrame) (*Section, error) { return log.ReadAt(w.place) }, (*Section).ReadAll),
	}
}

// TestAFlippedBitInARunningLogIsFoundAtEveryRead flips a bit of every byte of every segment of a log that is open, was written by this very
// process and read before. Whoever reads gets what was written or an error that names the file; the damaged frame itself is refused in
// every way, and once the bit is back all is served again.
func TestAFlippedBitInARunningLogIsFoundAtEveryRead(t *testing.T) {
	for name, framing := range map[string]Framing{"all under the checksum": testFraming{}, "offsets outside the checksum": looseFraming{}} {
		t.Run(name, func(t *testing.T) {
			memory := disk.NewMemory()
			faults := disk.NewFaults(memory)
			log, frames := runningLog(t, memory, framing, damagedConfig)
			flips, refused := 0, 0
			for _, s := range log.Segments() {
				for at := range s.Size {
					flip := func() {
						if err := faults.FlipBit(s.File, at, uint(at*5)); err != nil {
							t.Fatal(err)
						}
					}
					flip()
					refused += judgeRunning(t, log, frames, s.Base, s.File, at)
					flip()
					flips++
				}
			}
			for way, read := range ways(log) {
				for _, w := range frames {
					if got, err := read(w); err != nil || !bytes.HasPrefix(got, w.bytes) {
						t.Fatalf("%s: healed, and still refused: %v", way, err)
					}
				}
			}
			t.Logf("%d bits flipped, %d reads refused", flips, refused)
		})
	}
}

// judgeRunning reads all frames in all ways and tells how often it was refused.
func judgeRunning(t *testing.T, log *Log, frames []writtenFrame, segment int64, file string, at int64) (refused int) {
	t.Helper()
	hit := slices.IndexFunc(frames, func(w writtenFrame) bool {
		return w.place.Segment == segment && w.place.Position <= at && at < w.place.Position+w.place.Size
	})
	// Which of two neighbours has the wrong offset, when both checksums are right, nobody can tell: either may be refused.
	_, loose := log.framing.(looseFraming)
	offsets := loose && at-frames[hit].place.Position >= 4 && at-frames[hit].place.Position < 12
	for way, read := range ways(log) {
		for i, w := range frames {
			got, err := read(w)
			var corrupt *CorruptError
			switch {
			case offsets && strings.HasPrefix(way, "by the place"): // whoever knows a place must have its offsets under the checksum
			case err == nil && i == hit && !offsets:
				t.Fatalf("%s: byte %d of %s is damaged, and its frame was served", way, at, file)
			case err == nil && !isRunOf(got, frames[i:]):
				t.Fatalf("%s: byte %d of %s is damaged, and what was served for %d is not what was written", way, at, file, w.base)
			case err == nil:
			case !errors.As(err, &corrupt) || corrupt.File != file:
				t.Fatalf("%s: byte %d of %s is damaged: %v", way, at, file, err)
			case w.place.Segment != segment:
				t.Fatalf("%s: a frame of another segment was refused: %v", way, err)
			default:
				refused++
			}
		}
	}
	return refused
}

// isRunOf tells whether bytes are the first of frames, at least one.
func isRunOf(served []byte, frames []writtenFrame) bool {
	count := 0
	for len(served) > 0 && count < len(frames) && bytes.HasPrefix(served, frames[count].bytes) {
		served = served[len(frames[count].bytes):]
		count++
	}
	return count > 0 && len(served) == 0
}

// TestWhatLiesAroundDamageIsServed: a section ends before a damaged frame, and who asks for what comes after the frame gets it.
func TestWhatLiesAroundDamageIsServed(t *testing.T) {
	memory := disk.NewMemory()
	log, err := Open(memory, "log", testFraming{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	all := appendFrames(t, log, 20, 100)
	size := int64(testHeader + 100)
	if err := disk.NewFaults(memory).FlipBit(log.Segments()[0].File, 7*size+testHeader+50, 1); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int64][]byte{0: all[:7*size], 6: all[6*size : 7*size], 8: all[8*size:], 19: all[19*size:]} {
		section, err := log.Read(offset, 1<<20)
		if err != nil {
			t.Fatal(offset, err)
		}
		if got, err := section.ReadAll(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("from offset %d: %d bytes, not %d; %v", offset, len(got), len(want), err)
		}
		section.Close()
	}
	var corrupt *CorruptError
	if _, err := log.Read(7, 1<<20); !errors.As(err, &corrupt) || corrupt.Position != 7*size {
		t.Errorf("the damaged frame: %v", err)
	}
}

// TestDamageDoesNotGoOutBySendfile: bits of every part of a frame of a file that the operating system sends itself, in a sealed segment and
// in the one that is written.
func TestDamageDoesNotGoOutBySendfile(t *testing.T) {
	files, err := disk.NewOS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	faults := disk.NewFaults(files)
	log, frames := runningLog(t, files, testFraming{}, damagedConfig)
	for _, hit := range []int{2, len(frames) - 1} {
		w := frames[hit]
		file := (&segment{base: w.place.Segment}).file("log", logSuffix)
		for _, at := range []int64{0, 3, 4, 11, 12, 15, 16, 23, 24, 27, testHeader, testHeader + 15, testHeader + 29} {
			if sent, err := sendAll(t, log, frames[hit].base); err != nil || !isRunOf(sent, frames[hit:]) {
				t.Fatalf("before the damage: %v", err)
			}
			if err := faults.FlipBit(file, w.place.Position+at, 2); err != nil {
				t.Fatal(err)
			}
			var corrupt *CorruptError
			if sent, err := sendAll(t, log, frames[hit].base); !errors.As(err, &corrupt) || corrupt.File != file || len(sent) > 0 {
				t.Errorf("byte %d of a frame is damaged: %d bytes went out, and %v", at, len(sent), err)
			}
			if err := faults.FlipBit(file, w.place.Position+at, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// sendAll sends what Read gives to a socket and tells what arrived.
func sendAll(t *testing.T, log *Log, offset int64) (arrived []byte, err error) {
	t.Helper()
	section, err := log.Read(offset, 150)
	if err != nil {
		return nil, err
	}
	defer section.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	_, err = section.WriteTo(conn) // fits in the socket's buffer
	conn.Close()
	arrived, readErr := io.ReadAll(far)
	return arrived, errors.Join(err, readErr)
}

// TestDamageDoesNotMisleadASearchByTime: the answer is right, or there is none.
func TestDamageDoesNotMisleadASearchByTime(t *testing.T) {
	for name, framing := range map[string]Framing{"all under the checksum": testFraming{}, "offsets outside the checksum": looseFraming{}} {
		memory := disk.NewMemory()
		faults := disk.NewFaults(memory)
		log, frames := runningLog(t, memory, framing, damagedConfig)
		refused := 0
		for _, s := range log.Segments() {
			for at := range s.Size {
				if err := faults.FlipBit(s.File, at, uint(at*3)); err != nil {
					t.Fatal(err)
				}
				for _, w := range frames {
					offset, found, err := log.OffsetForTime(w.time)
					var corrupt *CorruptError
					switch {
					case errors.As(err, &corrupt) && corrupt.File == s.File:
						refused++
					case err != nil || !found || offset != w.base:
						t.Fatalf("%s: byte %d of %s is damaged, and the first frame at %v begins at %d, %v, %v", name, at, s.File, w.time, offset, found, err)
					}
				}
				if err := faults.FlipBit(s.File, at, uint(at*3)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s: no search met the damage", name)
		}
	}
}
