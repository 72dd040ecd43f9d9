package group

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/sentence"
)

func TestFirstMembersWaitForMore(t *testing.T) {
	w := newWorld(t)
	first := w.join(nil)
	w.pass(2 * time.Second)
	w.waits(first)
	second := w.join(nil) // comes within the delay: it is extended
	w.pass(2 * time.Second)
	w.waits(first)
	w.pass(2 * time.Second)
	leader, follower := w.joined(first), w.joined(second)
	if leader.Generation != 1 || leader.Leader != leader.MemberID || len(leader.Members) != 2 || len(follower.Members) != 0 || follower.Leader != leader.MemberID {
		t.Errorf("leader %+v, follower %+v", leader, follower)
	}
	w.is(CompletingRebalance)
}

func TestInitialDelayEndsWithTheRebalanceTimeout(t *testing.T) {
	w := newWorld(t)
	first := w.join(func(r *JoinRequest) { r.RebalanceTimeout = 7 * time.Second })
	for range 5 {
		w.pass(2 * time.Second)
		w.join(func(r *JoinRequest) { r.RebalanceTimeout = 7 * time.Second })
	}
	if w.joined(first).Generation != 1 {
		t.Error("the delay went on for ever")
	}
}

func TestMemberIDRequired(t *testing.T) {
	w := newWorld(t)
	known := func(r *JoinRequest) { r.RequireKnownMember = true }
	answer := w.joined(w.join(known))
	w.wants("the first try", answer.Err, kerr.MemberIDRequired)
	if answer.MemberID == "" || answer.Generation != -1 {
		t.Errorf("answer %+v", answer)
	}
	w.is(Empty)
	again := w.join(func(r *JoinRequest) { known(r); r.MemberID = answer.MemberID })
	w.pass(10 * time.Second)
	if got := w.joined(again); got.Err != nil || got.MemberID != answer.MemberID {
		t.Errorf("the second try: %+v", got)
	}
	// Static members and old clients get no such answer.
	w = newWorld(t)
	w.waits(w.join(func(r *JoinRequest) { known(r); r.InstanceID = "i" }))
	w.waits(w.join(nil))
}

func TestPendingMembersAreBounded(t *testing.T) {
	w := newWorld(t)
	known := func(r *JoinRequest) { r.RequireKnownMember = true }
	for range maxPending {
		w.wants("a new member", w.joined(w.join(known)).Err, kerr.MemberIDRequired)
	}
	w.wants("one too many", w.joined(w.join(known)).Err, kerr.GroupMaxSizeReached)
	w.pass(time.Minute)
	w.wants("after the others gave up", w.joined(w.join(known)).Err, kerr.MemberIDRequired)
}

func TestPendingMemberHoldsTheRebalanceAndExpires(t *testing.T) {
	w, ids := stable(t, "")
	pending := w.joined(w.join(func(r *JoinRequest) { r.RequireKnownMember = true })).MemberID
	again := w.join(func(r *JoinRequest) { r.MemberID = ids[0] }) // the leader rejoins
	w.waits(again)
	w.pass(11 * time.Second)
	if got := w.joined(again); got.Err != nil || got.Generation != 2 {
		t.Errorf("after the pending member expired: %+v", got)
	}
	w.wants("the pending member comes late", w.joined(w.join(func(r *JoinRequest) { r.MemberID = pending })).Err, kerr.UnknownMemberID)
}

