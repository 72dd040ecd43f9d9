package managedledger

import (
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	pb "twinlog/engine/pulsar/bookkeeperpb"
	"twinlog/engine/pulsar/offloaded"
)

var sealedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// sealed is a ledger of 100 bytes that was sealed so many minutes after sealedAt.
func sealed(id int64, minutes int, offload *Offload) LedgerInfo {
	return LedgerInfo{Ledger: id, Entries: 10, Bytes: 100, Closed: sealedAt.Add(time.Duration(minutes) * time.Minute), Offload: offload}
}

func ids(ledgers []LedgerInfo) (ids []int64) {
	for _, l := range ledgers {
		ids = append(ids, l.Ledger)
	}
	return ids
}

func TestWhichLedgersAreOffloaded(t *testing.T) {
	begun := &Offload{UID: offloaded.UID{High: 1}}
	whole := &Offload{UID: offloaded.UID{High: 2}, Complete: true, At: sealedAt}
	gone := &Offload{UID: offloaded.UID{High: 3}, Complete: true, At: sealedAt, DeletedFromBookies: true}
	empty := sealed(5, 4, nil)
	empty.Entries, empty.Bytes = 0, 0
	current := LedgerInfo{Ledger: 9, Entries: 3, Bytes: 30}
	list := ledgerList{sealed(1, 0, gone), sealed(2, 1, whole), sealed(3, 2, begun), sealed(4, 3, nil), empty, sealed(7, 5, nil), current}
	terminated := ledgerList{sealed(1, 0, nil), sealed(2, 1, nil)}
	policy := func(size int64, age time.Duration) OffloadPolicy { return OffloadPolicy{Size: size, Age: age} }
	now := sealedAt.Add(10 * time.Minute)
	for _, c := range []struct {
		name string
		got  []LedgerInfo
		want []int64
	}{
		{"before the current ledger", list.offloadable(9), []int64{3, 4, 7}},
		{"beyond the end", list.offloadable(100), []int64{3, 4, 7}},
		{"before a sealed one", list.offloadable(7), []int64{3, 4}},
		{"before all", list.offloadable(1), nil},
		{"the last ledger of a terminated one stays", terminated.offloadable(100), []int64{1}},
		{"an empty list", ledgerList{}.offloadable(100), nil},
		{"no threshold", list.due(policy(-1, -1), now), nil},
		{"as soon as possible", list.due(policy(0, -1), now), []int64{3, 4, 7}},
		{"bookies may keep 130 bytes", list.due(policy(130, -1), now), []int64{3, 4}},
		{"bookies may keep 129 bytes", list.due(policy(129, -1), now), []int64{3, 4, 7}},
		{"bookies may keep it all", list.due(policy(330, -1), now), nil},
		{"older than 7 minutes", list.due(policy(-1, 7*time.Minute), now), []int64{3, 4}},
		{"older than 9 minutes", list.due(policy(-1, 9*time.Minute), now), nil},
		{"either reason", list.due(policy(329, 7*time.Minute), now), []int64{3, 4}},
		{"leaving bookies at once", list.leavingBookies(0, now), []int64{2}},
		{"leaving bookies after 10 minutes", list.leavingBookies(10*time.Minute, now), []int64{2}},
		{"leaving bookies after more", list.leavingBookies(11*time.Minute, now), nil},
		{"never leaving bookies", list.leavingBookies(-1, now), nil},
		{"broken off", list.brokenOff(), []int64{3}},
	} {
		if got := ids(c.got); !slices.Equal(got, c.want) {
			t.Errorf("%s: ledgers %v, want %v", c.name, got, c.want)
		}
	}
	if got, want := list.firstInBookies(), (Position{Ledger: 3}); got != want {
		t.Errorf("first position in bookies: %v, want %v", got, want)
	}
}

// After the ledgers that are due are offloaded, none is due any more, and bookies alone have no more than they may, unless the ledger that
// takes the adds is too large by itself.
func TestWhatIsDueIsEnough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, _ := drawList(t)
		for i := range list {
			list[i].Bytes = list[i].Entries * 10
			if i < len(list)-1 {
				list[i].Closed = sealedAt.Add(time.Duration(i) * time.Minute)
			}
			if i < len(list)-1 && rapid.Bool().Draw(t, "offloaded") {
				list[i].Offload = &Offload{Complete: true}
			}
		}
		policy := OffloadPolicy{Size: rapid.Int64Range(-1, 150).Draw(t, "size"), Age: time.Duration(rapid.Int64Range(-1, 5).Draw(t, "age")) * time.Minute}
		now := sealedAt.Add(4 * time.Minute)
		for _, due := range list.due(policy, now) {
			list[list.at(due.Ledger)].Offload = &Offload{Complete: true}
		}
		if again := list.due(policy, now); len(again) > 0 {
			t.Fatalf("ledgers %v are due once more", ids(again))
		}
		var inBookies int64
		for _, info := range list {
			if !info.Offloaded() {
				inBookies += info.Bytes
			}
		}
		if policy.Size >= 0 && len(list) > 0 && inBookies > max(policy.Size, list[len(list)-1].Bytes) {
			t.Fatalf("%d bytes are in bookies alone, %d may be", inBookies, policy.Size)
		}
	})
}

func TestOffloadIsKeptInTheMetadata(t *testing.T) {
	whole := info{properties: map[string]string{}, ledgers: ledgerList{
		sealed(1, 0, &Offload{UID: offloaded.MakeUID([16]byte{255, 1, 8: 255}), Driver: "filesystem"}),
		sealed(2, 0, &Offload{UID: offloaded.UID{High: -1, Low: 7}, Complete: true, DeletedFromBookies: true, At: sealedAt, Driver: "S3"}),
		sealed(3, 0, nil),
	}}
	value, err := whole.encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := decodeInfo(value)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range whole.ledgers {
		if got := read.ledgers[i]; !sameOffload(got.Offload, want.Offload) {
			t.Errorf("ledger %d: offload %+v, want %+v", want.Ledger, got.Offload, want.Offload)
		}
	}
}

func sameOffload(a, b *Offload) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.UID == b.UID && a.Complete == b.Complete && a.DeletedFromBookies == b.DeletedFromBookies && a.At.Equal(b.At) && a.Driver == b.Driver &&
		slices.EqualFunc(a.properties, b.properties, func(a, b *pb.KeyValue) bool { return proto.Equal(a, b) })
}
