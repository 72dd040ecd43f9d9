package autorecovery_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/trace"
)

var (
	pairs   = bookkeeper.CreateOptions{Ensemble: 2, WriteQuorum: 2, AckQuorum: 2}
	striped = bookkeeper.CreateOptions{Ensemble: 3, WriteQuorum: 2, AckQuorum: 2}
	triples = bookkeeper.CreateOptions{Ensemble: 3, WriteQuorum: 3, AckQuorum: 2}
)

// A bookie is lost. Its copies are made anew from the other ones, so that those may be lost too; a reader that knew only the old bookies
// finds the new ones.
func TestALostBookieIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		w := c.ledger(pairs, 300)
		c.close(w)
		stale := c.open(w.ID())
		ensemble := w.Metadata().CurrentSegment().Bookies
		begun := time.Now()
		c.bookies[ensemble[0]].kill()
		c.until("the ledger is marked", func() bool { return len(said[trace.LedgerUnderReplicated](c)) > 0 })
		if waited := time.Since(begun); waited < delay || waited > delay+time.Second {
			t.Errorf("marked after %v", waited)
		}
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		if c.isOn(w.ID(), ensemble[0]) {
			t.Errorf("the metadata still names %s: %+v", ensemble[0], c.metadata(w.ID()))
		}
		c.tidy()
		done := said[trace.FragmentReplicated](c)
		if len(done) != 1 || done[0].Entries != 300 || done[0].FirstEntry != 0 || done[0].LastEntry != 299 || !slices.Equal(done[0].Lost, ensemble[:1]) {
			t.Errorf("replicated: %+v", done)
		}
		c.bookies[ensemble[1]].kill()
		c.verify(stale, 299)
		c.until("the second one's copies are there too", func() bool { return !c.isOn(w.ID(), ensemble[1]) })
		c.verify(stale, 299)
	})
}

// A writer goes on while its bookie dies: it replaces the bookie itself and is left alone. What it had written there before is copied.
func TestAWriterGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 5)
		w := c.ledger(striped, 100)
		lost := w.Metadata().CurrentSegment().Bookies[1]
		c.bookies[lost].kill()
		c.add(w, 100)
		c.until("the old fragment is copied", func() bool { return !c.isOn(w.ID(), lost) })
		if done := said[trace.FragmentReplicated](c); len(done) != 1 || done[0].FirstEntry != 0 || done[0].LastEntry >= 200 {
			t.Errorf("replicated: %+v", done)
		}
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		time.Sleep(2 * grace)
		c.add(w, 100)
		// The older copies are lost as well, before anything could be made of them: the writer reads what was copied.
		for _, bookie := range w.Metadata().Segments[0].Bookies {
			if bookie != lost {
				c.bookies[bookie].kill()
				break
			}
		}
		c.verify(w, 299)
		c.add(w, 100)
		c.close(w)
		c.verify(c.open(w.ID()), 399)
	})
}

// A writer that has nothing to write does not notice that its bookie is lost. It gets its time; then the ledger is closed and copied, and
// the writer finds out.
func TestAnIdleWriterIsClosedAfterTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		w := c.ledger(striped, 99)
		lost := w.Metadata().CurrentSegment().Bookies[2]
		begun := time.Now()
		c.bookies[lost].kill()
		c.until("the ledger is closed", func() bool { return c.metadata(w.ID()).State == ledger.Closed })
		if waited := time.Since(begun); waited < delay+grace || waited > delay+grace+time.Second {
			t.Errorf("closed after %v", waited)
		}
		c.until("it is copied", func() bool { return !c.isMarked(w.ID()) })
		if c.isOn(w.ID(), lost) {
			t.Errorf("the metadata still names %s", lost)
		}
		c.verify(c.open(w.ID()), 98)
		if waits := said[trace.ReplicationPostponed](c); len(waits) != 1 || waits[0].Reason != "open" {
			t.Errorf("it waited: %+v", waits)
		}
		failed := make(chan error, 1)
		w.Append([]byte("late"), func(_ int64, err error) { failed <- err })
		if err := <-failed; err == nil {
			t.Error("the ledger is closed, and its writer could add to it")
		}
	})
}

