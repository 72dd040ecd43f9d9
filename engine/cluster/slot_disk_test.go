package cluster_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// slowToLose is a disk that takes as long to lose what was not synced as the test wants.
type slowToLose struct {
	*disk.Volatile
	begun, let chan struct{}
}

func (d *slowToLose) LoseUnsynced() (disk.Lost, error) {
	close(d.begun)
	<-d.let
	return d.Volatile.LoseUnsynced()
}

// TestACorruptionWaitsForACrash: it finds the disk as the crash leaves it, where the file is no longer.
func TestACorruptionWaitsForACrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &slowToLose{disk.NewVolatile(disk.NewMemory()), make(chan struct{}), make(chan struct{})}
		s := cluster.NewSlot(cluster.SlotConfig{
			Node: config(1), Fabric: fabric.NewMemory(), Disk: d, Tracer: trace.NewTracer("run", "kafka-1", 1000), Make: makeCounter,
		})
		check(t, s.Start(t.Context()))
		file, err := d.OpenFile("count", os.O_RDWR|os.O_CREATE)
		check(t, err)
		_, err = file.WriteAt([]byte("x"), 0)
		check(t, err)
		crashed, corrupted := make(chan error, 1), make(chan error, 1)
		go func() { crashed <- s.Crash(t.Context()) }()
		<-d.begun
		go func() { corrupted <- s.Corrupt(t.Context(), cluster.Corruption{Node: "kafka-1", File: "count"}) }()
		synctest.Wait()
		impatient, cancel := context.WithCancel(t.Context())
		cancel()
		if err := s.Corrupt(impatient, cluster.Corruption{File: "count"}); !errors.Is(err, context.Canceled) {
			t.Errorf("whoever does not wait is told %v", err)
		}
		close(d.let)
		check(t, <-crashed)
		if err := <-corrupted; !errors.Is(err, cluster.ErrInvalid) || !strings.Contains(err.Error(), "has no file") {
			t.Errorf("a file that the crash has taken was corrupted: %v", err)
		}
		check(t, s.Close(t.Context()))
	})
}

// passing is a disk of which a directory is deleted as soon as it was listed.
type passing struct{ disk.Disk }

func (d passing) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := d.Disk.ReadDir(name)
	if name == "." && err == nil {
		err = d.RemoveAll("segments-7")
	}
	return entries, err
}

// TestFilesOutliveADirectoryThatGoes: a node deletes directories while somebody looks at what it has.
func TestFilesOutliveADirectoryThatGoes(t *testing.T) {
	d := passing{disk.NewMemory()}
	check(t, d.MkdirAll("segments-7"))
	for _, name := range []string{"segments-7/log", "zz"} {
		file, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE)
		check(t, err)
		_, err = file.WriteAt([]byte("x"), 0)
		check(t, err)
	}
	s := cluster.NewSlot(cluster.SlotConfig{Node: config(1), Fabric: fabric.NewMemory(), Disk: d, Tracer: trace.NewTracer("run", "kafka-1", 1000)})
	files, err := s.Files()
	check(t, err)
	if len(files) != 1 || files[0].Name != "zz" {
		t.Errorf("%+v", files)
	}
}
