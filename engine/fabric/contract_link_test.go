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

// What the contract says of links that are cut, slow or healed.

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
	// Who waited for the link would never be faster, whatever else the machine does.
	fastest := time.Hour
	for tries := 0; tries < 20 && fastest > delay/2; tries++ {
		start := time.Now()
		write(t, p.a, "ahead")
		fastest = min(fastest, time.Since(start))
		readN(t, p.b, 5)
	}
	if fastest > delay/2 {
		t.Fatalf("writing waited for the link: %v", fastest)
	}
	start := time.Now()
	write(t, p.a, "one ")
	write(t, p.a, "two ")
	write(t, p.a, "three")
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
