package commitlog

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Section is a piece of a segment: whole frames that were checked when it was made, so that a reader may hand them on without looking at
// them. It keeps its file open until Close.
type Section struct {
	// Base is the base offset of the first frame; of an empty section, the offset that was asked for.
	Base     int64
	handle   *handle
	position int64
	size     int64
	kept     []byte // what is in it, where reading it again is expensive: of a moved segment
}

// take makes the section the frames from..end, which the walk has checked.
func (s *Section) take(w *walk, from, end int64) {
	s.position, s.size = from, end-from
	if w.view.moved {
		s.kept = w.kept[:end-from]
	}
}

// Size is the section's length in bytes.
func (s *Section) Size() int64 { return s.size }

// Close lets go of the file. The section cannot be read any more.
func (s *Section) Close() error {
	s.handle.release()
	s.handle, s.kept = nil, nil
	return nil
}

// ReadAll reads the section into memory.
func (s *Section) ReadAll() ([]byte, error) {
	bytes := make([]byte, s.size)
	return bytes, s.ReadInto(bytes)
}

// ReadInto reads the section's first len(bytes) bytes.
func (s *Section) ReadInto(bytes []byte) error {
	if len(bytes) == 0 {
		return nil
	}
	if s.handle == nil {
		return ErrClosed
	}
	if int64(len(bytes)) > s.size {
		return fmt.Errorf("read %d bytes of a section of %d: %w", len(bytes), s.size, ErrOutOfRange)
	}
	if s.kept != nil {
		copy(bytes, s.kept)
		return nil
	}
	n, err := s.handle.file.ReadAt(bytes, s.position)
	if n == len(bytes) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("the log was truncated under its reader: %w", ErrOutOfRange)
	}
	return err
}

// ReadAtOnce is ReadInto for those who must not wait for the node's disk: it reads past it, straight from the operating system's file, and
// reads nothing when there is no such file or anything is wrong with the disk. It tells whether all bytes were read.
func (s *Section) ReadAtOnce(bytes []byte) bool {
	if s.handle == nil || int64(len(bytes)) > s.size {
		return len(bytes) == 0
	}
	file := s.handle.file.OSFile()
	if file == nil {
		return false
	}
	n, _ := file.ReadAt(bytes, s.position)
	return n == len(bytes)
}

// tcpConnection is a connection that lets its socket be written directly while nothing (such as a slowed link) stands in between.
type tcpConnection interface {
	// TCPConn returns nil when the socket must not be written directly.
	TCPConn() *net.TCPConn
}

// WriteTo sends the section to w: by sendfile where w is a TCP connection, through a small buffer otherwise.
func (s *Section) WriteTo(w io.Writer) (int64, error) {
	if s.size == 0 {
		return 0, nil
	}
	if s.handle == nil {
		return 0, ErrClosed
	}
	if s.kept != nil {
		n, err := w.Write(s.kept)
		return int64(n), err
	}
	if file := s.handle.file.OSFile(); file != nil {
		if conn := socketOf(w); conn != nil {
			if n, done, err := sendFile(conn, file, s.position, s.size); done {
				return n, err
			}
		}
	}
	buffer := copyBuffers.Get().(*[copyBuffer]byte)
	defer copyBuffers.Put(buffer)
	return io.CopyBuffer(onlyWriter{w}, io.NewSectionReader(s.handle.file, s.position, s.size), buffer[:])
}

const copyBuffer = 64 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyBuffer]byte) }}

// onlyWriter hides ReadFrom, which would choose a buffer of its own.
type onlyWriter struct{ io.Writer }

func socketOf(w io.Writer) *net.TCPConn {
	switch conn := w.(type) {
	case *net.TCPConn:
		return conn
	case tcpConnection:
		return conn.TCPConn()
	}
	return nil
}
