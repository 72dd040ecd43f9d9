package situation_test

import (
	"slices"
	"strconv"
	"testing"

	"twinlog/engine/situation"
	"twinlog/engine/trace"
)

// TestSituations plays each famous situation on one real classroom. That a script comes to its end is not enough: the trace must tell
// what the situation is famous for.
func TestSituations(t *testing.T) {
	c := openClassroom(t)
	listed := map[string]bool{}
	for _, summary := range c.player.List() {
		listed[summary.ID] = true
	}
	for _, famous := range []struct {
		id   string
		test func(t *testing.T, run *situation.Run, told seen)
	}{
		{"split-vote", splitVote}, {"follower-out-of-isr", followerOutOfISR}, {"zombie-controller", zombieController},
		{"lost-record", lostRecord}, {"full-ledger", fullLedger}, {"hot-bundle", hotBundle}, {"dead-bookie", deadBookie},
	} {
		t.Run(famous.id, func(t *testing.T) {
			c.t = t
			run, told := c.play(famous.id)
			famous.test(t, run, told)
			if links := c.cluster.Links(); len(links) > 0 {
				t.Errorf("left cut: %+v", links)
			}
		})
		delete(listed, famous.id)
	}
	for id := range listed {
		t.Errorf("%s is not tested", id)
	}
}

func number[N int32 | int64](t *testing.T, text string) N {
	t.Helper()
	n, err := strconv.ParseInt(text, 10, 64)
	check(t, err)
	return N(n)
}

// brokerID is the number in a node's name.
func brokerID(t *testing.T, name string) int32 { return number[int32](t, name[len("kafka-"):]) }

func any[E trace.Event](E) bool { return true }

// splitVote: both survivors stood for election, and nobody led before the link was healed.
func splitVote(t *testing.T, run *situation.Run, told seen) {
	names, told := run.Names, told.since(run, 1)
	_, killed := find(told, names["leader"], any[trace.NodeStopped])
	candidate := func(e trace.EnsembleRoleChanged) bool { return e.Role == "candidate" }
	_, a := find(told, names["a"], candidate)
	_, b := find(told, names["b"], candidate)
	_, healed := find(told, "", func(e trace.LinkChanged) bool { return e.From == names["a"] && e.To == names["b"] && !e.Cut })
	_, leads := find(told, "", func(e trace.EnsembleRoleChanged) bool { return e.Role == "leader" })
	inOrder(t, moment{"the leader is killed", killed}, moment{"a stands for election", a}, moment{"the link is healed", healed})
	inOrder(t, moment{"the leader is killed", killed}, moment{"b stands for election", b}, moment{"the link is healed", healed}, moment{"one leads", leads})
}

// followerOutOfISR: the leader took the follower out, went on without it, and took it in again.
func followerOutOfISR(t *testing.T, run *situation.Run, told seen) {
	names, cut, healed := run.Names, told.since(run, 1), told.since(run, 3)
	follower, topic := brokerID(t, names["follower"]), names["topic"]
	_, out := find(cut, names["leader"], func(e trace.KafkaISRChanged) bool { return e.Topic == topic && slices.Contains(e.Removed, follower) })
	_, in := find(healed, "", func(e trace.KafkaISRChanged) bool { return e.Topic == topic && slices.Contains(e.Added, follower) })
	inOrder(t, moment{"the ISR shrinks", out}, moment{"the ISR expands", in})
	advanced := slices.ContainsFunc(cut, func(record trace.Record) bool {
		e, is := record.Data.(trace.KafkaHighWatermarkAdvanced)
		return is && e.Topic == topic && e.Role == "leader" && record.At.After(out) && record.At.Before(in)
	})
	if !advanced {
		t.Error("the high watermark does not move on without the follower")
	}
}

// zombieController: what the old controller had sent was refused because of its epoch, and it resigned.
func zombieController(t *testing.T, run *situation.Run, told seen) {
	names := run.Names
	old, epoch := brokerID(t, names["old"]), number[int32](t, names["epoch"])
	elected, at := find(told, names["new"], any[trace.KafkaControllerElected])
	refused, refusedAt := find(told, names["peer"], func(e trace.KafkaControllerRefused) bool { return e.Controller == old })
	_, resigned := find(told, names["old"], func(e trace.KafkaControllerResigned) bool { return e.Epoch == epoch })
	_, anew := find(told, names["old"], any[trace.KafkaBrokerRegistered])
	inOrder(t, moment{"another controller is elected", at}, moment{"the old one is refused", refusedAt},
		moment{"it resigns", resigned}, moment{"it registers anew", anew})
	if refused.Controller != old || refused.Epoch != epoch || refused.Newest < elected.Epoch || refused.Newest <= epoch {
		t.Errorf("refused %+v; the old controller is %d of epoch %d, the new one has epoch %d", refused, old, epoch, elected.Epoch)
	}
}

