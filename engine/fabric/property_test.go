package fabric_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/fabric"
)

// Whatever the rules do meanwhile, and whoever is frozen for a while: no byte is lost, none comes twice, none out of order.
func TestStreamsSurviveAnyRules(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { streamUnderChaos(t, seed) })
	}
}

func streamUnderChaos(t *testing.T, seed uint64) {
	f := fabric.NewMemory()
	p := connect(t, f)
	defer p.close()
	check(t, p.b.SetReadDeadline(time.Time{}))
	sent := make([]byte, 3<<20)
	state := seed
	for i := range sent {
		state = state*6364136223846793005 + 1442695040888963407
		sent[i] = byte(state >> 56)
	}
	calm := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() { // the chaos
		defer close(calm)
		own := rand.New(rand.NewPCG(seed, 1))
		for range 60 {
			rule := fabric.Link{Delay: time.Duration(own.IntN(50)) * time.Millisecond, Jitter: time.Duration(own.IntN(50)) * time.Millisecond}
			switch own.IntN(5) {
			case 0:
				rule = fabric.Link{}
			case 1:
				rule.Cut = true
			case 2:
				rule.BytesPerSecond = int64(1 + own.IntN(1<<20))
			}
			from, to := "a", "b"
			if own.IntN(2) == 0 {
				from, to = to, from
			}
			_ = f.SetLink(from, to, rule)
			if view := []*fabric.View{p.viewA, p.viewB}[own.IntN(2)]; own.IntN(6) == 0 {
				view.Freeze()
				time.Sleep(time.Duration(own.IntN(40)) * time.Millisecond)
				view.Thaw()
			}
			time.Sleep(time.Duration(own.IntN(30)) * time.Millisecond)
		}
		_ = f.SetLink("a", "b", fabric.Link{})
		_ = f.SetLink("b", "a", fabric.Link{})
	})
	work.Go(func() { // the sender
		own := rand.New(rand.NewPCG(seed, 2))
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+own.IntN(40<<10))
			if _, err := p.a.Write(rest[:n]); err != nil {
				t.Errorf("seed %d: write: %v", seed, err)
				break
			}
			rest = rest[n:]
			if own.IntN(5) == 0 {
				time.Sleep(time.Duration(own.IntN(80)) * time.Millisecond)
			}
		}
		<-calm // over a cut link a close may lose what was written before
		if err := p.a.Close(); err != nil {
			t.Errorf("seed %d: close: %v", seed, err)
		}
	})
	got, err := io.ReadAll(p.b)
	work.Wait()
	if err != nil || !bytes.Equal(got, sent) {
		same := 0
		for same < min(len(got), len(sent)) && got[same] == sent[same] {
			same++
		}
		t.Fatalf("seed %d: %d of %d bytes arrived, the first %d as they were sent, error %v", seed, len(got), len(sent), same, err)
	}
}
