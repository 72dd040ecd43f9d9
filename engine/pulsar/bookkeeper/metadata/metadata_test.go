package metadata_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/ledger"
)

func TestLedgerPath(t *testing.T) {
	for id, want := range map[int64]string{
		0:                   "/ledgers/00/0000/L0000",
		5:                   "/ledgers/00/0000/L0005",
		1234567890:          "/ledgers/12/3456/L7890",
		1<<31 - 1:           "/ledgers/21/4748/L3647",
		1 << 31:             "/ledgers/000/0000/0021/4748/L3648",
		9223372036854775807: "/ledgers/922/3372/0368/5477/L5807",
	} {
		if got := metadata.LedgerPath(id); got != want {
			t.Errorf("ledger %d: got %s, want %s", id, got, want)
		}
	}
}

func open(bookies ...string) ledger.Metadata {
	return ledger.Metadata{
		Ensemble: len(bookies), WriteQuorum: 1, AckQuorum: 1, State: ledger.Open, LastEntry: ledger.NoEntry, Digest: ledger.CRC32C,
		Created: time.UnixMilli(5), Segments: []ledger.Segment{{Bookies: bookies}},
	}
}

func TestLedgers(t *testing.T) {
	store := memorystore.NewServer().NewSession()
	for range 2 { // twice is once
		if err := metadata.Format(store); err != nil {
			t.Fatal(err)
		}
	}
	var ids []int64
	for range 3 {
		id, err := metadata.NewLedgerID(store)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if ids[0] >= ids[1] || ids[1] >= ids[2] {
		t.Errorf("ids are not new each time: %v", ids)
	}
	ids = append(ids, 1<<40)
	for _, id := range ids {
		if _, err := metadata.CreateLedger(store, id, open("a:1", "b:1")); err != nil {
			t.Fatal(err)
		}
	}
	var listed []int64
	if err := metadata.ListLedgers(t.Context(), store, func(id int64) { listed = append(listed, id) }); err != nil {
		t.Fatal(err)
	}
	if slices.Sort(listed); !slices.Equal(listed, ids) {
		t.Errorf("listed %v, want %v", listed, ids)
	}
	first, err := metadata.ReadLedger(store, ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := metadata.WriteLedger(store, ids[0], first.WithClosed(3, 4), first.Version); err != nil {
		t.Fatal(err)
	}
	if _, err := metadata.WriteLedger(store, ids[0], first.WithClosed(5, 6), first.Version); !errors.Is(err, metadata.ErrConflict) {
		t.Errorf("two closed the ledger at different entries: %v", err)
	}
	if err := metadata.DeleteLedger(store, ids[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := metadata.ReadLedger(store, ids[0]); !errors.Is(err, metadata.ErrNoSuchLedger) {
		t.Errorf("deleted ledger: %v", err)
	}
}

func TestRegisterTakesOver(t *testing.T) {
	server := memorystore.NewServer()
	dead, reborn, client := server.NewSession(), server.NewSession(), server.NewSession()
	if err := metadata.Format(dead); err != nil {
		t.Fatal(err)
	}
	for _, session := range []*memorystore.Session{dead, reborn} {
		if err := metadata.Register(session, "127.0.0.1:3181", false); err != nil {
			t.Fatal(err)
		}
	}
	dead.End() // its session expires late
	bookies, changed, err := metadata.WatchBookies(client)
	if err != nil || !slices.Equal(bookies, []string{"127.0.0.1:3181"}) {
		t.Errorf("bookies %v, %v", bookies, err)
	}
	reborn.End()
	<-changed
	if bookies, _, err := metadata.WatchBookies(client); err != nil || len(bookies) != 0 {
		t.Errorf("bookies after the session ended: %v, %v", bookies, err)
	}
}

func TestCookie(t *testing.T) {
	c := metadata.Cookie{Bookie: "127.0.0.1:3181", JournalDir: "journal", LedgerDirs: "1\tentrylog", InstanceID: "id \"quoted\""}
	want := "5\nbookieHost: \"127.0.0.1:3181\"\njournalDir: \"journal\"\nledgerDirs: \"1\\tentrylog\"\ninstanceId: \"id \\\"quoted\\\"\"\n"
	if got := c.Encode(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if back, err := metadata.DecodeCookie(c.Encode()); err != nil || back != c {
		t.Errorf("read back %+v, %v", back, err)
	}
	for _, bad := range []string{"", "4\n", "5\nbookieHost: nobody\n"} {
		if _, err := metadata.DecodeCookie(bad); err == nil {
			t.Errorf("decoded %q", bad)
		}
	}
}

func TestLedgersOn(t *testing.T) {
	const bookie, other = "a:1", "b:1"
	segment := func(first int64, bookies ...string) ledger.Segment {
		return ledger.Segment{FirstEntry: first, Bookies: bookies}
	}
	store := memorystore.NewServer().NewSession()
	if err := metadata.Format(store); err != nil {
		t.Fatal(err)
	}
	var want []int64
	for i, c := range []struct {
		counts   bool
		state    ledger.State
		last     int64
		segments []ledger.Segment
	}{
		{true, ledger.Open, ledger.NoEntry, []ledger.Segment{segment(0, bookie)}},
		{false, ledger.Open, ledger.NoEntry, []ledger.Segment{segment(0, other)}},
		{true, ledger.Closed, 9, []ledger.Segment{segment(0, bookie), segment(5, other)}},
		{true, ledger.Closed, 9, []ledger.Segment{segment(0, other), segment(9, bookie)}},
		{false, ledger.Closed, 4, []ledger.Segment{segment(0, other), segment(5, bookie)}},
		{false, ledger.Closed, ledger.NoEntry, []ledger.Segment{segment(0, bookie)}},
		{true, ledger.InRecovery, ledger.NoEntry, []ledger.Segment{segment(0, other), segment(5, bookie)}},
	} {
		id := int64(i) << 28 // short and long paths
		m := open(other)
		m.State, m.LastEntry, m.Segments = c.state, c.last, c.segments
		if _, err := metadata.CreateLedger(store, id, m); err != nil {
			t.Fatal(err)
		}
		if c.counts {
			want = append(want, id)
		}
	}
	got, err := metadata.LedgersOn(t.Context(), store, bookie)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if _, err := store.Create(metadata.LedgerPath(99), []byte("not metadata"), 0, metadata.Open()); err != nil {
		t.Fatal(err)
	}
	if got, err := metadata.LedgersOn(t.Context(), store, bookie); err == nil {
		t.Errorf("with a ledger that cannot be read: %v", got)
	}
}
