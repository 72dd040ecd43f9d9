package commitlog

import (
	"io"
	"net"
	"os"

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
	fileFD := int(file.Fd())
	var sendErr error
	err = socket.Write(func(fd uintptr) bool {
		for sent < size {
			at := position + sent
			n, e := unix.Sendfile(int(fd), fileFD, &at, int(min(size-sent, maxSendFile)))
			if n > 0 {
				sent += int64(n)
			}
			switch {
			case e == unix.EAGAIN:
				return false // wait until the socket takes more
			case e == unix.EINTR:
			case e != nil:
				sendErr = os.NewSyscallError("sendfile", e)
				return true
			case n == 0:
				sendErr = io.ErrUnexpectedEOF // truncated under the reader
				return true
			}
		}
		return true
	})
	if err == nil {
		err = sendErr
	}
	return sent, sent > 0 || err == nil, err
}
