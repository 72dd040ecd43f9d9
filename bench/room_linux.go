package bench

import (
	"cmp"
	"os"

	"golang.org/x/sys/unix"
)

// freeMiB is how much room there is for the files of a directory; empty: the temporary one.
func freeMiB(directory string) (int, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(cmp.Or(directory, os.TempDir()), &stat); err != nil {
		return 0, err
	}
	return int(stat.Bavail * uint64(stat.Bsize) >> 20), nil
}
