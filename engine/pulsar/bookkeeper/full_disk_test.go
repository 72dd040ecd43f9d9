package bookkeeper_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/ledger"
)

// TestWritersLeaveAFullBookie: a bookie of the ensemble runs out of room. The writer goes on with the spare one and loses nothing, what
// the full one has is read from it, and new ledgers are not put on it until it has room again.
func TestWritersLeaveAFullBookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 4)
		defer c.stop()
		k := c.client("pulsar-1", nil)
		defer k.end()
		w := must(k.CreateLedger(usual))(t)
		a := &appender{writer: w}
		a.addAll(t, 50)
		ensemble := w.Metadata().CurrentSegment().Bookies
		full, other := c.bookies[ensemble[1]], c.bookies[ensemble[2]]
		full.faults.Set(disk.Fault{Full: true}) // entry 50 is not for it, but 51 is
		a.addAll(t, 50)
		segments := w.Metadata().Segments
		if last := segments[len(segments)-1]; len(segments) != 2 || last.FirstEntry < 50 || last.FirstEntry > 51 || slices.Contains(last.Bookies, full.address) {
			t.Fatalf("%s is full, the segments are %+v", full.address, segments)
		}
		// A third of the early entries is on the full bookie and on one that is dead to the world.
		other.view.Freeze()
		verify(t, w, 49)
		other.view.Thaw()
		wide := bookkeeper.CreateOptions{Ensemble: 4, WriteQuorum: 2, AckQuorum: 2}
		if _, err := k.CreateLedger(wide); !errors.Is(err, ledger.ErrNotEnoughBookies) {
			t.Errorf("a ledger on four bookies, one of which is full: %v", err)
		}
		full.faults.Set(disk.Fault{})
		time.Sleep(time.Minute) // it looks for room every ten seconds
		again := &appender{writer: must(k.CreateLedger(wide))(t)}
		again.addAll(t, 40)
		if segments := again.writer.Metadata().Segments; len(segments) != 1 {
			t.Errorf("a bookie with room is replaced: %+v", segments)
		}
	})
}

// TestALedgerOnAFullBookieIsTakenOver: the fence cannot be written there, and is not needed there, for no quorum is left without it.
func TestALedgerOnAFullBookieIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fabric.NewMemory(), 4)
		defer c.stop()
		old, next := c.client("pulsar-1", nil), c.client("pulsar-2", nil)
		defer old.end()
		defer next.end()
		w := must(old.CreateLedger(usual))(t)
		a := &appender{writer: w}
		a.addAll(t, 50)
		c.bookies[w.Metadata().CurrentSegment().Bookies[0]].faults.Set(disk.Fault{Full: true})
		r := must(next.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true}))(t)
		if r.LastEntry() != 49 {
			t.Errorf("closed at %d", r.LastEntry())
		}
		verify(t, r, 49)
		a.add(1)
		a.wait.Wait()
		if !errors.Is(a.failed, ledger.ErrFenced) {
			t.Errorf("the old owner's add: %v", a.failed)
		}
	})
}
