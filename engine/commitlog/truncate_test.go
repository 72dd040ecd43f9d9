package commitlog

import (
	"errors"
	"path"
	"testing"

	"twinlog/engine/disk"
)

// watchedDisk tells of the syncs of files with a name.
type watchedDisk struct {
	disk.Disk
	name   string
	synced func()
}

type watchedFile struct {
	disk.File
	of *watchedDisk
}

func (d *watchedDisk) OpenFile(name string, flag int) (disk.File, error) {
	file, err := d.Disk.OpenFile(name, flag)
	if err != nil || path.Base(name) != d.name {
		return file, err
	}
	return watchedFile{file, d}, nil
}

func (f watchedFile) Sync() error {
	f.of.synced()
	return f.File.Sync()
}

// TestATruncationIsNoDamageToAReaderThatCameInBetween: after the durable mark was lowered and before the end was. What it was to read is
// gone, or zeros, or other frames.
func TestATruncationIsNoDamageToAReaderThatCameInBetween(t *testing.T) {
	for name, config := range map[string]Config{"grown": {}, "filled ahead": {Preallocate: 1 << 20}} {
		t.Run(name, func(t *testing.T) {
			d := &watchedDisk{Disk: disk.NewMemory(), name: durableFile, synced: func() {}}
			log, err := Open(d, "log", testFraming{}, config)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Abandon()
			appendFrames(t, log, 20, 100)
			if err := log.Sync(); err != nil {
				t.Fatal(err)
			}
			var views []view
			d.synced = func() {
				v, err := log.view(log.segments[0])
				if err != nil {
					t.Fatal(err)
				}
				views = append(views, v)
			}
			if err := log.TruncateTo(10); err != nil {
				t.Fatal(err)
			}
			look := func(when string) {
				t.Helper()
				for _, v := range views {
					if err := log.verdict(v, log.locate(&Section{}, v, 15, 20, 500)); !errors.Is(err, ErrOutOfRange) {
						t.Errorf("%s: %v", when, err)
					}
				}
			}
			look("cut")
			appendFrames(t, log, 3, 111)
			look("written again")
			for _, v := range views {
				v.release()
			}
			if len(views) == 0 {
				t.Error("the mark was not lowered")
			}
		})
	}
}
