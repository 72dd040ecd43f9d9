package hub

import (
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"twinlog/engine/trace"
)

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

// TestOrderKeepsNodesAndCauses draws a run of nodes that send each other messages, with clocks that differ, drained at random moments, and
// looks at the merged order.
func TestOrderKeepsNodesAndCauses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := []string{"a", "b", "c"}
		skew := map[string]time.Duration{}
		for _, node := range nodes {
			skew[node] = time.Duration(rapid.IntRange(-50, 50).Draw(t, "skew")) * time.Millisecond
		}
		seq := map[string]uint64{}
		var underWay []trace.MessageSent
		pending := map[string][]trace.Record{}
		order := newOrdering()
		var got []trace.Record
		steps := rapid.IntRange(1, 60).Draw(t, "steps")
		for step := range steps {
			now := start.Add(time.Duration(step) * time.Millisecond)
			node := rapid.SampledFrom(nodes).Draw(t, "node")
			var event trace.Event = trace.NodeReady{}
			if rapid.Bool().Draw(t, "message") {
				sent := trace.MessageSent{Message: trace.Message{Exchange: trace.Exchange{Correlation: int64(step)}}}
				event = sent
				underWay = append(underWay, sent)
			} else if len(underWay) > 0 {
				event = trace.MessageReceived{Message: underWay[0].Message}
				underWay = underWay[1:]
			}
			seq[node]++
			pending[node] = append(pending[node], trace.Record{Node: node, Seq: seq[node], At: now.Add(skew[node]), Kind: event.Kind(), Data: event})
			if rapid.IntRange(0, 4).Draw(t, "drain") == 0 {
				// A drain reads the nodes one after the other; some not yet at all. What it has seen of one node can be newer than what it has
				// seen of another, by less than the next drain.
				var batch []trace.Record
				for _, name := range nodes {
					batch = append(batch, pending[name]...)
				}
				clear(pending)
				order.add(batch)
				got = order.release(now.Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "younger"))*time.Millisecond), got)
			}
		}
		for _, name := range nodes {
			order.add(pending[name])
		}
		got = order.release(start, got)
		got = order.release(start, got)

		last := map[string]uint64{}
		sent := map[int64]bool{}
		for _, record := range got {
			if record.Seq != last[record.Node]+1 {
				t.Fatalf("node %s: %d after %d", record.Node, record.Seq, last[record.Node])
			}
			last[record.Node] = record.Seq
			switch event := record.Data.(type) {
			case trace.MessageSent:
				sent[event.Exchange.Correlation] = true
			case trace.MessageReceived:
				if !sent[event.Exchange.Correlation] {
					t.Fatalf("message %d is received before it is sent", event.Exchange.Correlation)
				}
			}
		}
		if len(got) != steps {
			t.Fatalf("%d records came out of %d", len(got), steps)
		}
	})
}

func TestOrderIsByTimeBetweenNodes(t *testing.T) {
	order := newOrdering()
	order.add([]trace.Record{
		{Node: "a", Seq: 1, At: start.Add(1)}, {Node: "a", Seq: 2, At: start.Add(5)},
		{Node: "b", Seq: 1, At: start.Add(2)}, {Node: "b", Seq: 2, At: start.Add(9)},
	})
	got := order.release(start.Add(5), nil)
	if len(got) != 3 || got[0].Node != "a" || got[1].Node != "b" || got[2].Node != "a" {
		t.Fatalf("got %v", got)
	}
	// b's second record was younger than the drain; it waits once, so that a's that belongs before it can come.
	order.add([]trace.Record{{Node: "a", Seq: 3, At: start.Add(7)}})
	got = order.release(start.Add(20), nil)
	if len(got) != 2 || got[0].Node != "a" || got[1].Node != "b" {
		t.Fatalf("got %v", got)
	}
}

func TestNamedCauseGoesFirst(t *testing.T) {
	order := newOrdering()
	order.add([]trace.Record{
		{Node: "a", Seq: 1, At: start, Cause: trace.Ref{Node: "b", Seq: 2}},
		{Node: "b", Seq: 1, At: start.Add(3)}, {Node: "b", Seq: 2, At: start.Add(4)},
	})
	got := order.release(start.Add(10), nil)
	if len(got) != 3 || got[2].Node != "a" {
		t.Fatalf("got %v", got)
	}
}

