package server

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"twinlog/engine/ensemble/tree"
)

// A change of the members is settled when every server that can still be elected knows that it is committed.
//
// Whose votes a server needs, it knows from the changes that it has applied, and it applies what it was told to be committed. Right after
// a change the leader may be the only one that was told: the others have the entries, but still ask the old members. Were the leader lost
// then, together with servers that have left, the rest would wait for votes of servers that are no more, for ever.
//
// So the leader orders a barrier once it has applied the change, to its end. Who has that barrier was told with it that the change is
// committed; who does not have it loses every election against those who have. When the barrier is committed, the change is settled, and
// only then
//
//   - the administrator is answered, and may take the servers away that have left;
//   - a server that joined is ready, and another one may lose its disk;
//   - the next change begins.
//
// A new leader does not know what the one before it has settled, and begins with a barrier of its own.
type settling struct {
	done    bool          // no change was applied since the last barrier
	ordered bool          // the barrier is on its way
	since   time.Duration // since it was ordered
}

// maxDeferred bounds the commands that wait; who sent one that does not fit sends it again.
const maxDeferred = 256

// deferred is a command that the leader orders when the members are settled, and not before it has applied an entry.
type deferred struct {
	encoded []byte
	command *tree.Command
	index   uint64
	came    time.Time
}

// settled tells whether a leader may go by the members that its tree shows, and whether it has applied an entry.
func (o *owner) settled(index uint64) bool { return o.leading.settling.done && o.applied >= index }

func (o *owner) orderOrDefer(d deferred) {
	request, isReconfig := d.command.Operation.(*tree.ReconfigRequest)
	switch {
	case !o.settled(d.index), isReconfig && !o.orderReconfig(d, request):
		if len(o.deferred) < maxDeferred {
			o.deferred = append(o.deferred, d)
		}
	case !isReconfig:
		o.order(d.encoded)
	}
}

// orderDeferred tries what waits once more.
func (o *owner) orderDeferred() {
	waiting := o.deferred
	o.deferred = nil
	for _, each := range waiting {
		o.orderOrDefer(each)
	}
}

// settle orders the barrier when it is time: the change has come to its end, and this leader has applied all that others ordered before.
func (o *owner) settle() {
	s := &o.leading.settling
	if !o.isLeader() || s.done || s.ordered || len(o.members.GetVotersOutgoing()) > 0 || o.appliedTerm != o.term {
		return
	}
	s.ordered, s.since = true, 0
	o.orderOwn(0, &tree.Barrier{})
}

// tickSettling orders the barrier again when nothing has come of it: Raft takes no commands while the leadership is being handed over.
func (o *owner) tickSettling(elapsed time.Duration) {
	s := &o.leading.settling
	if s.since += elapsed; s.ordered && s.since > o.resendAfter() {
		s.ordered = false
	}
	o.settle()
	o.orderDeferred()
}

// noteSettled is for a barrier of a leader, which every server applies. Whose change it settles is answered.
func (o *owner) noteSettled(entry *raftpb.Entry) {
	if o.isLeader() && entry.GetTerm() == o.term { // behind an earlier leader's there may be another change
		o.leading.settling.done = true
	}
	held := o.stream.held
	o.stream.held = nil
	for _, each := range held {
		o.answerApplied(each.pending, each.outcome)
	}
}

// isLeadersBarrier tells a leader's own barrier from those of servers and clients.
func isLeadersBarrier(command *tree.Command) bool {
	_, isBarrier := command.Operation.(*tree.Barrier)
	return isBarrier && command.Origin.Server == 0
}

// isServersBarrier: a server that wants to serve has ordered it for itself.
func isServersBarrier(command *tree.Command) bool {
	_, isBarrier := command.Operation.(*tree.Barrier)
	return isBarrier && command.Origin.Server != 0 && command.Session == 0
}
