package disk

import (
	"io/fs"
	"os"
	"path/filepath"
)

// OS is a Disk in a directory of the operating system's file system.
type OS struct{ root string }

// NewOS returns a Disk whose names are below root, which is created when missing.
func NewOS(root string) (*OS, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, err
	}
	return &OS{root: root}, nil
}

func (d *OS) path(name string) string { return filepath.Join(d.root, filepath.FromSlash(name)) }

func (d *OS) OpenFile(name string, flag int) (File, error) {
	f, err := os.OpenFile(d.path(name), flag, 0o644)
	if err != nil {
		return nil, err
	}
	return &osFile{File: f, name: name}, nil
}

func (d *OS) MkdirAll(name string) error                 { return os.MkdirAll(d.path(name), 0o755) }
func (d *OS) Rename(from, to string) error               { return os.Rename(d.path(from), d.path(to)) }
func (d *OS) Remove(name string) error                   { return os.Remove(d.path(name)) }
func (d *OS) RemoveAll(name string) error                { return os.RemoveAll(d.path(name)) }
func (d *OS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(d.path(name)) }
func (d *OS) Stat(name string) (fs.FileInfo, error)      { return os.Stat(d.path(name)) }

func (d *OS) SyncDir(name string) error {
	dir, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncDirectory(dir)
}

type osFile struct {
	*os.File
	name string
}

func (f *osFile) Name() string     { return f.name }
func (f *osFile) OSFile() *os.File { return f.File }

func (f *osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *osFile) Sync() error { return syncData(f.File) }