func TestJoinRefusals(t *testing.T) {
	w, ids := stable(t, "", "i")
	for _, test := range []struct {
		name   string
		change func(*JoinRequest)
		want   *kerr.Error
	}{
		{"unknown member", func(r *JoinRequest) { r.MemberID = "x" }, kerr.UnknownMemberID},
		{"short session", func(r *JoinRequest) { r.SessionTimeout = time.Second }, kerr.InvalidSessionTimeout},
		{"long session", func(r *JoinRequest) { r.SessionTimeout = time.Hour }, kerr.InvalidSessionTimeout},
		{"other protocol type", func(r *JoinRequest) { r.ProtocolType = "connect" }, kerr.InconsistentGroupProtocol},
		{"no common protocol", func(r *JoinRequest) { r.Protocols = []Protocol{{"sticky", nil}} }, kerr.InconsistentGroupProtocol},
		{"zombie of a static member", func(r *JoinRequest) { r.MemberID, r.InstanceID = ids[0], "i" }, kerr.FencedInstanceID},
		{"unknown instance", func(r *JoinRequest) { r.MemberID, r.InstanceID = ids[0], "j" }, kerr.UnknownMemberID},
	} {
		answer := w.joined(w.join(test.change))
		w.wants(test.name, answer.Err, test.want)
	}
	w.is(Stable)
	empty := newWorld(t)
	empty.wants("no protocols", empty.joined(empty.join(func(r *JoinRequest) { r.Protocols = nil })).Err, kerr.InconsistentGroupProtocol)
	full := newWorld(t)
	full.group.settings.MaxSize = 1
	first := full.join(nil)
	full.passJoin()
	full.joined(first)
	full.sync(full.joined(first).MemberID, 1, nil)
	full.wants("one too many", full.joined(full.join(nil)).Err, kerr.GroupMaxSizeReached)
}

func TestRebalanceRound(t *testing.T) {
	w, ids := stable(t, "", "")
	third := w.join(nil)
	w.is(PreparingRebalance)
	w.waits(third)
	for _, id := range ids {
		w.wants("heartbeat during the rebalance", w.group.Heartbeat(id, "", 1, w.now), kerr.RebalanceInProgress)
		w.wants("commit during the rebalance", w.group.CheckCommit(id, "", 1, w.now), nil)
		w.wants("sync during the rebalance", w.synced(w.sync(id, 1, nil)).Err, kerr.RebalanceInProgress)
	}
	second := w.join(func(r *JoinRequest) { r.MemberID = ids[1] })
	w.waits(second)
	first := w.join(func(r *JoinRequest) { r.MemberID = ids[0] })
	for _, ticket := range []Ticket{first, second, third} {
		if got := w.joined(ticket); got.Err != nil || got.Generation != 2 || got.Leader != ids[0] {
			t.Errorf("join: %+v", got)
		}
	}
	w.is(CompletingRebalance)
	w.wants("commit before sync", w.group.CheckCommit(ids[1], "", 2, w.now), kerr.RebalanceInProgress)
	w.wants("old generation", w.group.CheckCommit(ids[1], "", 1, w.now), kerr.IllegalGeneration)
	w.wants("heartbeat while completing", w.group.Heartbeat(ids[1], "", 2, w.now), nil)
	waiting := w.sync(ids[1], 2, nil)
	w.waits(waiting)
	w.wants("sync of an old generation", w.synced(w.sync(ids[1], 1, nil)).Err, kerr.IllegalGeneration)
	w.wants("sync with another protocol", w.synced(w.sync(ids[1], 2, func(r *SyncRequest) { r.Protocol = "sticky" })).Err, kerr.InconsistentGroupProtocol)
	w.sync(ids[0], 2, func(r *SyncRequest) { r.Assignments = map[string][]byte{ids[1]: []byte("all")} })
	if got := w.synced(waiting); got.Err != nil || string(got.Assignment) != "all" || got.Protocol != "range" {
		t.Errorf("sync: %+v", got)
	}
	w.is(Stable)
	late := w.synced(w.sync(w.joined(third).MemberID, 2, nil))
	if late.Err != nil || len(late.Assignment) != 0 {
		t.Errorf("a member that the leader left out: %+v", late)
	}
	if store := w.stored[len(w.stored)-1].Metadata; store.Generation != 2 || len(store.Members) != 3 || string(store.Members[1].Assignment) != "all" || store.Leader != ids[0] {
		t.Errorf("stored %+v", store)
	}
}

func TestWhoDoesNotRejoinIsOut(t *testing.T) {
	w, ids := stable(t, "", "")
	again := w.join(func(r *JoinRequest) { r.MemberID = ids[0]; r.Protocols = []Protocol{{"range", subscription("t", "u")}} })
	for range 6 { // the other one sends heartbeats, but never joins
		w.pass(9 * time.Second)
		w.wants("heartbeat", w.group.Heartbeat(ids[1], "", 1, w.now), kerr.RebalanceInProgress)
		w.waits(again)
	}
	w.pass(10 * time.Second) // the rebalance timeout is a minute
	if got := w.joined(again); got.Err != nil || len(got.Members) != 1 {
		t.Errorf("join: %+v", got)
	}
	w.wants("the other one", w.group.Heartbeat(ids[1], "", 2, w.now), kerr.UnknownMemberID)
}

