package hub

import (
	"context"
	"encoding/json"

	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/visualizer/wire"
)

// notables keeps the newest of the records that the page's story tells and that are marks on its timeline: of a long run a page fetches the
// last part only, and what mattered before it would be told nowhere. It is bounded by count and by bytes, and counts what has made room.
//
// What is notable is decided by the page (web/src/scene/story.ts) and here once more (told.go), so that a producer that is refused a
// thousand times does not push an election out. testdata holds the two equal.
type notables struct {
	kept       []notable // oldest first
	bytes      int
	dropped    uint64
	maxRecords int
	maxBytes   int
	told       told
}

// notable is a record as its JSON, with the names that its sentence says.
type notable struct {
	n     uint64
	text  []byte
	names wire.NotableNames
}

func newNotables(maxRecords, maxBytes int) *notables {
	return &notables{maxRecords: maxRecords, maxBytes: maxBytes, told: newTold()}
}

// take keeps record n if it is notable and says something new. State is the one after it.
func (k *notables) take(n uint64, record *trace.Record, text []byte, state *world.State) {
	if !k.told.tells(record) {
		return
	}
	one := notable{n: n, text: text, names: namesFor(record, state)}
	k.kept = append(k.kept, one)
	k.bytes += one.size()
	for len(k.kept) > k.maxRecords || k.bytes > k.maxBytes && len(k.kept) > 0 {
		k.bytes -= k.kept[0].size()
		k.kept[0] = notable{}
		k.kept = k.kept[1:]
		k.dropped++
	}
}

// size is what a record counts for, in bytes.
func (one notable) size() int {
	size := len(one.text) + len(one.names.Role) + len(one.names.Client) + len(one.names.Consumer) + len(one.names.ManagedLedger) + len(one.names.Broker)
	for address, node := range one.names.Bookies {
		size += len(address) + len(node)
	}
	return size
}

// upTo returns the records that are kept and not after n.
func (k *notables) upTo(n uint64) []notable {
	end := len(k.kept)
	for end > 0 && k.kept[end-1].n > n {
		end--
	}
	return k.kept[:end:end]
}

// PackedNotable is a wire.Notable whose record is JSON already.
type PackedNotable struct {
	Record json.RawMessage   `json:"record"`
	Names  wire.NotableNames `json:"names"`
}

// Notable returns the notable records up to n that are kept, oldest first, and how many older ones have made room.
func (h *Hub) Notable(ctx context.Context, n uint64) (records []PackedNotable, dropped uint64, err error) {
	var kept []notable
	if err := h.do(ctx, func() { kept, dropped = append(kept, h.notables.upTo(n)...), h.notables.dropped }); err != nil {
		return nil, 0, err
	}
	records = make([]PackedNotable, len(kept))
	for i, one := range kept {
		records[i] = PackedNotable{Record: one.text, Names: one.names}
	}
	return records, dropped, nil
}

// namesFor finds what a record's sentence says and the record does not: the state may forget it later.
func namesFor(record *trace.Record, state *world.State) wire.NotableNames {
	names := wire.NotableNames{}
	if node := state.Nodes[record.Node]; node != nil {
		names.Role = node.Role
	}
	switch event := record.Data.(type) {
	case trace.SessionEnded:
		names.Client = clientOfEnded(event.Session, state)
	case trace.WatchFired:
		if session := state.Ensemble.Sessions[event.Session]; session != nil {
			names.Client = session.Client
		}
	case trace.PulsarLookupAnswered:
		if lookups := state.Pulsar.Lookups; len(lookups) > 0 {
			names.Broker = lookups[len(lookups)-1].Target // the state after the record: the last lookup is its own
		}
	case trace.PulsarActiveConsumerChanged:
		names.Consumer = consumerName(event, state)
	case trace.LedgerOpened:
		names.ManagedLedger, names.Bookies = event.ManagedLedger, bookieNames(state, event.Ensemble)
	case trace.LedgerEnsembleChanged:
		names.ManagedLedger, names.Bookies = managedLedger(event.Ledger, state), bookieNames(state, event.Ensemble, event.Replaced)
	case trace.LedgerFenced:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.LedgerRecoveryStarted:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.PulsarLedgerOffloadStarted:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.PulsarLedgerOffloaded:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.PulsarLedgerOffloadFailed:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.PulsarLedgerDeletedFromBookies:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.LedgerClosed:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.LedgerUnderReplicated:
		names.ManagedLedger, names.Bookies = managedLedger(event.Ledger, state), bookieNames(state, event.Missing)
	case trace.ReplicationStarted:
		names.ManagedLedger, names.Bookies = managedLedger(event.Ledger, state), bookieNames(state, event.Lost, event.Replacements)
	case trace.FragmentReplicated:
		names.ManagedLedger, names.Bookies = managedLedger(event.Ledger, state), bookieNames(state, event.Lost, event.Replacements)
	case trace.ReplicationPostponed:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	case trace.LedgerReplicated:
		names.ManagedLedger = managedLedger(event.Ledger, state)
	}
	return names
}

func clientOfEnded(session string, state *world.State) string {
	for i := len(state.Ensemble.Ended) - 1; i >= 0; i-- {
		if ended := state.Ensemble.Ended[i]; ended.Session == session {
			return ended.Client
		}
	}
	return ""
}

func consumerName(event trace.PulsarActiveConsumerChanged, state *world.State) string {
	topic := state.Pulsar.Topics[event.Topic]
	if topic == nil || topic.Subscriptions[event.Subscription] == nil {
		return ""
	}
	consumer := topic.Subscriptions[event.Subscription].Consumers[event.Consumer]
	if consumer == nil {
		return ""
	}
	return consumer.Name
}

func managedLedger(id int64, state *world.State) string {
	if ledger := state.Pulsar.Ledgers[number(id)]; ledger != nil {
		return ledger.ManagedLedger
	}
	return ""
}

// bookieNames is which nodes the bookies at these addresses are.
func bookieNames(state *world.State, lists ...[]string) map[string]string {
	names := map[string]string{}
	for _, addresses := range lists {
		for _, address := range addresses {
			if bookie := state.Pulsar.Bookies[address]; bookie != nil {
				names[address] = bookie.Node
			}
		}
	}
	return names
}
