package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncData uses fdatasync: the length is made durable with the data, the modification time is not, which saves a journal write.
func syncData(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err == nil {
			return nil
		}
		if err != unix.EINTR {
			return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: err}
		}
	}
}

func syncDirectory(dir *os.File) error { return dir.Sync() }
