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

func testCut(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	setLink(t, f, "a", "b", fabric.Link{Cut: true})
	setLink(t, f, "b", "a", fabric.Link{Cut: true})
	write(t, p.a, "there")
	write(t, p.b, "back")
	expectSilence(t, p.b)
	expectSilence(t, p.a)
	setLink(t, f, "a", "b", fabric.Link{})
	setLink(t, f, "b", "a", fabric.Link{})
	write(t, p.a, " and more")
	if got := readN(t, p.b, 14); got != "there and more" {
		t.Fatalf("read %q", got)
	}
	if got := readN(t, p.a, 4); got != "back" {
		t.Fatalf("read %q", got)
	}
}

func testCutOneDirection(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	setLink(t, f, "b", "a", fabric.Link{Cut: true})
	write(t, p.a, "there")
	if got := readN(t, p.b, 5); got != "there" {
		t.Fatalf("read %q", got)
	}
	write(t, p.b, "back")
	expectSilence(t, p.a)
}

func testDialOverCut(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	for _, cut := range [][2]string{{"a", "b"}, {"b", "a"}} {
		setLink(t, f, cut[0], cut[1], fabric.Link{Cut: true})
		ctx, cancel := context.WithTimeout(context.Background(), 40*time.Millisecond)
		c, err := p.viewA.Dial(ctx, p.listener.Addr().String())
		cancel()
		if err == nil {
			c.Close()
			t.Fatal("a dial went through a cut link")
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the dial's error is %v", err)
		}
		setLink(t, f, cut[0], cut[1], fabric.Link{})
	}
}

func testDialHealed(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	setLink(t, f, "a", "b", fabric.Link{Cut: true})
	done := make(chan error, 1)
	go func() {
		c, err := p.viewA.Dial(context.Background(), p.listener.Addr().String())
		if err == nil {
			c.Close()
		}
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("the dial did not wait: %v", err)
	case <-time.After(40 * time.Millisecond):
	}
	setLink(t, f, "a", "b", fabric.Link{})
	check(t, <-done)
}

func testCloseOverCut(t *testing.T, f *fabric.Fabric) {
	for name, end := range map[string]func(p *pair) (survivor net.Conn){
		"dialler closes":   func(p *pair) net.Conn { p.a.Close(); return p.b },
		"dialler crashes":  func(p *pair) net.Conn { p.viewA.Sever(); return p.b },
		"acceptor closes":  func(p *pair) net.Conn { p.b.Close(); return p.a },
		"acceptor crashes": func(p *pair) net.Conn { p.viewB.Sever(); return p.a },
	} {
		p := connect(t, f)
		setLink(t, f, "a", "b", fabric.Link{Cut: true})
		setLink(t, f, "b", "a", fabric.Link{Cut: true})
		survivor := end(p)
		expectSilence(t, survivor)
		setLink(t, f, "a", "b", fabric.Link{})
		setLink(t, f, "b", "a", fabric.Link{})
		check(t, survivor.SetReadDeadline(time.Now().Add(10*time.Second)))
		if _, err := survivor.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("%s: after healing the peer did not see the stream end: %v", name, err)
		}
		p.close()
	}
}

