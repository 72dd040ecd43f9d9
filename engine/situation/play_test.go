package situation_test

import (
	"slices"
	"strconv"
	"testing"

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
		test func(t *testing.T, names map[string]string, told seen)
	}{
		{"split-vote", splitVote}, {"follower-out-of-isr", followerOutOfISR}, {"zombie-controller", zombieController},
		{"lost-record", lostRecord}, {"full-ledger", fullLedger}, {"hot-bundle", hotBundle}, {"dead-bookie", deadBookie},
	} {
		t.Run(famous.id, func(t *testing.T) {
			c.t = t
			run, told := c.play(famous.id)
			famous.test(t, run.Names, told)
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
func splitVote(t *testing.T, names map[string]string, told seen) {
	_, killed := find(told, names["leader"], any[trace.NodeStopped])
	candidate := func(e trace.EnsembleRoleChanged) bool { return e.Role == "candidate" }
	_, a := find(told, names["a"], candidate)
	_, b := find(told, names["b"], candidate)
	_, healed := find(told, "", func(e trace.LinkChanged) bool { return e.From == names["a"] && e.To == names["b"] && !e.Cut })
	_, leads := find(told, "", func(e trace.EnsembleRoleChanged) bool { return e.Role == "leader" })
	inOrder(t, told, namedPlace{"the leader is killed", killed}, namedPlace{"a stands for election", a}, namedPlace{"the link is healed", healed})
	inOrder(t, told, namedPlace{"the leader is killed", killed}, namedPlace{"b stands for election", b}, namedPlace{"the link is healed", healed}, namedPlace{"one leads", leads})
}

// followerOutOfISR: the leader took the follower out, went on without it, and took it in again.
func followerOutOfISR(t *testing.T, names map[string]string, told seen) {
	follower, topic := brokerID(t, names["follower"]), names["topic"]
	_, out := find(told, names["leader"], func(e trace.KafkaISRChanged) bool { return e.Topic == topic && slices.Contains(e.Removed, follower) })
	_, in := find(told, names["leader"], func(e trace.KafkaISRChanged) bool { return e.Topic == topic && slices.Contains(e.Added, follower) })
	inOrder(t, told, namedPlace{"the ISR shrinks", out}, namedPlace{"the ISR expands", in})
	advanced := slices.ContainsFunc(told[max(0, out):max(0, in)], func(record trace.Record) bool {
		e, is := record.Data.(trace.KafkaHighWatermarkAdvanced)
		return is && e.Topic == topic && e.Role == "leader"
	})
	if !advanced {
		t.Error("the high watermark does not move on without the follower")
	}
}

// zombieController: what the old controller had sent was refused because of its epoch, and it resigned.
func zombieController(t *testing.T, names map[string]string, told seen) {
	old, epoch := brokerID(t, names["old"]), number[int32](t, names["epoch"])
	elected, at := find(told, names["new"], any[trace.KafkaControllerElected])
	refused, refusedAt := find(told, names["peer"], any[trace.KafkaControllerRefused])
	_, resigned := find(told, names["old"], func(e trace.KafkaControllerResigned) bool { return e.Epoch == epoch })
	_, anew := find(told, names["old"], any[trace.KafkaBrokerRegistered])
	inOrder(t, told, namedPlace{"another controller is elected", at}, namedPlace{"the old one is refused", refusedAt},
		namedPlace{"it resigns", resigned}, namedPlace{"it registers anew", anew})
	if refused.Controller != old || refused.Epoch != epoch || refused.Newest < elected.Epoch || refused.Newest <= epoch {
		t.Errorf("refused %+v; the old controller is %d of epoch %d, the new one has epoch %d", refused, old, epoch, elected.Epoch)
	}
}

// lostRecord: the record was acknowledged, and cut off again.
func lostRecord(t *testing.T, names map[string]string, told seen) {
	offset, topic := number[int64](t, names["offset"]), names["topic"]
	_, acknowledged := find(told, names["leader"], func(e trace.KafkaAcknowledged) bool { return e.Topic == topic && e.Acks == 1 && e.LastOffset == offset })
	_, leads := find(told, names["follower"], func(e trace.KafkaReplicaRoleChanged) bool {
		return e.Topic == topic && e.Role == "leader" && e.LEO == offset
	})
	inOrder(t, told, namedPlace{"the record is acknowledged", acknowledged}, namedPlace{"the follower leads without it", leads})
	if end := number[int64](t, names["end"]); end > offset {
		t.Errorf("the log ends at %d, offset %d was to be lost", end, offset)
	}
}

// fullLedger: the writer itself closed it, with as many entries as it may have, and published on in the next one.
func fullLedger(t *testing.T, names map[string]string, told seen) {
	ledger, next := number[int64](t, names["ledger"]), number[int64](t, names["next"])
	closed, closedAt := find(told, "", func(e trace.LedgerClosed) bool { return e.Ledger == ledger })
	opened, openedAt := find(told, "", func(e trace.LedgerOpened) bool { return e.Ledger == next })
	inOrder(t, told, namedPlace{"the full ledger is closed", closedAt}, namedPlace{"the next one is opened", openedAt})
	if entries := number[int64](t, names["entries"]); closed.Recovered || closed.LastEntry+1 < entries {
		t.Errorf("%+v; a full ledger has %d entries and is closed by its writer", closed, entries)
	}
	if want := "public/default/persistent/" + names["topic"]; opened.ManagedLedger != want || opened.Cursor != "" {
		t.Errorf("the next ledger belongs to %q, the topic's is %q", opened.ManagedLedger, want)
	}
}

// hotBundle: the bundle was split, one half changed its owner, and the topics of it are served there.
func hotBundle(t *testing.T, names map[string]string, told seen) {
	owner, other, bundle, half := names["owner"], names["other"], names["bundle"], names["half"]
	_, split := find(told, owner, func(e trace.PulsarBundleReleased) bool { return e.Bundle == bundle && e.Reason == "split" })
	_, halves := find(told, owner, func(e trace.PulsarBundleOwned) bool { return e.Bundle == half })
	_, unloaded := find(told, owner, func(e trace.PulsarBundleReleased) bool { return e.Bundle == half && e.Reason == "unload" })
	_, owned := find(told, other, func(e trace.PulsarBundleOwned) bool { return e.Bundle == half })
	_, loaded := find(told, other, func(e trace.PulsarTopicLoaded) bool { return e.Bundle == half })
	inOrder(t, told, namedPlace{"the bundle is split", split}, namedPlace{"the half is unloaded", unloaded},
		namedPlace{"the other broker owns it", owned}, namedPlace{"and serves its topics", loaded})
	inOrder(t, told, namedPlace{"the owner has the half", halves}, namedPlace{"the half is unloaded", unloaded})
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
func deadBookie(t *testing.T, names map[string]string, told seen) {
	ledger, entry := number[int64](t, names["ledger"]), number[int64](t, names["entry"])
	_, killed := find(told, names["bookie"], any[trace.NodeStopped])
	changed, at := find(told, "", func(e trace.LedgerEnsembleChanged) bool { return e.Ledger == ledger && e.FirstEntry == entry })
	_, back := find(told, names["bookie"], any[trace.BookieRegistered])
	inOrder(t, told, namedPlace{"the bookie is killed", killed}, namedPlace{"the ensemble changes", at}, namedPlace{"the bookie is back", back})
	if len(changed.Replaced) != 1 || slices.Contains(changed.Ensemble, changed.Replaced[0]) {
		t.Errorf("%+v", changed)
	}
}
