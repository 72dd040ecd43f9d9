package clienttrace_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/clienttrace"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// messages are those that a tracer has recorded, requests and answers apart.
func messages(tracer *trace.Tracer) (sent, received []trace.Message) {
	for _, record := range tracer.Drain(nil) {
		switch event := record.Data.(type) {
		case trace.MessageSent:
			sent = append(sent, event.Message)
		case trace.MessageReceived:
			received = append(received, event.Message)
		}
	}
	isClose := func(m trace.Message) bool { return m.Name == "closeSession" } // its answer may find the connection closed
	return slices.DeleteFunc(sent, isClose), slices.DeleteFunc(received, isClose)
}

// TestBothEndsTellTheSame: what the client's end records of a session is what the server's end does.
func TestBothEndsTellTheSame(t *testing.T) {
	const address = "10.0.0.1:2181"
	memory := fabric.NewMemory()
	ours, theirs := trace.NewTracer("run", "kafka-1", 1000), trace.NewTracer("run", "ensemble-1", 1000)
	ensemble, err := server.New(server.Config{ID: 1, ClientAddress: address, Network: memory.Of("ensemble-1"), Disk: disk.NewMemory(), Tracer: theirs})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- ensemble.Run(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	<-ensemble.Ready()

	network := clienttrace.Network(memory.Of("kafka-1"), []string{address}, ours)
	dial := func(_, address string, _ time.Duration) (net.Conn, error) { return network.Dial(ctx, address) }
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithDialer(dial), zk.WithLogger(quiet{}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Create("/a", bytes.Repeat([]byte("x"), 100_000), 0, zk.WorldACL(zk.PermAll)); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := conn.GetW("/a"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Set("/a", nil, 7); err != zk.ErrBadVersion {
		t.Fatal(err)
	}
	if _, err := conn.Multi(&zk.SetDataRequest{Path: "/a", Version: 0}, &zk.DeleteRequest{Path: "/a", Version: 1}); err != nil {
		t.Fatal(err)
	}
	conn.Close()

	sent, received := messages(ours)
	answers, requests := messages(theirs)
	if !slices.Equal(sent, requests) || len(sent) != 4 {
		t.Errorf("the client sent\n%+v\nand the server received\n%+v", sent, requests)
	}
	if !slices.Equal(received, answers) || len(received) != 4 {
		t.Errorf("the server sent\n%+v\nand the client received\n%+v", answers, received)
	}
	if create := sent[0]; create.Name != "create" || create.Subject != "/a" || create.From != "kafka-1" || create.To != "ensemble-1" || create.Bytes < 100_000 {
		t.Errorf("the first request is %+v", create)
	}
}

// pipe is a network whose connections come out of one end of a pipe; the test has the other.
type pipe struct {
	fabric.Network
	conn net.Conn
}

type named struct{ net.Conn }

func (named) PeerNode() string { return "ensemble-1" }

func (p pipe) Node() string                                   { return "kafka-1" }
func (p pipe) Dial(context.Context, string) (net.Conn, error) { return named{p.conn}, nil }

// FuzzConnection: whatever bytes go through a connection, however cut, they arrive as they are, and nothing but whole requests is recorded.
func FuzzConnection(f *testing.F) {
	frame := func(body string) string { return string(binary.BigEndian.AppendUint32(nil, uint32(len(body)))) + body }
	get := frame("\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x02/a\x00")
	f.Add(frame("connect")+get+frame("")+get, 3)
	f.Add(frame("connect")+"\xff\xff\xff\xff"+get, 1)
	f.Add(frame("connect")+frame("\x00\x00\x00\x02\x00\x00\x00\x01"+strings.Repeat("x", 10_000))+get, 4096)
	f.Fuzz(func(t *testing.T, stream string, cut int) {
		cut = max(1, cut)
		near, far := net.Pipe()
		tracer := trace.NewTracer("run", "kafka-1", 1<<16)
		conn, err := clienttrace.Network(pipe{conn: near}, []string{"it"}, tracer).Dial(t.Context(), "it")
		if err != nil {
			t.Fatal(err)
		}
		arrived := make(chan string)
		go func() {
			var all bytes.Buffer
			_, _ = all.ReadFrom(far)
			arrived <- all.String()
		}()
		for piece := range slices.Chunk([]byte(stream), cut) {
			if _, err := conn.Write(piece); err != nil {
				t.Fatal(err)
			}
		}
		conn.Close()
		if got := <-arrived; got != stream {
			t.Fatalf("%q arrived as %q", stream, got)
		}
		sent, _ := messages(tracer)
		for _, message := range sent {
			if message.Bytes < 12 || message.Bytes > int64(len(stream)) {
				t.Fatalf("of %d bytes a request of %d was recorded", len(stream), message.Bytes)
			}
		}
	})
}
