package bookkeeper_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/ledger"
)

func TestAddReadClose(t *testing.T) {
	for name, newFabric := range map[string]func() *fabric.Fabric{"memory": fabric.NewMemory, "tcp": fabric.NewTCP} {
		for _, version := range []int{2, 3} {
			run := func(t *testing.T) {
				c := newCluster(t, newFabric(), 4)
				defer c.stop()
				k := c.client("pulsar-1", func(config *bookkeeper.Config) { config.Version = version })
				defer k.end()
				w := must(k.CreateLedger(usual))(t)
				a := &appender{writer: w}
				a.addAll(t, 500)
				verify(t, w, 499)
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				r := must(k.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{}))(t)
				if r.LastEntry() != 499 {
					t.Errorf("last entry %d", r.LastEntry())
				}
				verify(t, r, 499)
				a.add(1)
				a.wait.Wait()
				if !errors.Is(a.failed, bookkeeper.ErrClosed) {
					t.Errorf("add to a closed ledger: %v", a.failed)
				}
			}
			t.Run(fmt.Sprint(name, version), func(t *testing.T) {
				if name == "memory" {
					synctest.Test(t, run)
				} else {
					run(t)
				}
			})
		}
	}
}

// A bookie dies, or only freezes, while a writer adds: the writer does not notice, and nothing is lost.
func TestEnsembleChange(t *testing.T) {
	for name, hurt := range map[string]func(n *node){
		"killed": (*node).kill,
		"frozen": func(n *node) { n.view.Freeze(); n.faults.Freeze() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, fabric.NewMemory(), 4)
				k := c.client("pulsar-1", nil)
				w := must(k.CreateLedger(usual))(t)
				a := &appender{writer: w}
				a.addAll(t, 100)
				victim := c.bookies[w.Metadata().CurrentSegment().Bookies[1]]
				a.add(50)
				hurt(victim)
				a.add(50)
				a.wait.Wait()
				a.addAll(t, 100)
				if segments := w.Metadata().Segments; len(segments) != 2 {
					t.Errorf("segments: %v", segments)
				}
				verify(t, w, 299)
				if err := w.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				k.end()
				if name == "frozen" {
					victim.faults.Thaw()
					victim.view.Thaw()
				} else {
					victim.start()
				}
				c.stop()
			})
		})
	}
}

// Too many bookies die: the writer fails, and what it acknowledged is there when they come back.
func TestNotEnoughBookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 3)
		k := c.client("pulsar-1", nil)
		w := must(k.CreateLedger(usual))(t)
		a := &appender{writer: w}
		a.addAll(t, 100)
		victim := c.bookies[w.Metadata().CurrentSegment().Bookies[0]]
		victim.kill()
		a.add(10)
		a.wait.Wait()
		if !errors.Is(a.failed, ledger.ErrNotEnoughBookies) {
			t.Fatalf("adds without enough bookies: %v", a.failed)
		}
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := must(k.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
		if r.LastEntry() != a.acked-1 {
			t.Errorf("closed at %d, acknowledged were %d", r.LastEntry(), a.acked)
		}
		victim.start()
		verify(t, r, r.LastEntry())
		k.end()
		c.stop()
	})
}

// A second client recovers the ledger while the first one still adds. The first is fenced, and everything that it was told is stored
// is in the ledger.
func TestFencing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 4)
		first, second := c.client("pulsar-1", nil), c.client("pulsar-2", nil)
		for round := range 20 {
			w := must(first.CreateLedger(usual))(t)
			a := &appender{writer: w}
			a.addAll(t, round)
			a.add(200)
			r := must(second.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
			a.add(1)
			a.wait.Wait()
			if !errors.Is(a.failed, ledger.ErrFenced) {
				t.Fatalf("add after recovery: %v", a.failed)
			}
			if a.acked > r.LastEntry()+1 {
				t.Fatalf("%d entries were acknowledged, the ledger was closed at %d", a.acked, r.LastEntry())
			}
			verify(t, r, r.LastEntry())
			if err := w.Close(t.Context()); err != nil && !errors.Is(err, ledger.ErrFenced) {
				t.Errorf("close of the fenced writer: %v", err)
			}
		}
		first.end()
		second.end()
		c.stop()
	})
}

// The writer's machine and one bookie die; the ledger is recovered from the others, then the bookie comes back with its disk.
func TestRecoveryWithoutABookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for round := range 10 {
			c := newCluster(t, fabric.NewMemory(), 4)
			k := c.client("pulsar-1", nil)
			w := must(k.CreateLedger(usual))(t)
			a := &appender{writer: w}
			a.addAll(t, 10*round)
			a.add(300)
			synctest.Wait()
			k.view.Sever()
			k.end()
			a.wait.Wait()
			victim := c.bookies[w.Metadata().CurrentSegment().Bookies[round%3]]
			victim.kill()
			other := c.client("pulsar-2", nil)
			r := must(other.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
			if a.acked > r.LastEntry()+1 {
				t.Fatalf("%d entries were acknowledged, the ledger was closed at %d", a.acked, r.LastEntry())
			}
			verify(t, r, r.LastEntry())
			again := must(other.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
			if again.LastEntry() != r.LastEntry() || again.Length() != r.Length() {
				t.Errorf("opened again: last entry %d, then %d", r.LastEntry(), again.LastEntry())
			}
			victim.start()
			other.end()
			c.stop()
		}
	})
}

// All bookies lose power under load: what was acknowledged is there afterwards.
func TestPowerCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 4)
		acked := map[int64]int64{}
		for range 8 {
			k := c.client("pulsar-1", nil)
			w := must(k.CreateLedger(usual))(t)
			a := &appender{writer: w}
			a.addAll(t, 200)
			a.add(500)
			var kills sync.WaitGroup
			for _, n := range c.bookies {
				kills.Go(n.kill)
			}
			kills.Wait()
			a.wait.Wait()
			k.end()
			acked[w.ID()] = a.acked
			for _, n := range c.bookies {
				n.start()
			}
		}
		k := c.client("pulsar-2", nil)
		for id, count := range acked {
			r := must(k.OpenLedger(t.Context(), id, bookkeeper.OpenOptions{Recover: true}))(t)
			if r.LastEntry() < count-1 {
				t.Errorf("ledger %d: %d entries were acknowledged, closed at %d", id, count, r.LastEntry())
			}
			verify(t, r, r.LastEntry())
		}
		k.end()
		c.stop()
	})
}
