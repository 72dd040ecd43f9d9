package metadata_test

import (
	"slices"
	"testing"
	"time"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
)

func TestMarkPath(t *testing.T) {
	for id, want := range map[int64]string{
		5:                  "/ledgers/underreplication/ledgers/0000/0000/0000/0005/urL0000000005",
		0x7afebeef0000feed: "/ledgers/underreplication/ledgers/7afe/beef/0000/feed/urL8862731050418241261",
		1<<31 - 1:          "/ledgers/underreplication/ledgers/0000/0000/7fff/ffff/urL2147483647",
	} {
		if got := metadata.MarkPath(id); got != want {
			t.Errorf("ledger %d: got %s, want %s", id, got, want)
		}
	}
	if id, ok := metadata.MarkedLedger("urL0000000005"); id != 5 || !ok {
		t.Errorf("got %d, %v", id, ok)
	}
	for _, bad := range []string{"0000", "urL", "urL5", "urL00000000-5", "L0005"} {
		if id, ok := metadata.MarkedLedger(bad); ok {
			t.Errorf("%s marks ledger %d", bad, id)
		}
	}
}

func TestMarks(t *testing.T) {
	server := memorystore.NewServer()
	store, other := server.NewSession(), server.NewSession()
	if err := metadata.Format(store); err != nil {
		t.Fatal(err)
	}
	now := time.UnixMilli(1_700_000_000_123)
	for i, step := range []struct {
		missing []string
		isNew   bool
		want    string
	}{
		{[]string{"a:1"}, true, "replica: \"a:1\"\nctime: 1700000000123\n"},
		{[]string{"a:1"}, false, "replica: \"a:1\"\nctime: 1700000000123\n"},
		{[]string{"b:1", "a:1"}, true, "replica: \"a:1\"\nreplica: \"b:1\"\nctime: 1700000000123\n"},
	} {
		mark, isNew, err := metadata.MarkUnderreplicated(store, 7, step.missing, now)
		if err != nil || isNew != step.isNew || mark.Encode() != step.want {
			t.Errorf("step %d: %q, new %v, %v", i, mark.Encode(), isNew, err)
		}
		if value, _, err := store.Get(metadata.MarkPath(7)); err != nil || string(value) != step.want {
			t.Errorf("step %d: the znode has %q, %v", i, value, err)
		}
	}
	for i, step := range []struct {
		store *memorystore.Session
		want  bool
	}{{store, true}, {other, false}} {
		if got, err := metadata.LockMarked(step.store, 7, "c:1"); err != nil || got != step.want {
			t.Errorf("lock %d: %v, %v", i, got, err)
		}
	}
	if err := metadata.UnlockMarked(other, 7, other.ID()); err != nil { // not its own
		t.Fatal(err)
	}
	if owns, err := metadata.OwnsLock(store, 7, store.ID()); err != nil || !owns {
		t.Errorf("the lock is gone: %v, %v", owns, err)
	}
	if gone, err := metadata.Unmark(store, 7, 0); err != nil || gone {
		t.Errorf("the mark that has changed since is gone: %v, %v", gone, err)
	}
	version, found, err := metadata.MarkVersion(store, 7)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if _, _, err := metadata.MarkUnderreplicated(store, 6, []string{"a:1"}, now); err != nil {
		t.Fatal(err)
	}
	if gone, err := metadata.Unmark(store, 7, version); err != nil || !gone {
		t.Errorf("the mark is there: %v, %v", gone, err)
	}
	if children, _, err := store.Children("/ledgers/underreplication/ledgers/0000/0000/0000"); err != nil || !slices.Equal(children, []string{"0006"}) {
		t.Errorf("left are %v, %v", children, err)
	}
	if gone, err := metadata.Unmark(store, 6, 0); err != nil || !gone {
		t.Errorf("the other mark is there: %v, %v", gone, err)
	}
	if children, _, err := store.Children(metadata.MarksPath); err != nil || len(children) > 0 {
		t.Errorf("left are %v, %v", children, err)
	}
	other.End()
	if err := metadata.UnlockMarked(store, 7, store.ID()); err != nil {
		t.Fatal(err)
	}
	if got, err := metadata.LockMarked(store, 7, "c:1"); err != nil || !got {
		t.Errorf("the lock cannot be taken again: %v, %v", got, err)
	}
}

func TestAuditorElection(t *testing.T) {
	server := memorystore.NewServer()
	sessions := []*memorystore.Session{server.NewSession(), server.NewSession(), server.NewSession()}
	if err := metadata.Format(sessions[0]); err != nil {
		t.Fatal(err)
	}
	var votes []string
	for _, session := range sessions {
		vote, err := metadata.Vote(session, "a:1")
		if err != nil {
			t.Fatal(err)
		}
		votes = append(votes, vote)
	}
	for i, want := range votes {
		names, _, err := sessions[2].Children(metadata.ElectionPath)
		if got := metadata.FirstVote(names); err != nil || got != want {
			t.Errorf("%d: the auditor is %s, want %s", i, got, want)
		}
		if i < 2 {
			sessions[i].End()
		}
	}
	if got := metadata.FirstVote([]string{"leader"}); got != "" {
		t.Errorf("no vote makes %s the auditor", got)
	}
}