func TestSessionExpiry(t *testing.T) {
	w, ids := stable(t, "", "")
	for range 5 {
		w.pass(8 * time.Second)
		w.wants("heartbeat", w.group.Heartbeat(ids[0], "", 1, w.now), nil)
		if w.group.State() == PreparingRebalance {
			t.Fatal("the first expiry came too early")
		}
		if w.group.members[ids[1]] == nil {
			break
		}
		w.group.Heartbeat(ids[1], "", 1, w.now)
	}
	w.pass(8 * time.Second)
	w.group.Heartbeat(ids[0], "", 1, w.now)
	w.pass(3 * time.Second)
	w.is(PreparingRebalance) // the second was silent for more than ten seconds
	if w.group.members[ids[1]] != nil || w.group.members[ids[0]] == nil {
		t.Error("the wrong member is out")
	}
}

func TestLastMemberLeaves(t *testing.T) {
	w, ids := stable(t, "")
	whole, each := w.group.Leave([]Leaver{{MemberID: ids[0]}, {MemberID: "x"}, {InstanceID: "i"}}, w.now)
	w.settle()
	if whole != nil || !slices.Equal(each, []*kerr.Error{nil, kerr.UnknownMemberID, kerr.UnknownMemberID}) {
		t.Errorf("answers %v %v", whole, each)
	}
	w.is(Empty)
	if got := w.group.Generation(); got != 2 {
		t.Errorf("generation %d", got)
	}
	if store := w.stored[len(w.stored)-1].Metadata; len(store.Members) != 0 || store.Protocol != "" || store.Leader != "" {
		t.Errorf("stored %+v", store)
	}
	w.wants("heartbeat", w.group.Heartbeat(ids[0], "", 2, w.now), kerr.UnknownMemberID)
}

func TestSyncNeverCame(t *testing.T) {
	w := newWorld(t)
	first, second := w.join(nil), w.join(nil)
	w.passJoin()
	leader, follower := w.joined(first).MemberID, w.joined(second).MemberID
	waiting := w.sync(follower, 1, nil)
	for range 6 {
		w.pass(9 * time.Second)
		w.group.Heartbeat(leader, "", 1, w.now) // alive, and yet it never assigns
	}
	w.waits(waiting)
	w.pass(10 * time.Second)
	w.wants("the follower", w.synced(waiting).Err, kerr.RebalanceInProgress)
	if w.group.members[leader] != nil || w.group.members[follower] == nil {
		t.Error("the wrong member is out")
	}
}

func TestLostAnswers(t *testing.T) {
	w, ids := stable(t, "", "")
	again := w.joined(w.join(func(r *JoinRequest) { r.MemberID = ids[1] }))
	if again.Err != nil || again.Generation != 1 || again.Leader != ids[0] {
		t.Errorf("a follower joins again without change: %+v", again)
	}
	w.is(Stable)
	if got := w.synced(w.sync(ids[1], 1, nil)); string(got.Assignment) != "for "+ids[1] {
		t.Errorf("a follower syncs again: %+v", got)
	}
	w.waits(w.join(func(r *JoinRequest) { r.MemberID = ids[0] })) // the leader's wish is a rebalance
	w.is(PreparingRebalance)
	second := w.join(func(r *JoinRequest) { r.MemberID = ids[1] })
	w.joined(second)
	w.is(CompletingRebalance)
	leader := w.joined(w.join(func(r *JoinRequest) { r.MemberID = ids[0] }))
	if leader.Err != nil || len(leader.Members) != 2 || leader.Generation != 2 {
		t.Errorf("the leader joins again while completing: %+v", leader)
	}
}

