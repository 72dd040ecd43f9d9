package commitlog

import (
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxSendFile bounds one sendfile call, so that a slow receiver's deadline is looked at between calls.
const maxSendFile = 4 << 20

// sendFile moves file[position:position+size] to the socket inside the kernel. It gives the offset with each call and so never moves
// the file's own offset: one open file serves any number of readers. done is false when nothing was sent and the caller should copy.
func sendFile(conn *net.TCPConn, file *os.File, position, size int64) (sent int64, done bool, err error) {
	socket, err := conn.SyscallConn()
	if err != nil {
		return 0, false, nil
	}
	t := transfers.Get().(*transfer)
	defer transfers.Put(t)
	t.file, t.position, t.size, t.sent, t.err = int(file.Fd()), position, size, 0, nil
	if err = socket.Write(t.step); err == nil {
		err = t.err
	}
	return t.sent, t.sent > 0 || err == nil, err
}

// transfer is one sendFile under way. They are kept, with their step bound, so that sending a section does not allocate them.
type transfer struct {
	file           int
	position, size int64
	sent           int64
	err            error
	step           func(socket uintptr) bool
}

var transfers = sync.Pool{New: func() any {
	t := &transfer{}
	t.step = t.send
	return t
}}

// send sends while the socket takes more; false: wait until it does.
func (t *transfer) send(socket uintptr) bool {
	for t.sent < t.size {
		at := t.position + t.sent
		n, err := unix.Sendfile(int(socket), t.file, &at, int(min(t.size-t.sent, maxSendFile)))
		if n > 0 {
			t.sent += int64(n)
		}
		switch {
		case err == unix.EAGAIN:
			return false
		case err == unix.EINTR:
		case err != nil:
			t.err = os.NewSyscallError("sendfile", err)
			return true
		case n == 0:
			t.err = io.ErrUnexpectedEOF // truncated under the reader
			return true
		}
	}
	return true
}
