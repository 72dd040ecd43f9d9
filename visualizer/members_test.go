package visualizer

import (
	"context"
	"errors"
	"strings"
	"testing"

	"twinlog/engine/cluster"
	"twinlog/engine/trace"
)

// withBookie is a classroom whose node 9 is a bookie that was there before this run: it is down, and nothing is heard of it.
func withBookie(files ...cluster.StoredFile) *classroom {
	room := newClassroom()
	room.serve()
	room.nodes = append(room.nodes, cluster.NodeStatus{
		Name: "bookie-9", Role: "bookie", ID: 9, State: cluster.StateKilled, Addresses: map[string]string{"bookie": "127.0.0.1:3189"},
	})
	room.tracers["bookie-9"] = trace.NewTracer("run", "bookie-9", 1000)
	room.files = map[string][]cluster.StoredFile{"bookie-9": files}
	return room
}

// TestABookieWithLedgersIsNotRemoved: what counts is which bookies a ledger names, not what this run saw them store.
func TestABookieWithLedgersIsNotRemoved(t *testing.T) {
	on := func(first int64, bookies ...string) trace.LedgerEnsemble {
		return trace.LedgerEnsemble{FirstEntry: first, Bookies: bookies}
	}
	const bookie, other = "127.0.0.1:3189", "127.0.0.1:3181"
	for name, the := range map[string]struct {
		ledger trace.LedgerMetadataRead
		files  []cluster.StoredFile
		want   string // in the refusal; empty: it goes
	}{
		"of another run":           {trace.LedgerMetadataRead{State: "closed", LastEntry: 9, Ensembles: []trace.LedgerEnsemble{on(0, other, bookie)}}, nil, "holds entries of 1 ledger (7)"},
		"an older ensemble":        {trace.LedgerMetadataRead{State: "closed", LastEntry: 9, Ensembles: []trace.LedgerEnsemble{on(0, bookie), on(5, other)}}, nil, "holds entries of 1 ledger (7)"},
		"open":                     {trace.LedgerMetadataRead{State: "open", LastEntry: -1, Ensembles: []trace.LedgerEnsemble{on(0, bookie)}}, nil, "holds entries of 1 ledger (7)"},
		"closed and empty":         {trace.LedgerMetadataRead{State: "closed", LastEntry: -1, Ensembles: []trace.LedgerEnsemble{on(0, bookie)}}, nil, ""},
		"an ensemble that is past": {trace.LedgerMetadataRead{State: "closed", LastEntry: 4, Ensembles: []trace.LedgerEnsemble{on(0, other), on(5, bookie)}}, nil, ""},
		"on others":                {trace.LedgerMetadataRead{State: "open", LastEntry: -1, Ensembles: []trace.LedgerEnsemble{on(0, other)}}, nil, ""},
		"of a topic that is not loaded": {
			trace.LedgerMetadataRead{State: "open", LastEntry: -1, Ensembles: []trace.LedgerEnsemble{on(0, other)}},
			[]cluster.StoredFile{{Name: "cookie", Bytes: 90}, {Name: "entrylog/00000000000000000000/00000000000000000000.log", Bytes: 50}, {Name: "journal/00000000000000000000.log", Bytes: 7}},
			"has 57 bytes of entries on its disk",
		},
	} {
		t.Run(name, func(t *testing.T) {
			room := withBookie(the.files...)
			_, url := serving(t, Config{Control: room})
			the.ledger.Ledger, the.ledger.WriteQuorum, the.ledger.AckQuorum = 7, 1, 1
			room.tracers["pulsar-4"].Emit(the.ledger)
			status, _, body := ask(t, "DELETE", url+"/api/v1/nodes/bookie-9", "")
			if the.want == "" {
				if status != 200 || len(room.Nodes()) != 4 {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			mustRefuse(t, status, body, 409, "holdsData")
			if !strings.Contains(body, the.want) {
				t.Errorf("it does not say %q: %s", the.want, body)
			}
			if status, _, body := ask(t, "DELETE", url+"/api/v1/nodes/bookie-9?force=true", ""); status != 200 {
				t.Errorf("with force: %d %s", status, body)
			}
		})
	}
}

// exactly is a classroom that can ask the ensemble.
type exactly struct {
	*classroom
	ledgers []int64
	err     error
}

func (e exactly) LedgersOn(_ context.Context, bookie string) ([]int64, error) {
	if bookie != "bookie-9" {
		return nil, errors.New("another bookie was meant")
	}
	return e.ledgers, e.err
}

// TestTheEnsembleKnowsWhatABookieIsNeededFor: then neither what the trace told nor what lies on its disk counts.
func TestTheEnsembleKnowsWhatABookieIsNeededFor(t *testing.T) {
	leftovers := cluster.StoredFile{Name: "entrylog/0/0.log", Bytes: 50} // of ledgers that are deleted
	for name, the := range map[string]struct {
		ledgers []int64
		err     error
		status  int
		want    string
	}{
		"nothing":         {nil, nil, 200, ""},
		"ledgers":         {[]int64{3, 12}, nil, 409, "holds entries of 2 ledgers (3, 12)"},
		"nobody can tell": {nil, errors.New("the ensemble has no majority"), 500, "whether it holds data cannot be told"},
	} {
		t.Run(name, func(t *testing.T) {
			room := withBookie(leftovers)
			_, url := serving(t, Config{Control: exactly{room, the.ledgers, the.err}})
			room.tracers["pulsar-4"].Emit(trace.LedgerMetadataRead{Ledger: 7, State: "open", LastEntry: -1, WriteQuorum: 1, AckQuorum: 1,
				Ensembles: []trace.LedgerEnsemble{{Bookies: []string{"127.0.0.1:3189"}}}}) // the writer may have deleted it since
			status, _, body := ask(t, "DELETE", url+"/api/v1/nodes/bookie-9", "")
			if status != the.status || !strings.Contains(body, the.want) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// TestANodeIsNotRemovedWhenNobodyKnowsWhatItHolds: the guard must not open because it cannot see.
func TestANodeIsNotRemovedWhenNobodyKnowsWhatItHolds(t *testing.T) {
	room := withBookie()
	server, err := New(Config{Control: room, Web: testPage, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	<-server.Ready()
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, node := range room.Nodes() { // the hub has ended
		if why, err := server.holds(t.Context(), node); err == nil {
			t.Errorf("%s: held %q, and no error", node.Name, why)
		}
	}
}
