package broker

import (
	"testing"
	"time"

	"twinlog/engine/pulsar/bundle"
)

// brokersOfALeader are two brokers as a leader knows them from their reports.
type brokersOfALeader struct {
	*leadership
	now     time.Time
	reports map[string]BrokerData
}

func newBrokersOfALeader() *brokersOfALeader {
	b := &brokersOfALeader{leadership: newLeadership(), now: time.UnixMilli(1_700_000_000_000), reports: map[string]BrokerData{}}
	b.report("busy", "public/default/0x00000000_0x40000000", "public/default/0x40000000_0x80000000")
	b.report("idle")
	return b
}

func (b *brokersOfALeader) report(broker string, bundles ...string) {
	b.reports[broker] = BrokerData{Bundles: bundles, LastUpdate: b.now.UnixMilli()}
}

// passes lets time go by.
func (b *brokersOfALeader) passes(time time.Duration) { b.now = b.now.Add(time) }

func (b *brokersOfALeader) want(wanted Bundle, broker string) {
	b.wanted[wanted] = placement{broker: broker, at: b.now}
}

func (b *brokersOfALeader) expect(t *testing.T, wanted Bundle, broker string) {
	t.Helper()
	var loads []bundle.Load
	for name, report := range b.reports {
		loads = append(loads, bundle.Load{Broker: name, Bundles: len(report.Bundles)})
	}
	if chosen, found := b.choose(wanted, loads, b.reports, b.now, 0); !found || chosen != broker {
		t.Errorf("%v goes to %q, want %q", wanted, chosen, broker)
	}
	b.passes(10 * time.Millisecond)
}

var unloadedBundle = Bundle{Namespace: "public/default", Range: bundle.Range{Lower: 0, Upper: 0x40000000}}

// TestADestinationIsUsedOnce: a bundle goes where it is wanted, whoever asks meanwhile; when it is given up again, it goes where it fits.
func TestADestinationIsUsedOnce(t *testing.T) {
	text := unloadedBundle.String()
	t.Run("reported", func(t *testing.T) {
		b := newBrokersOfALeader()
		b.want(unloadedBundle, "busy")
		b.passes(time.Second)
		b.expect(t, unloadedBundle, "busy")
		b.expect(t, unloadedBundle, "busy") // another client, before the first one has got there
		b.report("busy", text, "one", "two")
		b.passes(time.Second) // it was unloaded, and is not reported as gone yet
		b.expect(t, unloadedBundle, "idle")
	})
	t.Run("reported as gone again", func(t *testing.T) {
		b := newBrokersOfALeader()
		b.want(unloadedBundle, "busy")
		b.expect(t, unloadedBundle, "busy")
		b.passes(placementFollowed)
		b.report("busy", "one", "two")
		b.expect(t, unloadedBundle, "idle")
	})
	t.Run("taken back", func(t *testing.T) {
		b := newBrokersOfALeader()
		b.want(unloadedBundle, "busy")
		b.takeBack(unloadedBundle)
		b.expect(t, unloadedBundle, "idle")
		b.want(unloadedBundle, "busy")
		b.expect(t, unloadedBundle, "busy")
		b.takeBack(unloadedBundle)
		b.expect(t, unloadedBundle, "idle")
	})
	t.Run("too late", func(t *testing.T) {
		b := newBrokersOfALeader()
		b.want(unloadedBundle, "busy")
		b.passes(placementMemory)
		b.expect(t, unloadedBundle, "idle")
	})
	t.Run("dead", func(t *testing.T) {
		b := newBrokersOfALeader()
		b.want(unloadedBundle, "busy")
		b.expect(t, unloadedBundle, "busy")
		delete(b.reports, "busy")
		b.expect(t, unloadedBundle, "idle")
	})
}

// TestAnOldReportDoesNotEndAPromise: the old owner's report still has the bundle, a new destination's reports something else.
func TestAnOldReportDoesNotEndAPromise(t *testing.T) {
	b := newBrokersOfALeader()
	b.report("idle", unloadedBundle.String())
	b.passes(time.Second)
	b.want(unloadedBundle, "busy")
	b.expect(t, unloadedBundle, "busy")
	other := Bundle{Namespace: "public/default", Range: bundle.Range{Lower: 0x80000000, Upper: 0xffffffff}}
	b.expect(t, other, "idle")
	b.report("busy", "one", "two", "three")
	b.expect(t, unloadedBundle, "busy")
	if len(b.wanted) != 0 || len(b.placed) != 2 {
		t.Errorf("wanted are %v, promised %v", b.wanted, b.placed)
	}
}
