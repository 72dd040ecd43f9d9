package fabric_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/fabric"
)

// contract is what every fabric keeps, over TCP and in memory. Each test gets a fresh fabric.
var contract = []struct {
	name string
	test func(t *testing.T, f *fabric.Fabric)
}{
	{"bytes arrive in order in both directions", testOrder},
	{"both ends know each other's node", testPeerNode},
	{"a refused dial says so", testRefused},
	{"a closed end gives EOF after what was written", testEOF},
	{"a read deadline ends a read and can be moved", testReadDeadline},
	{"a cut stalls the stream and healing lets it go on", testCut},
	{"a cut of one direction leaves the other alone", testCutOneDirection},
	{"a dial over a cut link ends with its context", testDialOverCut},
	{"a dial over a cut link goes on when it heals", testDialHealed},
	{"a close over a cut link is not seen before it heals", testCloseOverCut},
	{"a write over a cut link stops when the buffers are full", testCutBounded},
	{"delay holds back, in order", testDelay},
	{"a slow link has its bandwidth", testBandwidth},
	{"severed connections are reset and calls fail", testSever},
	{"a severed node's address can be listened on again", testSeverAndReturn},
	{"a frozen node neither answers nor loses anything", testFreeze},
	{"a frozen node can be severed", testSeverFrozen},
	{"links are listed while they are not healthy", testLinks},
}

func TestTCP(t *testing.T)    { runContract(t, fabric.NewTCP) }
func TestMemory(t *testing.T) { runContract(t, fabric.NewMemory) }

func runContract(t *testing.T, newFabric func() *fabric.Fabric) {
	for _, c := range contract {
		t.Run(c.name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			c.test(t, newFabric())
		})
	}
}

// pair is a connection from node "a" to node "b" whose acceptor has read the first byte.
type pair struct {
	viewA, viewB *fabric.View
	a, b         net.Conn
	listener     net.Listener
}

func connect(t *testing.T, f *fabric.Fabric) *pair {
	t.Helper()
	p := &pair{viewA: f.Of("a"), viewB: f.Of("b")}
	var err error
	p.listener, err = p.viewB.Listen("127.0.0.1:0")
	check(t, err)
	p.a, err = p.viewA.Dial(context.Background(), p.listener.Addr().String())
	check(t, err)
	p.b, err = p.listener.Accept()
	check(t, err)
	_, err = p.a.Write([]byte{'!'})
	check(t, err)
	if got := readN(t, p.b, 1); got != "!" {
		t.Fatalf("first byte is %q", got)
	}
	return p
}

func (p *pair) close() {
	p.viewA.Sever()
	p.viewB.Sever()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readN(t *testing.T, c net.Conn, n int) string {
	t.Helper()
	check(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	buffer := make([]byte, n)
	_, err := io.ReadFull(c, buffer)
	check(t, err)
	return string(buffer)
}

func write(t *testing.T, c net.Conn, s string) {
	t.Helper()
	_, err := io.WriteString(c, s)
	check(t, err)
}

// expectSilence fails when something can be read within a short while.
func expectSilence(t *testing.T, c net.Conn) {
	t.Helper()
	check(t, c.SetReadDeadline(time.Now().Add(40*time.Millisecond)))
	n, err := c.Read(make([]byte, 1))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("expected silence, read %d bytes, error %v", n, err)
	}
}

func setLink(t *testing.T, f *fabric.Fabric, from, to string, rule fabric.Link) {
	t.Helper()
	check(t, f.SetLink(from, to, rule))
}

func testOrder(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	sent := make([]byte, 3<<20)
	for i := range sent {
		sent[i] = byte(i * 7 >> 3)
	}
	for _, ends := range [][2]net.Conn{{p.a, p.b}, {p.b, p.a}} {
		done := make(chan error, 1)
		go func() {
			_, err := ends[0].Write(sent)
			done <- err
		}()
		got := readN(t, ends[1], len(sent))
		check(t, <-done)
		if !bytes.Equal([]byte(got), sent) {
			t.Fatal("the bytes differ")
		}
	}
}

func testPeerNode(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	if got := p.a.(fabric.PeerNamer).PeerNode(); got != "b" {
		t.Errorf("the dialler knows its peer as %q", got)
	}
	if got := p.b.(fabric.PeerNamer).PeerNode(); got != "a" {
		t.Errorf("the acceptor knows its peer as %q", got)
	}
}

func testRefused(t *testing.T, f *fabric.Fabric) {
	l, err := f.Of("b").Listen("127.0.0.1:0")
	check(t, err)
	check(t, l.Close())
	if c, err := f.Of("a").Dial(context.Background(), l.Addr().String()); err == nil {
		c.Close()
		t.Fatal("a dial to nobody succeeded")
	}
}

func testEOF(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	write(t, p.a, "last words")
	check(t, p.a.Close())
	check(t, p.b.SetReadDeadline(time.Now().Add(10*time.Second)))
	got, err := io.ReadAll(p.b)
	if string(got) != "last words" || err != nil {
		t.Fatalf("read %q, %v", got, err)
	}
	if _, err := p.a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("write after close: %v", err)
	}
	if err := p.a.Close(); !errors.Is(err, net.ErrClosed) {
		t.Fatalf("second close: %v", err)
	}
}

func testReadDeadline(t *testing.T, f *fabric.Fabric) {
	for _, rule := range []fabric.Link{{}, {Delay: time.Microsecond}} {
		p := connect(t, f)
		setLink(t, f, "b", "a", rule)
		expectSilence(t, p.a)
		done := make(chan error, 1)
		check(t, p.a.SetReadDeadline(time.Time{}))
		go func() {
			_, err := p.a.Read(make([]byte, 1))
			done <- err
		}()
		check(t, p.a.SetReadDeadline(time.Unix(1, 0)))
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("rule %+v: %v", rule, err)
		}
		write(t, p.b, "after")
		if got := readN(t, p.a, 5); got != "after" {
			t.Fatalf("read %q", got)
		}
		p.close()
		setLink(t, f, "b", "a", fabric.Link{})
	}
}
