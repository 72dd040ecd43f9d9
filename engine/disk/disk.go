// Package disk is a node's files: a directory that only the node sees. The OS implementation hands out real files, so that sendfile
// works; the memory implementation can crash, losing what was not synced. Names are slash-separated paths inside the directory.
package disk

import (
	"io"
	"io/fs"
	"os"
)

// Disk is one node's directory. Errors are *fs.PathError or wrap fs.ErrNotExist and fs.ErrExist, as the os package's do.
type Disk interface {
	// OpenFile opens with the os package's flags (os.O_RDONLY, os.O_RDWR, os.O_CREATE, os.O_EXCL, os.O_TRUNC). A created file's
	// directory entry is durable only after SyncDir of its directory.
	OpenFile(name string, flag int) (File, error)
	MkdirAll(name string) error
	// Rename replaces the target atomically; durable after SyncDir.
	Rename(from, to string) error
	Remove(name string) error
	RemoveAll(name string) error
	// ReadDir lists a directory, sorted by name.
	ReadDir(name string) ([]fs.DirEntry, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes creations, renames and removals in a directory durable.
	SyncDir(name string) error
}

// File is an open file. Reads and writes at different places may run at the same time.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Name() string
	Size() (int64, error)
	Truncate(size int64) error
	// Sync makes the file's contents and size durable. After an error nothing written since the last good Sync may be trusted.
	Sync() error
	// OSFile is the file underneath where there is one, for sendfile; nil otherwise. The caller must not use its file offset.
	OSFile() *os.File
}
