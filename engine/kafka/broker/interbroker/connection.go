// Package interbroker is how one broker asks another: LeaderAndIsr and UpdateMetadata from the controller, Fetch from followers,
// AlterPartition and ControlledShutdown to the controller. It speaks the same protocol as any client.
package interbroker

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/trace"
)

// Config is what a Connection needs.
type Config struct {
	Network fabric.Network
	Tracer  *trace.Tracer
	// Broker is the id of the broker at the other end, Address where it listens for brokers.
	Broker  int32
	Address string
	// ClientID is sent with every request, such as "broker-2-fetcher-0".
	ClientID string
	// TopicNames may be nil.
	TopicNames reactor.TopicNamer
}

// NodeName is the node name of a broker id: "kafka-2".
func NodeName(broker int32) string { return "kafka-" + strconv.Itoa(int(broker)) }

// maxResponse bounds a response, in bytes.
const maxResponse = 128 << 20

// Connection asks one broker, one request at a time, over one stream that is opened when needed and again after an error. A caller that
// gets an error decides itself when to try again. Do may be called from any goroutine; calls queue up.
type Connection struct {
	config Config

	turn chan struct{} // holds one token: the right to use what is below

	conn          net.Conn
	reader        *bufio.Reader
	name          string
	correlationID int32

	mu     sync.Mutex
	closed bool
	active net.Conn // what Close closes
}

// NewConnection opens nothing yet.
func NewConnection(config Config) *Connection {
	c := &Connection{config: config, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	return c
}

// Broker is the id of the broker at the other end.
func (c *Connection) Broker() int32 { return c.config.Broker }

// Address is where the broker at the other end listens.
func (c *Connection) Address() string { return c.config.Address }

var errClosed = errors.New("the connection was closed")

// Do sends a request, whose version the caller has set, and waits for its response until the context ends. After an error the request
// may or may not have been carried out.
func (c *Connection) Do(ctx context.Context, request kmsg.Request) (kmsg.Response, error) {
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	response, err := c.exchange(ctx, request)
	if err != nil {
		c.drop()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("%s to broker %d at %s: %w", kmsg.NameForKey(request.Key()), c.config.Broker, c.config.Address, err)
	}
	return response, nil
}

func (c *Connection) exchange(ctx context.Context, request kmsg.Request) (kmsg.Response, error) {
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	conn := c.conn
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	c.correlationID++
	exchange := trace.Exchange{Connection: c.name, Correlation: int64(c.correlationID)}
	note := reactor.DescribeRequest(request)
	frame := appendRequest(nil, request, c.correlationID, c.config.ClientID)
	var sent trace.Ref
	if !note.Skip {
		event := note.Sent(exchange, c.config.Tracer.Node(), NodeName(c.config.Broker), request.Key(), int64(len(frame)))
		sent = c.config.Tracer.EmitMessage(trace.Ref{}, event, trace.Frame{Kind: request.Key(), Version: request.GetVersion(), Head: frame})
	}
	if _, err := conn.Write(frame); err != nil {
		return nil, err
	}
	response, answer, err := c.receive(request)
	if err != nil {
		return nil, err
	}
	c.config.TopicNames.NameResponse(response)
	if note = reactor.DescribeResponse(response, note); !note.Skip {
		exchange.Response = true
		event := note.Received(exchange, NodeName(c.config.Broker), c.config.Tracer.Node(), request.Key(), int64(len(answer)))
		c.config.Tracer.EmitMessage(sent, event, trace.Frame{Kind: request.Key(), Version: request.GetVersion(), Head: answer})
	}
	return response, nil
}

func (c *Connection) open(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := c.config.Network.Dial(ctx, c.config.Address)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return errClosed
	}
	c.conn, c.active = conn, conn
	c.reader = bufio.NewReaderSize(conn, 64<<10)
	c.name = trace.Connection(conn.LocalAddr(), conn.RemoteAddr())
	return nil
}

// drop closes the stream, so that a late response is never taken for the next one's.
func (c *Connection) drop() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// Close ends the connection for good; a Do that waits fails.
func (c *Connection) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.active != nil {
		c.active.Close()
	}
}

// appendRequest encodes size, header and body.
func appendRequest(dst []byte, request kmsg.Request, correlationID int32, clientID string) []byte {
	dst = append(dst, 0, 0, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(request.Key()))
	dst = binary.BigEndian.AppendUint16(dst, uint16(request.GetVersion()))
	dst = binary.BigEndian.AppendUint32(dst, uint32(correlationID))
	if request.Key() != int16(kmsg.ControlledShutdown) || request.GetVersion() > 0 {
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(clientID)))
		dst = append(dst, clientID...)
	}
	if request.IsFlexible() {
		dst = append(dst, 0)
	}
	dst = request.AppendTo(dst)
	binary.BigEndian.PutUint32(dst, uint32(len(dst)-4))
	return dst
}

// receive reads the answer to a request; frame is all of its bytes.
func (c *Connection) receive(request kmsg.Request) (response kmsg.Response, frame []byte, err error) {
	var prefix [4]byte
	if _, err := io.ReadFull(c.reader, prefix[:]); err != nil {
		return nil, nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(prefix[:])))
	if size < 4 || size > maxResponse {
		return nil, nil, fmt.Errorf("a response of %d bytes", size)
	}
	frame = append(make([]byte, 0, 4+size), prefix[:]...)[:4+size]
	if _, err := io.ReadFull(c.reader, frame[4:]); err != nil {
		return nil, nil, err
	}
	if got := int32(binary.BigEndian.Uint32(frame[4:])); got != c.correlationID {
		return nil, nil, fmt.Errorf("a response to request %d while %d waits", got, c.correlationID)
	}
	body := frame[8:]
	response = request.ResponseKind()
	response.SetVersion(request.GetVersion())
	if response.IsFlexible() && request.Key() != int16(kmsg.ApiVersions) {
		if len(body) == 0 || body[0] != 0 {
			return nil, nil, errors.New("a response header with tags that are not known")
		}
		body = body[1:]
	}
	if err := response.ReadFrom(body); err != nil {
		return nil, nil, fmt.Errorf("the response cannot be read: %w", err)
	}
	return response, frame, nil
}
