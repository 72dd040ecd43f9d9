package media

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

var errLonger = errors.New("there are more bytes than were announced")

func errShorter(missing int64) error {
	return fmt.Errorf("%d bytes less than were announced: %w", missing, io.ErrUnexpectedEOF)
}

// sectionOf is what is left of a content that can be read at any place, which must be size bytes; nil when it cannot.
func sectionOf(content io.Reader, size int64) (*io.SectionReader, error) {
	source, ok := content.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil, nil
	}
	here, err := source.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	end, err := source.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, err
	}
	switch left := end - here; {
	case left > size:
		return nil, errLonger
	case left < size:
		return nil, errShorter(size - left)
	}
	return io.NewSectionReader(source, here, size), nil
}

// whole reads a content of a known size. It looks that nothing follows before it gives the last bytes away: a store that has them all keeps
// the object.
type whole struct {
	content *bufio.Reader
	left    int64
}

func newWhole(content io.Reader, size int64) (*whole, error) {
	w := &whole{bufio.NewReaderSize(content, 64<<10), size}
	if size == 0 {
		return w, w.ends() // nobody would read
	}
	return w, nil
}

func (w *whole) Read(p []byte) (int, error) {
	if w.left == 0 {
		return 0, io.EOF
	}
	n, err := w.content.Read(p[:min(int64(len(p)), w.left)])
	w.left -= int64(n)
	switch {
	case err == io.EOF:
		return 0, errShorter(w.left)
	case err == nil && w.left == 0:
		err = w.ends()
	}
	if err != nil {
		return 0, err // without the bytes: a reader that has all it asked for would not look at the error
	}
	return n, nil
}

func (w *whole) ends() error {
	switch _, err := w.content.Peek(1); err {
	case nil:
		return errLonger
	case io.EOF:
		return nil
	default:
		return err
	}
}