func TestCausesThatGoInACircleDoNotHang(t *testing.T) {
	order := newOrdering()
	order.add([]trace.Record{
		{Node: "a", Seq: 1, At: start, Cause: trace.Ref{Node: "b", Seq: 1}},
		{Node: "b", Seq: 1, At: start.Add(1), Cause: trace.Ref{Node: "a", Seq: 1}},
	})
	if got := order.release(start.Add(2), nil); len(got) != 2 {
		t.Fatalf("got %v", got)
	}
}

func TestForgottenFlowIsNoCause(t *testing.T) {
	causes := newCauses(2)
	message := func(n int64) trace.Message {
		return trace.Message{Name: "Fetch", Exchange: trace.Exchange{Connection: strconv.FormatInt(n, 10), Correlation: n}}
	}
	for n := range int64(3) {
		record := trace.Record{Node: "a", Seq: uint64(n + 1), Data: trace.MessageSent{Message: message(n)}}
		causes.resolve(&record)
	}
	for n, want := range []trace.Ref{{}, {Node: "a", Seq: 2}, {Node: "a", Seq: 3}} {
		record := trace.Record{Node: "b", Seq: 1, Data: trace.MessageReceived{Message: message(int64(n))}}
		causes.resolve(&record)
		if record.Cause != want {
			t.Errorf("message %d: cause %v, want %v", n, record.Cause, want)
		}
	}
	if len(causes.flows) != 2 {
		t.Errorf("%d flows are remembered", len(causes.flows))
	}
}

// TestFoldedSendingIsTheCauseOfAllItsMessages: records stand for the sendings up to the number that they carry.
func TestFoldedSendingIsTheCauseOfAllItsMessages(t *testing.T) {
	causes := newCauses(10)
	message := func(name string, n int64) trace.Message {
		return trace.Message{Name: name, Exchange: trace.Exchange{Connection: "a>b", Correlation: n}}
	}
	for i, last := range []int64{10, 14, 20} {
		seq := uint64(i + 1)
		record := trace.Record{Node: "a", Seq: seq, Data: trace.MessageSent{Message: message("AppendEntries", last)}}
		causes.resolve(&record)
	}
	other := trace.Record{Node: "a", Seq: 9, Data: trace.MessageSent{Message: message("Vote", 12)}}
	causes.resolve(&other)
	for n, want := range map[int64]uint64{10: 1, 11: 2, 14: 2, 15: 3, 20: 3, 21: 0} {
		record := trace.Record{Node: "b", Seq: 1, Data: trace.MessageReceived{Message: message("AppendEntries", n)}}
		causes.resolve(&record)
		if record.Cause.Seq != want {
			t.Errorf("message %d: cause %d, want %d", n, record.Cause.Seq, want)
		}
	}
	folded := message("AppendEntries", 21)
	folded.Folded = 3
	record := trace.Record{Node: "b", Seq: 1, Data: trace.MessageReceived{Message: folded}}
	causes.resolve(&record)
	if record.Cause.Seq != 3 {
		t.Errorf("several messages, the last of which is not known to be sent: cause %d, want 3", record.Cause.Seq)
	}
	// Once more sendings were made than are remembered, a number below all of them is one that was forgotten.
	for n := int64(100); n < 100+sendingsKept; n++ {
		record := trace.Record{Node: "a", Seq: uint64(n), Data: trace.MessageSent{Message: message("AppendEntries", n)}}
		causes.resolve(&record)
	}
	for n, want := range map[int64]uint64{50: 0, 100: 100, 115: 115} {
		record := trace.Record{Node: "b", Seq: 1, Data: trace.MessageReceived{Message: message("AppendEntries", n)}}
		causes.resolve(&record)
		if record.Cause.Seq != want {
			t.Errorf("message %d: cause %d, want %d", n, record.Cause.Seq, want)
		}
	}
}
