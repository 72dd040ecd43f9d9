package server

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// keepPromise makes durable what a message of Raft's promises, before its entries are written: they may replace others, so that what it
// says to be committed is not yet what the log has.
func (s *storage) keepPromise(message *raftpb.Message) error {
	if s.isPromised(message) {
		return nil
	}
	return s.promises.save(promise{raftID: s.raftID, term: message.GetTerm(), vote: message.GetVote(), commit: s.committed})
}

// isPromised tells whether what a message promises is durable already.
func (s *storage) isPromised(message *raftpb.Message) bool {
	return message.Term == nil || (message.GetTerm() == s.promises.last.term && message.GetVote() == s.promises.last.vote)
}

// keepCommitted is called when all that jobs brought is durable. That entries are committed needs no promise, as those that have them tell
// it again; but that a change of the members is must not be forgotten. A server that came back with the members before it could win an
// election among those, while the new ones, of whom it knew, have gone on. Raft relies on this: who has the entry that ends a joint
// configuration knows that the one that began it is committed, and does not campaign before it has applied it.
func (s *storage) keepCommitted(jobs []storageJob) error {
	for _, job := range jobs {
		if job.append != nil {
			s.committed = max(s.committed, job.append.GetCommit())
		}
	}
	decided := s.decidedMembers(s.committed)
	if decided == 0 {
		return nil
	}
	s.memberChanges = s.memberChanges[decided:]
	kept := s.promises.last
	kept.commit = s.committed
	return s.promises.save(kept)
}

// decidedMembers counts the changes of the members that are committed and not promised to be.
func (s *storage) decidedMembers(committed uint64) int {
	decided := 0
	for decided < len(s.memberChanges) && s.memberChanges[decided] <= committed {
		decided++
	}
	return decided
}

// settle does a job that has nothing to write; false when it has. The owner calls it, when all jobs before are done.
func (s *storage) settle(job storageJob) bool {
	message := job.append
	if message == nil || len(message.GetEntries()) > 0 || !raft.IsEmptySnap(message.GetSnapshot()) || !s.isPromised(message) {
		return false
	}
	committed := max(s.committed, message.GetCommit())
	if s.decidedMembers(committed) > 0 {
		return false
	}
	s.committed = committed
	return true
}

// noteMemberChanges is for entries that come into the log, in the place of those from the first one's index on.
func (s *storage) noteMemberChanges(entries []*raftpb.Entry) {
	if len(entries) == 0 {
		return
	}
	first := entries[0].GetIndex()
	s.memberChanges = slices.DeleteFunc(s.memberChanges, func(index uint64) bool { return index >= first })
	for _, entry := range entries {
		if entry.GetType() != raftpb.EntryNormal && entry.GetIndex() > s.promises.last.commit {
			s.memberChanges = append(s.memberChanges, entry.GetIndex())
		}
	}
}