func TestAssignmentThatCannotBeStored(t *testing.T) {
	w := newWorld(t)
	first := w.join(nil)
	w.passJoin()
	id := w.joined(first).MemberID
	w.holding = true
	sync := w.sync(id, 1, nil)
	w.waits(sync)
	w.group.Stored(w.stored[0].ID, kerr.NotCoordinator, w.now)
	w.settle()
	w.wants("sync", w.synced(sync).Err, kerr.NotCoordinator)
	w.is(PreparingRebalance)
}

func TestStoreOfAnOldGenerationIsIgnored(t *testing.T) {
	w := newWorld(t)
	first := w.join(nil)
	w.passJoin()
	id := w.joined(first).MemberID
	w.holding = true
	sync := w.sync(id, 1, func(r *SyncRequest) { r.Assignments = map[string][]byte{id: []byte("old")} })
	w.join(nil)
	w.wants("sync", w.synced(sync).Err, kerr.RebalanceInProgress)
	w.group.Stored(w.stored[0].ID, nil, w.now)
	w.is(PreparingRebalance)
}

func TestProtocolVote(t *testing.T) {
	w := newWorld(t)
	protocols := func(names ...string) func(*JoinRequest) {
		return func(r *JoinRequest) {
			r.Protocols = nil
			for _, n := range names {
				r.Protocols = append(r.Protocols, Protocol{n, []byte(n)})
			}
		}
	}
	first := w.join(protocols("sticky", "range", "roundrobin"))
	w.join(protocols("roundrobin", "range"))
	w.join(protocols("range", "roundrobin"))
	w.pass(time.Minute)
	answer := w.joined(first)
	if answer.Protocol != "range" || string(answer.Members[2].Metadata) != "range" {
		t.Errorf("answer %+v", answer)
	}
}

func TestRestore(t *testing.T) {
	w, ids := stable(t, "", "i")
	loaded := Restore("g", w.stored[len(w.stored)-1].Metadata, testSettings, w.now)
	if loaded.State() != Stable || loaded.Generation() != 1 || loaded.leader != ids[0] {
		t.Errorf("loaded %+v", loaded)
	}
	w.group = loaded
	w.wants("heartbeat", loaded.Heartbeat(ids[1], "i", 1, w.now), nil)
	if got := w.synced(w.sync(ids[0], 1, nil)); string(got.Assignment) != "for "+ids[0] {
		t.Errorf("assignment %+v", got)
	}
	w.waits(w.join(nil))
	w.is(PreparingRebalance)
	w.pass(10 * time.Minute)
	if empty := Restore("g", Metadata{Generation: 4, ProtocolType: "consumer"}, testSettings, w.now); empty.State() != Empty || empty.Generation() != 4 {
		t.Errorf("an empty group: %+v", empty)
	}
}

func TestDescribe(t *testing.T) {
	w, ids := stable(t, "")
	description := w.group.Describe()
	if description.Protocol != "range" || description.ProtocolType != "consumer" || string(description.Members[0].Assignment) != "for "+ids[0] {
		t.Errorf("stable: %+v", description)
	}
	w.join(nil)
	description = w.group.Describe()
	if description.Protocol != "" || description.Members[0].Assignment != nil || len(description.Members) != 2 {
		t.Errorf("rebalancing: %+v", description)
	}
}

func TestKillAnswersEverybody(t *testing.T) {
	w, ids := stable(t, "", "")
	join := w.join(nil)
	w.group.Kill(kerr.NotCoordinator, w.now, sentence.Of("moved", "moved"))
	w.settle()
	w.wants("join", w.joined(join).Err, kerr.NotCoordinator)
	w.wants("heartbeat", w.group.Heartbeat(ids[0], "", 1, w.now), kerr.CoordinatorNotAvailable)
	if !w.group.NextDeadline().IsZero() && w.group.State() != Dead {
		t.Error("a dead group still waits for something")
	}
}

func FuzzAssignedPartitions(f *testing.F) {
	f.Add([]byte{0, 1, 0, 0, 0, 1, 0, 1, 't', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add(subscription("t", "u"))
	f.Fuzz(func(t *testing.T, data []byte) {
		assignedPartitions(consumerProtocol, data)
		subscribedTopics(data)
	})
}
