//go:build !linux

package disk

import (
	"os"
	"runtime"
)

func syncData(f *os.File) error { return f.Sync() }

// syncDirectory does nothing on Windows, where a directory cannot be synced and NTFS journals its entries.
func syncDirectory(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}
