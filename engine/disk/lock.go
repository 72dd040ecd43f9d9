package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrLocked: another process uses the directory.
var ErrLocked = errors.New("another process uses this directory")

// Lock makes the directory this process's own, until the returned function is called or the process ends, however it ends.
func (d *OS) Lock() (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(d.root, ".lock"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w (%v)", d.root, ErrLocked, err)
	}
	return f.Close, nil
}
