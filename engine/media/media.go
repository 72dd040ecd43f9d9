// Package media is where sealed segments go when a node's own disk is too dear for them: a memory, a directory (of a larger or a shared
// disk), a bucket of an object store. A medium is a flat set of named, whole, unchanging files; it knows no engine.
package media

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Medium keeps files. Names are slash-separated relative paths. All methods may run at the same time, those on different names without
// waiting for each other. It has only types of the standard library, so that its users can declare the part that they need.
type Medium interface {
	// Put keeps size bytes of content under a name, durably when it returns: all of them or, after an error or a crash, none. What has
	// the name already is replaced.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	// ReadAt reads as an io.ReaderAt does. fs.ErrNotExist: there is no such file.
	ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error)
	// Size is a file's length in bytes. fs.ErrNotExist: there is no such file.
	Size(ctx context.Context, name string) (int64, error)
	// List returns the names that begin with prefix, sorted.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove removes a file; one that is not there is no error.
	Remove(ctx context.Context, name string) error
	// RemoveUnfinished removes what Puts under prefix have left that were interrupted. None may be under way there.
	RemoveUnfinished(ctx context.Context, prefix string) error
}

// checkName refuses what leads out of the medium, and what would look like an unfinished file.
func checkName(name string) error {
	if name == "" || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") || strings.HasSuffix(name, partial) {
		return fmt.Errorf("the medium takes no file called %q: %w", name, fs.ErrInvalid)
	}
	return nil
}

// partial is the ending of a file that is being put into a Directory.
const partial = ".partial"

// exactly reads size bytes from content, no fewer and no more.
type exactly struct {
	content io.Reader
	left    int64
}

func (e *exactly) Read(p []byte) (int, error) {
	if int64(len(p)) > e.left+1 {
		p = p[:e.left+1] // one more than may be there, to notice it
	}
	n, err := e.content.Read(p)
	e.left -= int64(n)
	switch {
	case e.left < 0:
		return n, fmt.Errorf("there are more bytes than were announced")
	case err == io.EOF && e.left > 0:
		return n, fmt.Errorf("%d bytes less than were announced: %w", e.left, io.ErrUnexpectedEOF)
	}
	return n, err
}
