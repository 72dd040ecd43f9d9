package fabric_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/fabric"
)

// A student's own program knows nothing of the fabric, so the node's end shapes both directions.
func TestClientFromOutside(t *testing.T) {
	defer goleak.VerifyNone(t)
	f := fabric.NewTCP()
	view := f.Of("b")
	defer view.Sever()
	l, err := view.Listen("127.0.0.1:0")
	check(t, err)
	outside, err := net.Dial("tcp", l.Addr().String())
	check(t, err)
	defer outside.Close()
	inside, err := l.Accept()
	check(t, err)
	write(t, outside, "hi")
	if got := readN(t, inside, 2); got != "hi" {
		t.Fatalf("read %q", got)
	}
	if got := inside.(fabric.PeerNamer).PeerNode(); got != fabric.Client {
		t.Fatalf("the peer is %q", got)
	}
	setLink(t, f, fabric.Client, "b", fabric.Link{Cut: true})
	setLink(t, f, "b", fabric.Client, fabric.Link{Cut: true})
	write(t, outside, "there")
	write(t, inside, "back")
	expectSilence(t, inside)
	expectSilence(t, outside)
	setLink(t, f, fabric.Client, "b", fabric.Link{})
	setLink(t, f, "b", fabric.Client, fabric.Link{})
	if got := readN(t, inside, 5) + readN(t, outside, 4); got != "thereback" {
		t.Fatalf("read %q", got)
	}
}

// Two fabrics, as in two containers: each end shapes what it writes, so that a rule set in both is applied once.
func TestNodesInTwoProcesses(t *testing.T) {
	defer goleak.VerifyNone(t)
	here, there := fabric.NewTCP(), fabric.NewTCP()
	a, b := here.Of("a"), there.Of("b")
	defer a.Sever()
	defer b.Sever()
	l, err := b.Listen("127.0.0.1:0")
	check(t, err)
	here.Know(l.Addr().String(), "b")
	there.Know("127.0.0.1", "a")
	near, err := a.Dial(context.Background(), l.Addr().String())
	check(t, err)
	far, err := l.Accept()
	check(t, err)
	write(t, near, "!")
	readN(t, far, 1)
	if got := near.(fabric.PeerNamer).PeerNode() + far.(fabric.PeerNamer).PeerNode(); got != "ba" {
		t.Fatalf("the peers are %q", got)
	}
	const delay = 300 * time.Millisecond
	for _, f := range []*fabric.Fabric{here, there} {
		setLink(t, f, "a", "b", fabric.Link{Delay: delay})
		setLink(t, f, "b", "a", fabric.Link{Cut: true})
	}
	// Delayed once, not by both sides: then none would be as fast, whatever else the machine does.
	fastest := time.Hour
	for tries := 0; tries < 10 && fastest >= 2*delay; tries++ {
		start := time.Now()
		write(t, near, "x")
		readN(t, far, 1)
		fastest = min(fastest, time.Since(start))
		if fastest < delay {
			break
		}
	}
	if fastest < delay || fastest >= 2*delay {
		t.Fatalf("a delay of %v took %v", delay, fastest)
	}
	write(t, far, "y")
	expectSilence(t, near)
}

// A listener on all addresses is known by its port.
func TestListenerOnAllAddresses(t *testing.T) {
	f := fabric.NewTCP()
	a, b := f.Of("a"), f.Of("b")
	defer a.Sever()
	defer b.Sever()
	l, err := b.Listen("0.0.0.0:0")
	check(t, err)
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, host := range []string{"127.0.0.1", "localhost"} {
		c, err := a.Dial(context.Background(), net.JoinHostPort(host, port))
		check(t, err)
		if got := c.(fabric.PeerNamer).PeerNode(); got != "b" {
			t.Fatalf("%s: the peer is %q", host, got)
		}
	}
}

// A section of a file arrives whole, whether sendfile or the queue carries it, and whether or not a rule comes in the middle.
func TestFileSection(t *testing.T) {
	name := filepath.Join(t.TempDir(), "section")
	want := make([]byte, 5<<20)
	for i := range want {
		want[i] = byte(i >> 5)
	}
	check(t, os.WriteFile(name, want, 0o600))
	for _, rule := range []fabric.Link{{}, {Delay: time.Millisecond}} {
		f := fabric.NewTCP()
		p := connect(t, f)
		setLink(t, f, "a", "b", rule)
		file, err := os.Open(name)
		check(t, err)
		sent := make(chan error, 1)
		go func() {
			n, err := io.Copy(p.a, io.LimitReader(file, 4<<20))
			if err == nil && n != 4<<20 {
				err = io.ErrShortWrite
			}
			sent <- err
		}()
		got := readN(t, p.b, 1<<20)
		setLink(t, f, "a", "b", fabric.Link{Delay: 2 * time.Millisecond})
		got += readN(t, p.b, 3<<20)
		check(t, <-sent)
		if !bytes.Equal([]byte(got), want[:4<<20]) {
			t.Fatalf("rule %+v: the bytes differ", rule)
		}
		file.Close()
		p.close()
	}
}

