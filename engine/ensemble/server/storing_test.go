package server

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"
)

// TestOnlyNewsLeavesAnAnswerOut: what a follower appended and what a leader asks for a second time is answered.
func TestOnlyNewsLeavesAnAnswerOut(t *testing.T) {
	entries := []*raftpb.Entry{{Index: new(uint64(7))}}
	answer := func(term, index uint64) *raftpb.Message {
		return &raftpb.Message{Type: raftpb.MsgAppResp.Enum(), To: new(uint64(2)), From: new(uint64(1)), Term: new(term), Index: new(index)}
	}
	refusal := answer(3, 7)
	refusal.Reject = new(true)
	o := &owner{storage: &storage{raftID: 1}}
	for _, step := range []struct {
		name    string
		message *raftpb.Message
		answers int
	}{
		{"entries", &raftpb.Message{Entries: entries, Responses: []*raftpb.Message{answer(3, 7)}}, 1},
		{"news", &raftpb.Message{Commit: new(uint64(7)), Responses: []*raftpb.Message{answer(3, 7)}}, 0},
		{"asked again", &raftpb.Message{Responses: []*raftpb.Message{answer(3, 7)}}, 1},
		{"entries again", &raftpb.Message{Commit: new(uint64(7)), Entries: entries, Responses: []*raftpb.Message{answer(3, 7)}}, 1},
		{"entries, twice", &raftpb.Message{Entries: entries, Responses: []*raftpb.Message{answer(3, 7), answer(3, 7)}}, 1},
		{"a snapshot", &raftpb.Message{
			Commit: new(uint64(7)), Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(7))}},
			Responses: []*raftpb.Message{answer(3, 7)},
		}, 1},
		{"news of another leader", &raftpb.Message{Commit: new(uint64(7)), Responses: []*raftpb.Message{answer(4, 7)}}, 1},
		{"a refusal", &raftpb.Message{Commit: new(uint64(7)), Responses: []*raftpb.Message{refusal}}, 1},
		{"news after a refusal", &raftpb.Message{Commit: new(uint64(8)), Responses: []*raftpb.Message{answer(3, 7)}}, 1},
		{"more news", &raftpb.Message{Commit: new(uint64(9)), Responses: []*raftpb.Message{answer(3, 7), answer(3, 7)}}, 0},
		{"its own", &raftpb.Message{Commit: new(uint64(9)), Responses: []*raftpb.Message{
			{Type: raftpb.MsgAppResp.Enum(), To: new(uint64(1)), Term: new(uint64(3)), Index: new(uint64(7))},
		}}, 1},
	} {
		o.leaveOutRepeated(step.message)
		if n := len(step.message.GetResponses()); n != step.answers {
			t.Errorf("%s: %d answers, want %d", step.name, n, step.answers)
		}
	}
}

// TestOnlyWhatIsPromisedIsSettled: everything else has to be written.
func TestOnlyWhatIsPromisedIsSettled(t *testing.T) {
	s := &storage{promises: &promiseFile{last: promise{term: 3, vote: 2}}, committed: 5, memberChanges: []uint64{8}}
	for _, step := range []struct {
		name      string
		job       storageJob
		settled   bool
		committed uint64
	}{
		{"answers alone", storageJob{append: &raftpb.Message{}}, true, 5},
		{"news", storageJob{append: &raftpb.Message{Term: new(uint64(3)), Vote: new(uint64(2)), Commit: new(uint64(7))}}, true, 7},
		{"a change of the members is committed", storageJob{append: &raftpb.Message{Term: new(uint64(3)), Vote: new(uint64(2)), Commit: new(uint64(8))}}, false, 7},
		{"a term", storageJob{append: &raftpb.Message{Term: new(uint64(4)), Vote: new(uint64(2)), Commit: new(uint64(7))}}, false, 7},
		{"a vote", storageJob{append: &raftpb.Message{Term: new(uint64(3)), Vote: new(uint64(1)), Commit: new(uint64(7))}}, false, 7},
		{"an entry", storageJob{append: &raftpb.Message{Entries: []*raftpb.Entry{{Index: new(uint64(9))}}}}, false, 7},
		{"a snapshot of the leader", storageJob{append: &raftpb.Message{Snapshot: &raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{Index: new(uint64(7))}}}}, false, 7},
		{"a snapshot of its own", storageJob{snapshot: &snapshotFile{}}, false, 7},
	} {
		if settled := s.settle(step.job); settled != step.settled || s.committed != step.committed {
			t.Errorf("%s: settled %v, committed %d; want %v, %d", step.name, settled, s.committed, step.settled, step.committed)
		}
	}
}