// Within the grace the writer has something to write again. The fragment that it leaves is copied at once, and it is never fenced.
func TestAWriterWakesUpWithinTheGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		w := c.ledger(striped, 99)
		lost := w.Metadata().CurrentSegment().Bookies[0]
		c.bookies[lost].kill()
		c.until("somebody waits for the writer", func() bool { return len(said[trace.ReplicationPostponed](c)) > 0 })
		begun := time.Now()
		c.add(w, 3)
		c.until("the old fragment is copied", func() bool { return !c.isOn(w.ID(), lost) })
		if waited := time.Since(begun); waited > grace/2 {
			t.Errorf("copied after %v", waited)
		}
		time.Sleep(2 * grace)
		c.add(w, 100)
		c.close(w)
		c.tidy()
	})
}

// A worker dies in the middle. Its lock goes with its session, and another one does the ledger again.
func TestAWorkerDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 6)
		w := c.ledger(triples, 2000)
		c.close(w)
		for _, n := range c.bookies {
			n.faults.Set(disk.Fault{Delay: 50 * time.Millisecond})
		}
		lost := w.Metadata().CurrentSegment().Bookies[0]
		c.bookies[lost].kill()
		c.until("a worker copies", func() bool { return len(said[trace.ReplicationStarted](c)) > 0 })
		time.Sleep(300 * time.Millisecond)
		if done := said[trace.FragmentReplicated](c); len(done) > 0 {
			t.Fatal("it has copied everything before it could die")
		}
		worker := nodeSaid[trace.ReplicationStarted](c)
		worker.kill()
		for _, n := range c.bookies {
			if n.up {
				n.faults.Set(disk.Fault{})
			}
		}
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		if c.isOn(w.ID(), lost) || c.isOn(w.ID(), worker.address) && nodeSaid[trace.FragmentReplicated](c) == worker {
			t.Errorf("the metadata is %+v", c.metadata(w.ID()))
		}
		c.verify(c.open(w.ID()), 1999)
		c.until("nothing lacks copies", func() bool { return !c.isOn(w.ID(), worker.address) && !c.isMarked(w.ID()) })
		c.tidy()
	})
}

// The auditor dies together with the bookie that it would have missed. The next one misses both.
func TestTheAuditorDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 6)
		w := c.ledger(triples, 50)
		c.close(w)
		auditor := nodeSaid[trace.AuditorElected](c)
		ensemble := w.Metadata().CurrentSegment().Bookies
		lost := ensemble[0]
		if lost == auditor.address {
			lost = ensemble[1]
		}
		c.bookies[lost].kill()
		auditor.kill()
		c.until("the ledger is marked", func() bool { return len(said[trace.LedgerUnderReplicated](c)) > 0 })
		if next := nodeSaid[trace.AuditorElected](c); next == auditor || !next.up {
			t.Errorf("the auditor is %s", next.name)
		}
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		if c.isOn(w.ID(), lost) || c.isOn(w.ID(), auditor.address) {
			t.Errorf("the metadata is %+v", c.metadata(w.ID()))
		}
	})
}

// A bookie that is back in time is not missed.
func TestABookieIsBackInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		w := c.ledger(striped, 50)
		c.close(w)
		lost := c.bookies[w.Metadata().CurrentSegment().Bookies[0]]
		lost.kill()
		time.Sleep(delay / 2)
		lost.start()
		time.Sleep(10 * delay)
		if marks := said[trace.LedgerUnderReplicated](c); len(marks) > 0 {
			t.Errorf("marked: %+v", marks)
		}
	})
}

// No bookie is left that could take the copies. The ledger stays marked until one comes; here it is the lost one, and nothing is copied.
func TestNobodyCanTakeTheCopies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		w := c.ledger(striped, 50)
		c.close(w)
		before := c.metadata(w.ID())
		lost := c.bookies[before.CurrentSegment().Bookies[0]]
		lost.kill()
		c.until("it waits", func() bool { return len(said[trace.ReplicationPostponed](c)) > 0 })
		if waits := said[trace.ReplicationPostponed](c); waits[0].Reason != "noBookie" {
			t.Errorf("it waits: %+v", waits)
		}
		time.Sleep(time.Minute)
		if waits := said[trace.ReplicationPostponed](c); !c.isMarked(w.ID()) || len(waits) > 2 { // each of two workers says so once
			t.Errorf("marked: %v, it waits: %+v", c.isMarked(w.ID()), waits)
		}
		begun := time.Now()
		lost.start()
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		if waited := time.Since(begun); waited > time.Second {
			t.Errorf("gone after %v", waited)
		}
		if after := c.metadata(w.ID()); !slices.Equal(after.CurrentSegment().Bookies, before.CurrentSegment().Bookies) {
			t.Errorf("the metadata was changed: %+v", after)
		}
		c.tidy()
	})
}

