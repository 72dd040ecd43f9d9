package commitlog

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"twinlog/engine/disk"
)

func openTest(t *testing.T, dir string, config Config) *Log {
	t.Helper()
	d, err := disk.NewOS(dir)
	if err != nil {
		t.Fatal(err)
	}
	log, err := Open(d, "log", testFraming{}, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Abandon)
	return log
}

func appendFrames(t *testing.T, log *Log, n, payload int) (all []byte) {
	t.Helper()
	for range n {
		frame := makeFrame(log.Next(), 1, payload, 1_000_000+log.Next()*10)
		if _, err := log.Append(frame); err != nil {
			t.Fatal(err)
		}
		all = append(all, frame...)
	}
	return all
}

func TestTornTailIsCutAndReported(t *testing.T) {
	for name, damage := range map[string]func(file []byte) []byte{
		"half a frame":      func(file []byte) []byte { return file[:len(file)-30] },
		"half a header":     func(file []byte) []byte { return file[:len(file)-100] },
		"zeros":             func(file []byte) []byte { return append(file[:len(file)-128], make([]byte, 128)...) },
		"a flipped payload": func(file []byte) []byte { file[len(file)-1] ^= 1; return file },
		"a huge size":       func(file []byte) []byte { file[len(file)-128] = 0x7f; return file },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			log := openTest(t, dir, Config{})
			all := appendFrames(t, log, 20, 100)
			log.Abandon()
			file := filepath.Join(dir, "log", "00000000000000000000.log")
			content, _ := os.ReadFile(file)
			if err := os.WriteFile(file, damage(content), 0o644); err != nil {
				t.Fatal(err)
			}
			log = openTest(t, dir, Config{})
			if log.Next() != 19 || log.Recovery().CutPosition != 19*128 || log.Recovery().CutReason == "" {
				t.Fatalf("next %d, recovery %+v", log.Next(), log.Recovery())
			}
			section, err := log.Read(0, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			defer section.Close()
			if got, _ := section.ReadAll(); !bytes.Equal(got, all[:19*128]) {
				t.Fatalf("%d bytes survived", len(got))
			}
			appendFrames(t, log, 1, 100)
		})
	}
}

func TestDamageInASealedSegmentIsNamedNotServed(t *testing.T) {
	dir := t.TempDir()
	log := openTest(t, dir, Config{SegmentBytes: 1000})
	appendFrames(t, log, 30, 100)
	log.Abandon()
	sealed := log.Segments()[1]
	file := filepath.Join(dir, sealed.File)
	content, _ := os.ReadFile(file)
	content[200] ^= 1
	os.WriteFile(file, content, 0o644)
	os.Remove(file[:len(file)-len(logSuffix)] + indexSuffix)
	d, _ := disk.NewOS(dir)
	_, err := Open(d, "log", testFraming{}, Config{SegmentBytes: 1000})
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.File != sealed.File || corrupt.Position != 128 {
		t.Fatalf("got %v", err)
	}
}

func TestLostAndDamagedIndexesAreRebuilt(t *testing.T) {
	dir := t.TempDir()
	log := openTest(t, dir, Config{SegmentBytes: 1000, IndexInterval: 200})
	all := appendFrames(t, log, 30, 100)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	indexes, _ := filepath.Glob(filepath.Join(dir, "log", "*index"))
	for i, name := range indexes {
		content, _ := os.ReadFile(name)
		switch i % 3 {
		case 0:
			os.Remove(name)
		case 1:
			content[len(content)-1] ^= 1
			os.WriteFile(name, content, 0o644)
		case 2:
			os.WriteFile(name, content[:len(content)/2], 0o644)
		}
	}
	log = openTest(t, dir, Config{SegmentBytes: 1000, IndexInterval: 200})
	if log.Recovery().RebuiltIndexes != len(log.Segments()) || log.Next() != 30 {
		t.Fatalf("%+v", log.Recovery())
	}
	var got []byte
	for offset := int64(0); offset < 30; {
		section, err := log.Read(offset, 1)
		if err != nil {
			t.Fatal(err)
		}
		bytes, _ := section.ReadAll()
		section.Close()
		got, offset = append(got, bytes...), offset+1
	}
	if !bytes.Equal(got, all) {
		t.Fatal("frames differ")
	}
}

func TestCleanReopenScansNothing(t *testing.T) {
	dir := t.TempDir()
	log := openTest(t, dir, Config{SegmentBytes: 1000})
	appendFrames(t, log, 30, 100)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if log = openTest(t, dir, Config{SegmentBytes: 1000}); log.Recovery() != (Recovery{}) || log.Next() != 30 {
		t.Fatalf("%+v, next %d", log.Recovery(), log.Next())
	}
}

func TestOffsetForTime(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{SegmentBytes: 1000, IndexInterval: 300})
	appendFrames(t, log, 40, 100)
	for _, c := range []struct{ ms, want int64 }{{0, 0}, {1_000_000, 0}, {1_000_001, 1}, {1_000_095, 10}, {1_000_390, 39}, {1_000_391, -1}} {
		offset, found, err := log.OffsetForTime(time.UnixMilli(c.ms))
		if err != nil || found != (c.want >= 0) || found && offset != c.want {
			t.Errorf("time %d: offset %d, found %v, %v; want %d", c.ms, offset, found, err, c.want)
		}
	}
}

