package server_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
)

// rawClient speaks the protocol with nothing in between, so that a test sees each frame and its order.
type rawClient struct {
	conn     net.Conn
	xid      int32
	session  int64
	password []byte
	timeout  int32
	asked    int32 // session timeout to ask for, in milliseconds
}

// frame is what a server sent.
type frame struct {
	xid  int32
	zxid int64
	code int32
	body []byte
}

func dialRaw(address string, session int64, password []byte, lastZxid int64) (*rawClient, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	c := &rawClient{conn: conn, asked: 10000}
	if err := c.connect(session, password, lastZxid); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *rawClient) connect(session int64, password []byte, lastZxid int64) error {
	e := jute.NewEncoder(nil)
	start := e.Frame()
	e.Int(0)
	e.Long(lastZxid)
	e.Int(c.asked)
	e.Long(session)
	if password == nil {
		password = make([]byte, 16)
	}
	e.Buffer(password)
	e.EndFrame(start)
	if _, err := c.conn.Write(e.Bytes()); err != nil {
		return err
	}
	payload, err := c.readPayload()
	if err != nil {
		return err
	}
	d := jute.NewDecoder(payload)
	d.Int()
	c.timeout, c.session, c.password = d.Int(), d.Long(), d.Buffer()
	return d.Err()
}

func (c *rawClient) readPayload() ([]byte, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(patience))
	var length [4]byte
	if _, err := io.ReadFull(c.conn, length[:]); err != nil {
		return nil, err
	}
	payload := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(c.conn, payload)
	return payload, err
}

func (c *rawClient) read() (frame, error) {
	payload, err := c.readPayload()
	if err != nil {
		return frame{}, err
	}
	d := jute.NewDecoder(payload)
	f := frame{xid: d.Int(), zxid: d.Long(), code: d.Int(), body: d.Rest()}
	return f, d.Err()
}

// send sends a request and does not wait.
func (c *rawClient) send(op protocol.Op, body []byte) (xid int32, err error) {
	xid = c.xid + 1
	if op == protocol.OpPing {
		xid = protocol.XidPing
	} else {
		c.xid = xid
	}
	e := jute.NewEncoder(nil)
	start := e.Frame()
	e.Int(xid)
	e.Int(int32(op))
	e.Raw(body)
	e.EndFrame(start)
	_, err = c.conn.Write(e.Bytes())
	return xid, err
}

// call sends a request and reads up to its answer; events that came before it are returned too.
func (c *rawClient) call(op protocol.Op, body []byte) (answer frame, events []frame, err error) {
	xid, err := c.send(op, body)
	if err != nil {
		return frame{}, nil, err
	}
	for {
		f, err := c.read()
		if err != nil {
			return frame{}, events, fmt.Errorf("%v: %w", op, err)
		}
		if f.xid == protocol.XidNotification {
			events = append(events, f)
			continue
		}
		if f.xid != xid {
			return f, events, fmt.Errorf("%v: answer to %d, want %d", op, f.xid, xid)
		}
		return f, events, nil
	}
}

func record(write func(*jute.Encoder)) []byte {
	e := jute.NewEncoder(nil)
	write(e)
	return e.Bytes()
}