// lostRecord: the record was acknowledged, and cut off again.
func lostRecord(t *testing.T, run *situation.Run, told seen) {
	names := run.Names
	offset, topic := number[int64](t, names["offset"]), names["topic"]
	_, acknowledged := find(told, names["leader"], func(e trace.KafkaAcknowledged) bool { return e.Topic == topic && e.Acks == 1 && e.LastOffset == offset })
	_, leads := find(told, names["follower"], func(e trace.KafkaReplicaRoleChanged) bool {
		return e.Topic == topic && e.Role == "leader" && e.LEO == offset
	})
	inOrder(t, moment{"the record is acknowledged", acknowledged}, moment{"the follower leads without it", leads})
	if end := number[int64](t, names["end"]); end > offset {
		t.Errorf("the log ends at %d, offset %d was to be lost", end, offset)
	}
}

// fullLedger: the writer itself closed it, with as many entries as it may have, and published on in the next one.
func fullLedger(t *testing.T, run *situation.Run, told seen) {
	names := run.Names
	ledger, next := number[int64](t, names["ledger"]), number[int64](t, names["next"])
	closed, closedAt := find(told, "", func(e trace.LedgerClosed) bool { return e.Ledger == ledger })
	opened, openedAt := find(told, "", func(e trace.LedgerOpened) bool { return e.Ledger == next })
	inOrder(t, moment{"the full ledger is closed", closedAt}, moment{"the next one is opened", openedAt})
	if entries := number[int64](t, names["entries"]); closed.Recovered || closed.LastEntry+1 < entries {
		t.Errorf("%+v; a full ledger has %d entries and is closed by its writer", closed, entries)
	}
	if want := "public/default/persistent/" + names["topic"]; opened.ManagedLedger != want || opened.Cursor != "" {
		t.Errorf("the next ledger belongs to %q, the topic's is %q", opened.ManagedLedger, want)
	}
}

// hotBundle: the bundle was split, one half changed its owner, and the topics of it are served there.
func hotBundle(t *testing.T, run *situation.Run, told seen) {
	names := run.Names
	owner, other, bundle, half := names["owner"], names["other"], names["bundle"], names["half"]
	_, split := find(told, owner, func(e trace.PulsarBundleReleased) bool { return e.Bundle == bundle && e.Reason == "split" })
	_, halves := find(told, owner, func(e trace.PulsarBundleOwned) bool { return e.Bundle == half })
	_, unloaded := find(told, owner, func(e trace.PulsarBundleReleased) bool { return e.Bundle == half && e.Reason == "unload" })
	_, owned := find(told, other, func(e trace.PulsarBundleOwned) bool { return e.Bundle == half })
	_, loaded := find(told, other, func(e trace.PulsarTopicLoaded) bool { return e.Bundle == half })
	inOrder(t, moment{"the bundle is split", split}, moment{"the half is unloaded", unloaded},
		moment{"the other broker owns it", owned}, moment{"and serves its topics", loaded})
	inOrder(t, moment{"the owner has the half", halves}, moment{"the half is unloaded", unloaded})
	rest, _ := find(told, owner, func(e trace.PulsarBundleOwned) bool { return e.Bundle != half && e.Bundle[:10] == bundle[:10] })
	if rest.Bundle == "" {
		t.Errorf("nobody owns what is left of %s beside %s", bundle, half)
	}
	served := map[string]bool{}
	for _, record := range told {
		if e, is := record.Data.(trace.PulsarTopicLoaded); is && record.Node == other && e.Bundle == half {
			served[e.Topic] = true
		}
	}
	if len(served) < 1 || len(served) > 3 {
		t.Errorf("the other broker serves %d of the four hot topics", len(served))
	}
}

// deadBookie: the ledger goes on without the bookie that was killed.
func deadBookie(t *testing.T, run *situation.Run, told seen) {
	names := run.Names
	ledger, entry := number[int64](t, names["ledger"]), number[int64](t, names["entry"])
	_, killed := find(told, names["bookie"], any[trace.NodeStopped])
	changed, at := find(told, "", func(e trace.LedgerEnsembleChanged) bool { return e.Ledger == ledger && e.FirstEntry == entry })
	_, back := find(told, names["bookie"], any[trace.BookieRegistered])
	inOrder(t, moment{"the bookie is killed", killed}, moment{"the ensemble changes", at}, moment{"the bookie is back", back})
	stays := func(bookie string) bool { return slices.Contains(changed.Ensemble, bookie) }
	if len(changed.Replaced) == 0 || slices.ContainsFunc(changed.Replaced, stays) {
		t.Errorf("%+v", changed)
	}
}
