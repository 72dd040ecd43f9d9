package disk

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// memoryFile is an open file. Memory's lock guards the content: all files of a disk take turns.
type memoryFile struct {
	disk     *Memory
	content  *content
	name     string
	life     int
	writable bool
	closed   bool
}

func (f *memoryFile) use(op string, writing bool) error {
	if f.closed || f.life != f.disk.crashes {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrClosed}
	}
	if writing && !f.writable {
		return &fs.PathError{Op: op, Path: f.name, Err: fs.ErrPermission}
	}
	return nil
}

func (f *memoryFile) Name() string     { return f.name }
func (f *memoryFile) OSFile() *os.File { return nil }

func (f *memoryFile) ReadAt(p []byte, offset int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.use("read", false); err != nil {
		return 0, err
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: fmt.Errorf("negative offset %d", offset)}
	}
	if offset >= int64(len(f.content.now)) {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n := copy(p, f.content.now[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) WriteAt(p []byte, offset int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.use("write", true); err != nil {
		return 0, err
	}
	if offset < 0 {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fmt.Errorf("negative offset %d", offset)}
	}
	f.content.write(p, offset)
	return len(p), nil
}

func (f *memoryFile) Close() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.use("close", false); err != nil {
		return err
	}
	f.closed = true
	return nil
}

func (f *memoryFile) Size() (int64, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.use("stat", false); err != nil {
		return 0, err
	}
	return int64(len(f.content.now)), nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.use("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: f.name, Err: fs.ErrInvalid}
	}
	f.content.truncate(size)
	return nil
}

func (f *memoryFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if err := f.use("sync", false); err != nil {
		return err
	}
	f.content.sync()
	return nil
}
