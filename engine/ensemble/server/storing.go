package server

import (
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// storing is the owner's part that deals with the storage. The storage's state belongs to the storage's goroutine while that has jobs, and
// to the owner from the event that tells that the last one is done until the next one.
type storing struct {
	jobs     int // that the storage's goroutine has, as far as the owner knows
	answered answered
}

// answered is how far a leader was last told that this server's log is like its own.
type answered struct{ leader, term, index uint64 }

// store has the storage do a job. One that writes nothing, like most of the news that an entry is committed, is done on the spot when it
// has none to wait for.
func (o *owner) store(job storageJob) {
	if job.append != nil {
		o.leaveOutRepeated(job.append)
	}
	if o.storing.jobs == 0 && o.storage.settle(job) {
		for _, response := range o.sendResponses(job) {
			o.step(response)
		}
		return
	}
	o.storing.jobs++
	o.storage.enqueue(job)
}

// leaveOutRepeated takes the answers out that tell a leader what it was told before. When an entry is committed, the leader sends the others
// an AppendEntries without entries, and Raft has an answer for that as well: one message more for each write and follower, for which nobody
// waits. A leader that needs it, because the answer before was lost, asks again after its next heartbeat; as there is no news in that, it
// is answered.
func (o *owner) leaveOutRepeated(message *raftpb.Message) {
	told := o.storing.answered
	if isNews := message.GetCommit() > 0 && len(message.GetEntries()) == 0 && raft.IsEmptySnap(message.GetSnapshot()); !isNews {
		told = answered{} // what is asked for is answered; once is enough
	}
	message.Responses = slices.DeleteFunc(message.GetResponses(), func(response *raftpb.Message) bool {
		if response.GetType() != raftpb.MsgAppResp || response.GetTo() == o.storage.raftID {
			return false
		}
		now := answered{leader: response.GetTo(), term: response.GetTerm(), index: response.GetIndex()}
		if response.GetReject() {
			now = answered{}
		}
		repeated := now == told && !response.GetReject()
		told, o.storing.answered = now, now
		return repeated
	})
}

// stored is called by the storage's goroutine when a batch is durable. What other servers wait for goes out at once.
func (o *owner) stored(jobs []storageJob) {
	var local []*raftpb.Message
	for _, job := range jobs {
		local = append(local, o.sendResponses(job)...)
	}
	o.server.post(storedEvent{jobs: jobs, responses: local})
}

// sendResponses sends what other servers are told when a job is done, and returns what Raft here is told.
func (o *owner) sendResponses(job storageJob) (local []*raftpb.Message) {
	for _, response := range job.append.GetResponses() {
		if response.GetTo() == o.storage.raftID {
			local = append(local, response)
		} else {
			o.transport.send(serverOf(response.GetTo()), outgoing{message: response})
		}
	}
	return local
}

// storedEvent: a batch of storage jobs is durable.
type storedEvent struct {
	jobs      []storageJob
	responses []*raftpb.Message
}

func (e storedEvent) happen(o *owner) {
	o.storing.jobs -= len(e.jobs)
	for _, job := range e.jobs {
		if job.snapshot != nil {
			o.snapshots.running = false
			o.log.Info("a snapshot of the tree is on disk", "index", job.snapshot.index(), "droppedLogFiles", job.droppedSegments)
		}
		if snapshot := job.append.GetSnapshot(); !raft.IsEmptySnap(snapshot) {
			o.restore(snapshot)
		}
		o.traceAppended(job.append.GetEntries())
	}
	for _, response := range e.responses {
		o.step(response)
	}
}