// Of one ledger no copy is left; another one, and other fragments, are copied all the same. When one of its bookies comes back, it is too.
func TestNoCopyIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 5)
		w := c.ledger(pairs, 40)
		c.close(w)
		ensemble := w.Metadata().CurrentSegment().Bookies
		c.bookies[ensemble[0]].kill()
		c.bookies[ensemble[1]].kill()
		c.until("it waits", func() bool { return len(said[trace.ReplicationPostponed](c)) > 0 })
		if waits := said[trace.ReplicationPostponed](c); waits[0].Reason != "noCopy" {
			t.Errorf("it waits: %+v", waits)
		}
		if !c.isMarked(w.ID()) || !c.isOn(w.ID(), ensemble[0]) {
			t.Error("it is not marked any more")
		}
		c.bookies[ensemble[1]].start()
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		if c.isOn(w.ID(), ensemble[0]) || !c.isOn(w.ID(), ensemble[1]) {
			t.Errorf("the metadata is %+v", c.metadata(w.ID()))
		}
		c.verify(c.open(w.ID()), 39)
	})
}

// An administrator switches autorecovery off, sets another delay, and switches it on again.
func TestAnAdministratorDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		w := c.ledger(striped, 30)
		c.close(w)
		const longer = 100 * time.Second
		for path, value := range map[string]string{"disable": "", "lostBookieRecoveryDelay": "100"} {
			if _, err := c.store.Create(metadata.UnderreplicationPath+"/"+path, []byte(value), 0, metadata.Open()); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		c.bookies[w.Metadata().CurrentSegment().Bookies[0]].kill()
		time.Sleep(longer / 2)
		if err := c.store.Delete(metadata.UnderreplicationPath+"/disable", -1); err != nil {
			t.Fatal(err)
		}
		c.until("the ledger is marked", func() bool { return len(said[trace.LedgerUnderReplicated](c)) > 0 })
		if waited := time.Since(begun); waited < longer || waited > longer+time.Second {
			t.Errorf("marked after %v", waited)
		}
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
	})
}

// A ledger is recovered by a new owner while a bookie of its older fragment is replaced: neither undoes what the other has done.
func TestARecoveryKeepsWhatWasCopied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 5)
		w := c.ledger(striped, 60)
		lost := w.Metadata().CurrentSegment().Bookies[0]
		c.bookies[lost].kill()
		c.add(w, 60)
		c.until("somebody copies", func() bool { return len(said[trace.ReplicationStarted](c)) > 0 })
		r, err := c.client.OpenLedger(t.Context(), w.ID(), bookkeeper.OpenOptions{Recover: true})
		if err != nil {
			t.Fatal(err)
		}
		c.until("the mark is gone", func() bool { return !c.isMarked(w.ID()) })
		if c.isOn(w.ID(), lost) {
			t.Errorf("the metadata is %+v", c.metadata(w.ID()))
		}
		c.verify(r, 119)
	})
}

// The bookies that are left have slow disks: less is copied at a time, and nobody says that there are no copies.
func TestSlowBookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 4)
		w := c.ledger(striped, 120)
		c.close(w)
		for _, n := range c.bookies {
			n.faults.Set(disk.Fault{Delay: 400 * time.Millisecond})
		}
		lost := w.Metadata().CurrentSegment().Bookies[0]
		c.bookies[lost].kill()
		c.until("it is copied", func() bool { return !c.isOn(w.ID(), lost) })
		if waits := said[trace.ReplicationPostponed](c); len(waits) > 0 {
			t.Errorf("it waits: %+v", waits)
		}
		for _, n := range c.bookies {
			n.faults.Set(disk.Fault{})
		}
		c.verify(c.open(w.ID()), 119)
	})
}
