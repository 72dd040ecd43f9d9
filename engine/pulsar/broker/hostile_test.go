package broker

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// rawClient speaks the protocol by hand.
type rawClient struct {
	t      *testing.T
	conn   net.Conn
	frames *frameReader
}

func (c *classroom) dial(id int) *rawClient {
	c.t.Helper()
	return c.dialAddress(strings.TrimPrefix(c.brokers[id].urls.pulsar, "pulsar://"))
}

func (c *classroom) dialAddress(address string) *rawClient {
	c.t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	return &rawClient{t: c.t, conn: conn, frames: newFrameReader(conn, 5<<20)}
}

func (r *rawClient) send(command *pulsarpb.BaseCommand, payload []byte) {
	r.t.Helper()
	head, err := frameHead(command, len(payload))
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.conn.Write(append(head, payload...)); err != nil {
		r.t.Fatal(err)
	}
}

// next reads the next command that is no PING.
func (r *rawClient) next() *pulsarpb.BaseCommand {
	r.t.Helper()
	for {
		command, _, _, err := r.frames.next()
		if err != nil {
			r.t.Fatalf("reading from the broker: %v", err)
		}
		if command.GetType() != pulsarpb.BaseCommand_PING {
			return command
		}
	}
}

func (r *rawClient) connect() *pulsarpb.CommandConnected {
	r.t.Helper()
	r.send(&pulsarpb.BaseCommand{
		Type:    pulsarpb.BaseCommand_CONNECT.Enum(),
		Connect: &pulsarpb.CommandConnect{ClientVersion: proto.String("raw"), ProtocolVersion: proto.Int32(15)},
	}, nil)
	connected := r.next().GetConnected()
	if connected == nil {
		r.t.Fatal("no CONNECTED")
	}
	return connected
}

func (r *rawClient) expectClosed(why string) {
	r.t.Helper()
	for {
		_, _, _, err := r.frames.next()
		if err == nil {
			continue
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			r.t.Errorf("%s: the connection stays open", why)
		}
		return
	}
}

func (r *rawClient) lookup(topic string) {
	r.send(&pulsarpb.BaseCommand{
		Type:        pulsarpb.BaseCommand_LOOKUP.Enum(),
		LookupTopic: &pulsarpb.CommandLookupTopic{Topic: proto.String(topic), RequestId: proto.Uint64(1)},
	}, nil)
}

func TestHandshake(t *testing.T) {
	c := newClassroom(t, 1)
	connected := c.dial(1).connect()
	if connected.GetProtocolVersion() != 15 || connected.GetMaxMessageSize() != 1<<20 || connected.GetFeatureFlags().GetSupportsTopicWatchers() {
		t.Errorf("%v", connected)
	}
	early := c.dial(1)
	early.lookup("t")
	early.expectClosed("a command before CONNECT")
}

func TestHostileInput(t *testing.T) {
	c := newClassroom(t, 1)
	for name, raw := range map[string][]byte{
		"an HTTP request": []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"a huge length":   {0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1},
		"zeros":           bytes.Repeat([]byte{0}, 64),
	} {
		r := c.dial(1)
		r.connect()
		if _, err := r.conn.Write(raw); err != nil {
			t.Fatal(err)
		}
		r.expectClosed(name)
	}
	r := c.dial(1)
	r.connect()
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_LOOKUP.Enum()}, nil)
	r.expectClosed("a command without its body")
	r = c.dial(1)
	r.connect()
	r.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SUCCESS.Enum(), Success: &pulsarpb.CommandSuccess{RequestId: proto.Uint64(1)}}, nil)
	r.expectClosed("a command that only brokers send")
	// The broker still serves.
	r = c.dial(1)
	r.connect()
	r.lookup("persistent://public/default/t")
	if answer := r.next().GetLookupTopicResponse(); answer.GetResponse() != pulsarpb.CommandLookupTopicResponse_Connect {
		t.Errorf("%v", answer)
	}
	r.lookup("persistent://nobody/nowhere/t")
	if answer := r.next().GetLookupTopicResponse(); answer.GetError() != pulsarpb.ServerError_MetadataError || answer.Message == nil {
		t.Errorf("a namespace that does not exist: %v", answer)
	}
	r.lookup("http://bad")
	if answer := r.next().GetLookupTopicResponse(); answer.GetError() != pulsarpb.ServerError_InvalidTopicName {
		t.Errorf("a bad name: %v", answer)
	}
}

func (r *rawClient) producer(topic string, id uint64) *pulsarpb.BaseCommand {
	r.send(&pulsarpb.BaseCommand{
		Type:     pulsarpb.BaseCommand_PRODUCER.Enum(),
		Producer: &pulsarpb.CommandProducer{Topic: proto.String(topic), ProducerId: proto.Uint64(id), RequestId: proto.Uint64(2)},
	}, nil)
	return r.next()
}

// A broker that does not own the bundle refuses, with the words that clients rely on; after a lookup it serves.
func TestProducerNeedsTheOwner(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/owned"
	r := c.dial(1)
	r.connect()
	refusal := r.producer(topic, 1).GetError()
	if refusal.GetError() != pulsarpb.ServerError_ServiceNotReady || !strings.Contains(refusal.GetMessage(), "not served by this instance") || !strings.Contains(refusal.GetMessage(), "Please redo the lookup") {
		t.Fatalf("%v", refusal)
	}
	r.lookup(topic)
	r.next()
	success := r.producer(topic, 1).GetProducerSuccess()
	if success == nil || success.SchemaVersion == nil || success.GetLastSequenceId() != -1 || !strings.HasPrefix(success.GetProducerName(), "standalone-") {
		t.Fatalf("%v", success)
	}
	again := r.producer(topic, 1).GetProducerSuccess()
	if again.GetProducerName() != success.GetProducerName() {
		t.Errorf("the same producer again: %v", again)
	}
}

func TestChecksumIsVerified(t *testing.T) {
	c := newClassroom(t, 1)
	const topic = "persistent://public/default/sums"
	r := c.dial(1)
	r.connect()
	r.lookup(topic)
	r.next()
	r.producer(topic, 1)
	message := sealed(t, someMetadata(), []byte("hello"))
	send := &pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(7)}}
	r.send(send, message)
	if receipt := r.next().GetSendReceipt(); receipt.GetSequenceId() != 7 || receipt.GetMessageId().GetEntryId() != 0 {
		t.Fatalf("%v", receipt)
	}
	broken := bytes.Clone(message)
	broken[len(broken)-1] ^= 1
	r.send(send, broken)
	if refusal := r.next().GetSendError(); refusal.GetError() != pulsarpb.ServerError_ChecksumError {
		t.Errorf("%v", refusal)
	}
	r.send(send, []byte{0x0e, 0x01, 0})
	r.expectClosed("a message that is cut off")
}

func TestSilentClientIsDropped(t *testing.T) {
	c := newClassroom(t, 0)
	c.start(1, func(config *Config) { config.KeepAlive = 100 * time.Millisecond })
	silent := c.dial(1)
	silent.connect()
	if _, err := io.Copy(io.Discard, silent.conn); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a client that answers no PING stays connected")
	}
	mute := c.dial(1)
	mute.expectClosed("a client that sends no CONNECT")
	lively := c.dial(1)
	lively.connect()
	for range 10 {
		command, _, _, err := lively.frames.next()
		if err != nil {
			t.Fatalf("a client that answers is dropped: %v", err)
		}
		if command.GetType() == pulsarpb.BaseCommand_PING {
			lively.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_PONG.Enum(), Pong: &pulsarpb.CommandPong{}}, nil)
		}
	}
}
