package group

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

func TestStaticMemberComesBack(t *testing.T) {
	for _, test := range []struct {
		name    string
		canSkip bool
	}{{"since v9 the leader knows that it leads", true}, {"before, it must not recognise itself", false}} {
		t.Run(test.name, func(t *testing.T) {
			w, ids := stable(t, "a", "b")
			answer := w.joined(w.join(func(r *JoinRequest) { r.InstanceID, r.CanSkipAssignment = "a", test.canSkip }))
			w.is(Stable)
			if answer.Err != nil || answer.Generation != 1 || answer.MemberID == ids[0] {
				t.Errorf("answer %+v", answer)
			}
			if test.canSkip && (answer.Leader != answer.MemberID || !answer.SkipAssignment || len(answer.Members) != 2) {
				t.Errorf("the leader is told %+v", answer)
			}
			if !test.canSkip && (answer.Leader != ids[0] || answer.SkipAssignment || len(answer.Members) != 0) {
				t.Errorf("the leader is told %+v", answer)
			}
			w.wants("its old life", w.group.Heartbeat(ids[0], "a", 1, w.now), kerr.FencedInstanceID)
			w.wants("its old life commits", w.group.CheckCommit(ids[0], "a", 1, w.now), kerr.FencedInstanceID)
			got := w.synced(w.sync(answer.MemberID, 1, func(r *SyncRequest) { r.InstanceID = "a" }))
			if string(got.Assignment) != "for "+ids[0] {
				t.Errorf("it keeps its assignment: %+v", got)
			}
		})
	}
}

func TestStaticMemberOfStoppedBroker(t *testing.T) {
	w, ids := stable(t, "a", "b")
	w.holding = true
	ticket := w.join(func(r *JoinRequest) { r.InstanceID = "b" })
	w.waits(ticket)
	w.group.Stored(w.stored[len(w.stored)-1].ID, kerr.NotCoordinator, w.now)
	w.settle()
	w.wants("the store failed", w.joined(ticket).Err, kerr.NotCoordinator)
	w.wants("the old id counts again", w.group.Heartbeat(ids[1], "b", 1, w.now), nil)
}

func TestSilentStaticMemberKeepsItsPlace(t *testing.T) {
	w, ids := stable(t, "a", "b")
	w.group.settings.MaxSessionTimeout = time.Hour
	for _, m := range w.group.members {
		m.sessionTimeout = 5 * time.Minute
		m.heardFrom(w.now)
	}
	ticket := w.join(func(r *JoinRequest) { r.InstanceID, r.SessionTimeout = "c", 5*time.Minute })
	again := w.join(func(r *JoinRequest) { r.InstanceID, r.MemberID, r.SessionTimeout = "b", ids[1], 5*time.Minute })
	w.pass(61 * time.Second) // the leader "a" is restarting
	answer := w.joined(ticket)
	if answer.Generation != 2 || answer.Leader != ids[1] {
		t.Errorf("answer %+v, want that b leads", answer)
	}
	if got := w.joined(again); len(got.Members) != 3 {
		t.Errorf("the leader is told of %d members, want also the silent one", len(got.Members))
	}
}

func TestAdministratorRemovesStaticMember(t *testing.T) {
	w, _ := stable(t, "a", "b")
	_, each := w.group.Leave([]Leaver{{InstanceID: "a"}, {InstanceID: "z"}}, w.now)
	w.wants("known", each[0], nil)
	w.wants("unknown", each[1], kerr.UnknownMemberID)
	w.is(PreparingRebalance)
}
