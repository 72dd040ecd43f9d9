package reactor

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// connection serves one client: read a request, queue it, wait for its answer, write it, read the next one.
type connection struct {
	server   *Server
	listener string
	conn     net.Conn
	reader   *bufio.Reader
	peer     string
	name     string // for the trace
	host     string
}

func newConnection(server *Server, listener string, conn net.Conn) *connection {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		host = conn.RemoteAddr().String()
	}
	return &connection{
		server: server, listener: listener, conn: conn, reader: bufio.NewReaderSize(conn, 4096),
		name: trace.Connection(conn.RemoteAddr(), conn.LocalAddr()), host: "/" + host,
	}
}

// serve runs until the client leaves, misbehaves or the server stops.
func (c *connection) serve() {
	defer c.conn.Close()
	for {
		if err := c.serveOne(); err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				c.server.logger.Debug("a connection ends", "peer", c.peer, "address", c.host, "reason", err)
			}
			return
		}
	}
}

func (c *connection) serveOne() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(c.server.config.IdleTimeout)); err != nil {
		return err
	}
	frame, err := readFrame(c.reader, c.server.config.MaxRequestBytes)
	if err != nil {
		return err
	}
	request, unsupported, err := c.decode(frame)
	if err != nil {
		return err
	}
	if unsupported {
		return c.write(request, answer{body: c.server.table.unsupportedApiVersions()}, Note{Skip: true})
	}
	c.server.config.TopicNames.NameRequest(request.Body)
	note := DescribeRequest(request.Body)
	if !note.Skip {
		received := note.Received(request.Exchange, c.peer, c.server.tracer.Node(), request.Key, request.Size)
		size := binary.BigEndian.AppendUint32(make([]byte, 0, 4), uint32(len(frame)))
		request.Cause = c.server.tracer.EmitMessage(trace.Ref{}, received, trace.Frame{Kind: request.Key, Version: request.Version, Head: size, Body: frame})
	}
	request.common = note.Skip
	select {
	case c.server.queue <- request: // a full queue holds this client back, and with it all that it sends
		c.server.gauge.queued(request, len(c.server.queue))
	case <-c.server.stopping:
		return net.ErrClosed
	}
	select {
	case a := <-request.answer:
		defer a.close()
		return c.write(request, a, note)
	case <-c.server.stopping:
		request.abandon()
		return net.ErrClosed
	}
}

// decode turns a frame into a request. Unsupported means an ApiVersions request of an unknown version, the one case in which a client is
// told; every other request of an unknown API or version ends the connection, as in Kafka.
func (c *connection) decode(frame []byte) (request *Request, unsupported bool, err error) {
	head, err := parseHeader(frame)
	if err != nil {
		return nil, false, err
	}
	if c.peer == "" {
		c.peer = peerOf(c.conn)
	}
	request = &Request{
		Key: head.key, Version: head.version, CorrelationID: head.correlationID,
		Peer: c.peer, Listener: c.listener, ClientHost: c.host, Received: time.Now(), Size: int64(len(frame)) + 4,
		Exchange:   trace.Exchange{Connection: c.name, Correlation: int64(head.correlationID)},
		connection: c, answer: make(chan answer, 1),
	}
	api, found := c.server.table.Find(head.key)
	if !found {
		return nil, false, fmt.Errorf("API key %d is not served", head.key)
	}
	if head.version < api.Min || head.version > api.Max {
		if api.Key == kmsg.ApiVersions {
			return request, true, nil
		}
		return nil, false, fmt.Errorf("%s version %d is not served (%d to %d are)", api.Key.Name(), head.version, api.Min, api.Max)
	}
	if api.Key != kmsg.Produce && len(frame) > maxControlFrameSize {
		return nil, false, fmt.Errorf("%s of %d bytes: %w", api.Key.Name(), len(frame), errFrameSize)
	}
	request.Body = kmsg.RequestForKey(head.key)
	request.Body.SetVersion(head.version)
	if err := head.parseRest(request.Body.IsFlexible()); err != nil {
		return nil, false, err
	}
	request.ClientID = head.clientID
	if err := readBody(request.Body, head.body); err != nil {
		return nil, false, fmt.Errorf("the body of %s cannot be read: %w", request, err)
	}
	return request, false, nil
}

// write sends an answer. Nothing is written for a request without response.
func (c *connection) write(request *Request, a answer, requestNote Note) error {
	if a.disconnect != nil {
		return fmt.Errorf("%s: %w", request, a.disconnect)
	}
	note := a.note
	if a.body != nil {
		a.body.SetVersion(request.Version)
		if request.Body == nil { // an unsupported ApiVersions
			a.body.SetVersion(0)
		}
		a.payload = &Payload{}
		a.payload.AppendBytes(a.body.AppendTo(nil))
		note = DescribeResponse(a.body, requestNote)
	}
	if a.payload == nil {
		return nil
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.server.config.IdleTimeout)); err != nil {
		return err
	}
	flexible := request.Body != nil && request.Body.IsFlexible()
	head := responseHeader(request.Key, request.CorrelationID, flexible, a.payload.Size())
	if !note.Skip {
		exchange := request.Exchange
		exchange.Response = true
		sent := note.Sent(exchange, c.server.tracer.Node(), c.peer, request.Key, int64(len(head))+a.payload.Size())
		c.server.tracer.EmitMessage(request.Cause, sent, trace.Frame{Kind: request.Key, Version: request.Version, Head: head, More: a.payload.copyBeginning})
	}
	if len(a.payload.parts) > 0 && a.payload.parts[0].section == nil { // one packet for header and small bodies
		a.payload.parts[0].bytes = append(head, a.payload.parts[0].bytes...)
	} else if _, err := c.conn.Write(head); err != nil {
		return err
	}
	return a.payload.writeTo(c.conn)
}

func peerOf(conn net.Conn) string {
	if named, ok := conn.(fabric.PeerNamer); ok {
		return named.PeerNode()
	}
	return fabric.Client
}