func TestAppendRefusesWhatIsNoContinuation(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{})
	appendFrames(t, log, 3, 10)
	for name, frames := range map[string][]byte{
		"nothing":          nil,
		"an old offset":    makeFrame(2, 1, 10, 0),
		"a cut frame":      makeFrame(3, 1, 10, 0)[:30],
		"a cut header":     makeFrame(3, 1, 10, 0)[:5],
		"frames backwards": append(makeFrame(4, 1, 10, 0), makeFrame(3, 1, 10, 0)...),
	} {
		if _, err := log.Append(frames); err == nil {
			t.Errorf("%s was appended", name)
		}
	}
	if log.Next() != 3 {
		t.Fatalf("next is %d", log.Next())
	}
}

func TestReadAtFindsWhatAppendTold(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{SegmentBytes: 500})
	var places []Location
	for i := range 20 {
		place, err := log.Append(makeFrame(int64(i), 1, 50+i, 0))
		if err != nil {
			t.Fatal(err)
		}
		places = append(places, place)
	}
	for i, place := range places {
		section, err := log.ReadAt(place)
		if err != nil {
			t.Fatal(err)
		}
		got, err := section.ReadAll()
		section.Close()
		if err != nil || !bytes.Equal(got, makeFrame(int64(i), 1, 50+i, 0)) {
			t.Fatalf("frame %d differs: %v", i, err)
		}
	}
	if _, err := log.ReadAt(Location{Segment: 0, Position: 0, Size: 1 << 40}); !errors.Is(err, ErrOutOfRange) {
		t.Fatal(err)
	}
}

func TestSectionGoesOutOverTCP(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{})
	all := appendFrames(t, log, 3000, 1000)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	received := make(chan []byte, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			received <- nil
			return
		}
		defer conn.Close()
		bytes, _ := io.ReadAll(conn)
		received <- bytes
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	section, err := log.Read(0, len(all))
	if err != nil {
		t.Fatal(err)
	}
	defer section.Close()
	if n, err := section.WriteTo(conn); err != nil || n != int64(len(all)) {
		t.Fatal(n, err)
	}
	conn.Close()
	if got := <-received; !bytes.Equal(got, all) {
		t.Fatalf("received %d of %d bytes", len(got), len(all))
	}
}

func TestReadersRunBesideTheOwner(t *testing.T) {
	log := openTest(t, t.TempDir(), Config{SegmentBytes: 2000, IndexInterval: 100})
	stop := make(chan struct{})
	done := make(chan error, 3)
	for range 3 {
		go func() {
			for offset := int64(0); ; {
				select {
				case <-stop:
					done <- nil
					return
				default:
				}
				offset = max(offset, log.Start())
				section, err := log.Read(offset, 700)
				if errors.Is(err, ErrOutOfRange) {
					continue // the owner deleted or truncated in between
				}
				if err != nil {
					done <- err
					return
				}
				bytes, err := section.ReadAll()
				section.Close()
				for at := 0; err == nil && at < len(bytes); {
					var frame Frame
					if frame, err = parse(testFraming{}, bytes[at:]); err == nil {
						err = Verify(testFraming{}, bytes[at:at+frame.Size])
						at, offset = at+frame.Size, frame.LastOffset+1
					}
				}
				if err != nil && !errors.Is(err, ErrOutOfRange) {
					done <- err
					return
				}
			}
		}()
	}
	for i := range 300 {
		appendFrames(t, log, 5, 100)
		if i%10 == 0 {
			if err := log.DeleteBefore(max(log.Start(), log.Next()-50)); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	for range 3 {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzRecovery opens a segment of any bytes with zeros behind them. Whole frames at its beginning are the log; what is appended then comes
// right behind them, also after the next kill.
func FuzzRecovery(f *testing.F) {
	two := append(makeFrame(0, 1, 10, 5), makeFrame(1, 2, 0, 6)...)
	for _, ahead := range []bool{false, true} {
		f.Add(two, uint16(0), ahead)
		f.Add(two, uint16(1000), ahead)
		f.Add(two[:len(two)-20], uint16(20), ahead)
		f.Add(slices.Concat(two, make([]byte, testHeader+20), makeFrame(4, 1, 3, 7)), uint16(9), ahead) // the next append fits in the gap
		f.Add([]byte{0, 0, 0, 40}, uint16(3), ahead)
	}
	f.Fuzz(func(t *testing.T, content []byte, zeros uint16, ahead bool) {
		config := Config{}
		if ahead {
			config.Preallocate = 1000
		}
		content = slices.Concat(content, make([]byte, zeros))
		d := disk.NewMemory()
		d.MkdirAll("log")
		file, err := d.OpenFile("log/00000000000000000000.log", os.O_RDWR|os.O_CREATE)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteAt(content, 0)
		file.Close()
		end, next := 0, int64(0)
		for {
			frame, err := parse(testFraming{}, content[end:])
			if err != nil || frame.BaseOffset < next || Verify(testFraming{}, content[end:end+frame.Size]) != nil {
				break
			}
			end, next = end+frame.Size, frame.LastOffset+1
		}
		whole := content[:end:end]
		for range 2 {
			log, err := Open(d, "log", testFraming{}, config)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := readEverything(log); err != nil || !bytes.Equal(got, whole) {
				t.Fatalf("%d bytes of %d whole ones, %v", len(got), len(whole), err)
			}
			whole = append(whole, appendFrames(t, log, 1, 20)...)
			log.Abandon()
		}
	})
}
