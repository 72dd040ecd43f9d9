package disk_test

import (
	"bytes"
	"sync"
	"testing"

	"twinlog/engine/disk"
)

// gated is a disk whose Syncs tell that they have begun, and end when they are let.
type gated struct {
	disk.Disk
	begun chan chan struct{} // of each Sync: what to close to let it end
}

type gatedFile struct {
	disk.File
	of *gated
}

func (g *gated) OpenFile(name string, flag int) (disk.File, error) {
	file, err := g.Disk.OpenFile(name, flag)
	if err != nil {
		return nil, err
	}
	return gatedFile{file, g}, nil
}

func (f gatedFile) Sync() error {
	end := make(chan struct{})
	f.of.begun <- end
	<-end
	return f.File.Sync()
}

// begin begins a Sync. The returned function lets it end, and waits for that.
func (g *gated) begin(t *testing.T, file disk.File) (end func()) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- file.Sync() }()
	let := <-g.begun
	return func() {
		t.Helper()
		close(let)
		check(t, <-ended)
	}
}

// TestASyncDropsOnlyWhatItCovers: of two Syncs that overlap, the second to end finds what it covered dropped by the first.
func TestASyncDropsOnlyWhatItCovers(t *testing.T) {
	g := &gated{Disk: disk.NewMemory(), begun: make(chan chan struct{})}
	v := disk.NewVolatile(g)
	file, err := v.OpenFile("f", create)
	check(t, err)
	write := func(text string, at int64) {
		t.Helper()
		_, err := file.WriteAt([]byte(text), at)
		check(t, err)
	}
	write("aaaa", 0)
	g.begin(t, file)()
	check(t, v.SyncDir("."))
	// Nothing comes in between.
	write("B", 0)
	first, second := g.begin(t, file), g.begin(t, file)
	first()
	second()
	// A write comes in between, which neither covers.
	write("C", 1)
	first, second = g.begin(t, file), g.begin(t, file)
	first()
	write("D", 2)
	second()
	go func() { close(<-g.begun) }() // the crash syncs what it has put back
	lost, err := v.LoseUnsynced()
	check(t, err)
	if text := string(read(t, g.Disk, "f")); text != "BCaa" || lost.Bytes != 1 {
		t.Errorf("after the crash it is %q, and %d bytes were lost", text, lost.Bytes)
	}
}

// TestWritersThatSyncAtTheSameTime: each syncs what it has written over, as many writers of one log may.
func TestWritersThatSyncAtTheSameTime(t *testing.T) {
	const writers, rounds = 4, 50
	v := disk.NewVolatile(disk.NewMemory())
	file, err := v.OpenFile("f", create)
	check(t, err)
	_, err = file.WriteAt(make([]byte, writers), 0)
	check(t, err)
	check(t, file.Sync())
	check(t, v.SyncDir("."))
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for round := range rounds {
				if _, err := file.WriteAt([]byte{byte(round)}, int64(i)); err != nil {
					t.Error(err)
				}
				if err := file.Sync(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	_, err = file.WriteAt([]byte{255}, 0)
	check(t, err)
	lost, err := v.LoseUnsynced()
	check(t, err)
	if got := read(t, v, "f"); !bytes.Equal(got, bytes.Repeat([]byte{rounds - 1}, writers)) || lost.Bytes != 1 {
		t.Errorf("after the crash it is %v, and %d bytes were lost", got, lost.Bytes)
	}
}