func TestTCPConnOnlyWhileNothingIsInTheWay(t *testing.T) {
	f := fabric.NewTCP()
	p := connect(t, f)
	defer p.close()
	conn := p.a.(*fabric.Conn)
	if conn.TCPConn() == nil {
		t.Fatal("a healthy connection hides its socket")
	}
	setLink(t, f, "a", "b", fabric.Link{Cut: true})
	if conn.TCPConn() != nil {
		t.Fatal("the socket of a cut connection can be reached")
	}
	write(t, p.a, "held")
	setLink(t, f, "a", "b", fabric.Link{})
	if got := readN(t, p.b, 4); got != "held" {
		t.Fatalf("read %q", got)
	}
	p.viewA.Freeze()
	if conn.TCPConn() != nil {
		t.Fatal("the socket of a frozen connection can be reached")
	}
	p.viewA.Thaw()
	for deadline := time.Now().Add(10 * time.Second); conn.TCPConn() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the socket did not come back after the link had healed")
		}
	}
}

// Hours of a cut and of heartbeats pass at once in a bubble.
func TestMemoryInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fabric.NewMemory()
		p := connect(t, f)
		defer p.close()
		setLink(t, f, "a", "b", fabric.Link{Delay: time.Hour})
		start := time.Now()
		write(t, p.a, "late")
		check(t, p.b.SetReadDeadline(time.Time{}))
		buffer := make([]byte, 4)
		_, err := io.ReadFull(p.b, buffer)
		check(t, err)
		if took := time.Since(start); took != time.Hour {
			t.Fatalf("an hour's delay took %v", took)
		}
		setLink(t, f, "a", "b", fabric.Link{Cut: true})
		go func() {
			time.Sleep(24 * time.Hour)
			_ = f.SetLink("a", "b", fabric.Link{})
		}()
		write(t, p.a, "next")
		_, err = io.ReadFull(p.b, buffer)
		check(t, err)
		if took := time.Since(start); took != 25*time.Hour {
			t.Fatalf("the cut took %v", took)
		}
	})
}

// A connection that was dialled, written and closed before the acceptor looks still has its dialler's name.
func TestDiallerClosedBeforeAccept(t *testing.T) {
	for _, newFabric := range []func() *fabric.Fabric{fabric.NewTCP, fabric.NewMemory} {
		f := newFabric()
		a, b := f.Of("a"), f.Of("b")
		l, err := b.Listen("127.0.0.1:0")
		check(t, err)
		c, err := a.Dial(context.Background(), l.Addr().String())
		check(t, err)
		write(t, c, "x")
		check(t, c.Close())
		accepted, err := l.Accept()
		check(t, err)
		readN(t, accepted, 1)
		if got := accepted.(fabric.PeerNamer).PeerNode(); got != "a" {
			t.Errorf("the peer is %q", got)
		}
		a.Sever()
		b.Sever()
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		near, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer near.Close()
		far, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		roundTrips(b, near, far)
	})
	b.Run("fabric", func(b *testing.B) {
		f := fabric.NewTCP()
		view := f.Of("b")
		defer view.Sever()
		l, err := view.Listen("127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		dialler := f.Of("a")
		defer dialler.Sever()
		near, err := dialler.Dial(context.Background(), l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		far, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		roundTrips(b, near, far)
	})
}

func roundTrips(b *testing.B, near, far net.Conn) {
	go func() {
		buffer := make([]byte, 64)
		for {
			n, err := far.Read(buffer)
			if err != nil {
				return
			}
			if _, err := far.Write(buffer[:n]); err != nil {
				return
			}
		}
	}()
	buffer := make([]byte, 64)
	for b.Loop() {
		if _, err := near.Write(buffer); err != nil {
			b.Fatal(err)
		}
		if _, err := near.Read(buffer); err != nil {
			b.Fatal(err)
		}
	}
}
