package fabric_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"twinlog/engine/fabric"
)

// What the contract says of nodes that are severed or frozen.

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