func testCutBounded(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	setLink(t, f, "a", "b", fabric.Link{Cut: true})
	check(t, p.a.SetWriteDeadline(time.Now().Add(60*time.Millisecond)))
	n, err := p.a.Write(make([]byte, 4<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("wrote %d bytes into a cut link, error %v", n, err)
	}
	setLink(t, f, "a", "b", fabric.Link{})
	readN(t, p.b, n)
	expectSilence(t, p.b)
	check(t, p.a.SetWriteDeadline(time.Time{}))
	write(t, p.a, "after")
	if got := readN(t, p.b, 5); got != "after" {
		t.Fatalf("read %q", got)
	}
}

func testDelay(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	const delay = 60 * time.Millisecond
	setLink(t, f, "a", "b", fabric.Link{Delay: delay, Jitter: 5 * time.Millisecond})
	start := time.Now()
	write(t, p.a, "one ")
	write(t, p.a, "two ")
	write(t, p.a, "three")
	if took := time.Since(start); took > delay/2 {
		t.Fatalf("writing waited for the link: %v", took)
	}
	if got := readN(t, p.b, 13); got != "one two three" {
		t.Fatalf("read %q", got)
	}
	if took := time.Since(start); took < delay {
		t.Fatalf("arrived after %v", took)
	}
	setLink(t, f, "a", "b", fabric.Link{})
	setLink(t, f, "b", "a", fabric.Link{Delay: delay})
	start = time.Now()
	write(t, p.b, "answer")
	check(t, p.b.Close())
	check(t, p.a.SetReadDeadline(time.Now().Add(10*time.Second)))
	got, err := io.ReadAll(p.a)
	if string(got) != "answer" || err != nil {
		t.Fatalf("read %q, %v", got, err)
	}
	if took := time.Since(start); took < delay {
		t.Fatalf("arrived after %v", took)
	}
}

func testBandwidth(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	setLink(t, f, "a", "b", fabric.Link{BytesPerSecond: 1 << 20})
	start := time.Now()
	done := make(chan error, 1)
	go func() {
		_, err := p.a.Write(make([]byte, 96<<10))
		done <- err
	}()
	readN(t, p.b, 96<<10)
	check(t, <-done)
	if took := time.Since(start); took < 90*time.Millisecond {
		t.Fatalf("96 KiB at 1 MiB/s took %v", took)
	}
}

func testSever(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	blocked := make(chan error, 2)
	go func() {
		_, err := p.b.Read(make([]byte, 1))
		blocked <- err
	}()
	go func() {
		_, err := p.listener.Accept()
		blocked <- err
	}()
	p.viewB.Sever()
	for range 2 {
		if err := <-blocked; !errors.Is(err, fabric.ErrSevered) || !errors.Is(err, net.ErrClosed) {
			t.Fatalf("a blocked call ended with %v", err)
		}
	}
	check(t, p.a.SetReadDeadline(time.Now().Add(10*time.Second)))
	if _, err := p.a.Read(make([]byte, 1)); err == nil || err == io.EOF || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("the peer was not reset: %v", err)
	}
	if _, err := p.viewB.Listen("127.0.0.1:0"); !errors.Is(err, fabric.ErrSevered) {
		t.Fatalf("listen: %v", err)
	}
	if _, err := p.viewB.Dial(context.Background(), p.listener.Addr().String()); !errors.Is(err, fabric.ErrSevered) {
		t.Fatalf("dial: %v", err)
	}
	if _, err := p.b.Write([]byte("x")); !errors.Is(err, fabric.ErrSevered) {
		t.Fatalf("write: %v", err)
	}
}

func testSeverAndReturn(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	p.viewB.Sever()
	again := f.Of("b")
	l, err := again.Listen(p.listener.Addr().String())
	check(t, err)
	defer again.Sever()
	c, err := p.viewA.Dial(context.Background(), l.Addr().String())
	check(t, err)
	if got := c.(fabric.PeerNamer).PeerNode(); got != "b" {
		t.Fatalf("the peer is %q", got)
	}
}

func testFreeze(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	got := make(chan string, 1)
	go func() {
		buffer := make([]byte, 16)
		n, _ := p.b.Read(buffer) // blocked before the freeze
		got <- string(buffer[:n])
	}()
	p.viewB.Freeze()
	write(t, p.a, "hello")
	wrote := make(chan error, 1)
	go func() {
		_, err := p.b.Write([]byte("answer"))
		wrote <- err
	}()
	select {
	case s := <-got:
		t.Fatalf("a frozen node read %q", s)
	case err := <-wrote:
		t.Fatalf("a frozen node wrote: %v", err)
	case <-time.After(40 * time.Millisecond):
	}
	p.viewB.Thaw()
	if s := <-got; s != "hello" {
		t.Fatalf("read %q", s)
	}
	check(t, <-wrote)
	if s := readN(t, p.a, 6); s != "answer" {
		t.Fatalf("read %q", s)
	}
}

func testSeverFrozen(t *testing.T, f *fabric.Fabric) {
	p := connect(t, f)
	defer p.close()
	p.viewB.Freeze()
	wrote := make(chan error, 1)
	go func() {
		_, err := p.b.Write([]byte("answer"))
		wrote <- err
	}()
	p.viewB.Sever()
	if err := <-wrote; !errors.Is(err, fabric.ErrSevered) {
		t.Fatalf("write: %v", err)
	}
}

func testLinks(t *testing.T, f *fabric.Fabric) {
	setLink(t, f, "b", "a", fabric.Link{Delay: time.Second})
	setLink(t, f, "a", "b", fabric.Link{Cut: true})
	rules := f.Links()
	if len(rules) != 2 || rules[0] != (fabric.Rule{From: "a", To: "b", Link: fabric.Link{Cut: true}}) {
		t.Fatalf("links are %+v", rules)
	}
	setLink(t, f, "b", "a", fabric.Link{})
	setLink(t, f, "a", "b", fabric.Link{})
	if rules := f.Links(); len(rules) != 0 {
		t.Fatalf("healed links are listed: %+v", rules)
	}
	if err := f.SetLink("a", "b", fabric.Link{Delay: -1}); err == nil {
		t.Fatal("a negative delay was taken")
	}
}
