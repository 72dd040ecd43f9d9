package controller

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestRandomHistories lets brokers come and go, topics be made and deleted, leaders ask for ISR changes and controllers fail over, in any
// order. The checks are in znodes.apply and in history.Check.
func TestRandomHistories(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := &history{znodes: newZnodes(t), alive: map[int32]int64{1: 1, 2: 2, 3: 3}, clock: 10, epoch: 1}
		h.state = New(1, h.epoch, testSettings)
		h.take(h.state.Start(h.snapshot(h.registered())))
		t.Repeat(rapid.StateMachineActions(h))
	})
}

type history struct {
	*znodes
	state   *State
	alive   map[int32]int64
	clock   int64 // czxid of the next registration
	epoch   int32
	created int
	// answers are the StopReplica requests that brokers have not answered.
	answers []StopReplica
}

func (h *history) registered() []Broker {
	var list []Broker
	for _, id := range slices.Sorted(maps.Keys(h.alive)) {
		list = append(list, Broker{ID: id, Epoch: h.alive[id]})
	}
	return list
}

func (h *history) take(plan Plan) {
	h.apply(plan)
	for _, request := range plan.Requests {
		id, epoch := request.To()
		if stop, isStop := request.(StopReplica); isStop {
			h.answers = append(h.answers, stop)
		}
		if known, registered := h.state.Broker(id); !registered {
			h.t.Fatalf("%T to broker %d, which is not registered", request, id)
		} else if epoch > known.Epoch {
			h.t.Fatalf("%T to broker %d in epoch %d, which is not yet", request, id, epoch)
		}
	}
}

func (h *history) StartBroker(t *rapid.T) {
	h.clock++
	h.alive[rapid.Int32Range(1, 5).Draw(t, "broker")] = h.clock // started or bounced
	h.take(h.state.BrokersChanged(h.registered()))
}

func (h *history) KillBroker(t *rapid.T) {
	delete(h.alive, rapid.Int32Range(1, 5).Draw(t, "broker"))
	h.take(h.state.BrokersChanged(h.registered()))
}

func (h *history) CreateTopic(t *rapid.T) {
	if len(h.topics) > 4 {
		t.Skip("enough topics")
	}
	h.created++
	name := fmt.Sprintf("topic%d", h.created)
	h.topics[name] = map[int32][]int32{}
	for index := range rapid.Int32Range(1, 3).Draw(t, "partitions") {
		h.topics[name][index] = rapid.Permutation([]int32{1, 2, 3, 4, 5}).Draw(t, "replicas")[:rapid.IntRange(1, 3).Draw(t, "factor")]
	}
	h.unclean[name] = rapid.IntRange(0, 3).Draw(t, "unclean") == 0
	if rapid.Bool().Draw(t, "noticed") { // else the next controller finds it
		h.take(h.state.NewTopics([]TopicSnapshot{h.topic(name)}))
	}
}

func (h *history) DeleteTopic(t *rapid.T) {
	name := h.draw(t, slices.Sorted(maps.Keys(h.topics)))
	h.deletion[name] = true
	if h.state.HasTopic(name) {
		h.take(h.state.DeleteTopics([]string{name}))
	}
}

func (h *history) draw(t *rapid.T, from []string) string {
	if len(from) == 0 {
		t.Skip("none there")
	}
	return rapid.SampledFrom(from).Draw(t, "name")
}

func (h *history) AnswerStopReplica(t *rapid.T) {
	if len(h.answers) == 0 {
		t.Skip("nothing asked")
	}
	stop := h.answers[0]
	h.answers = h.answers[1:]
	if broker, registered := h.state.Broker(stop.Broker); !registered || broker.Epoch != stop.Epoch {
		return // it died before it answered
	}
	fails := rapid.IntRange(0, 5).Draw(t, "fails") == 0
	var deleted, failed []Partition
	for _, p := range stop.Partitions {
		switch {
		case !p.Delete:
		case fails:
			failed = append(failed, p.Partition)
		default:
			deleted = append(deleted, p.Partition)
		}
	}
	h.take(h.state.ReplicasDeleted(stop.Broker, deleted, failed))
}

func (h *history) ChangeISR(t *rapid.T) {
	names := slices.SortedFunc(maps.Keys(h.states), comparePartitions)
	if len(names) == 0 {
		t.Skip("no partitions")
	}
	name := rapid.SampledFrom(names).Draw(t, "partition")
	now, replicas := h.states[name], h.topics[name.Topic][name.Index]
	proposal := ISRProposal{Partition: name, LeaderEpoch: now.LeaderEpoch - rapid.Int32Range(0, 1).Draw(t, "behind"), PartitionEpoch: now.PartitionEpoch}
	for _, replica := range replicas {
		if replica == now.Leader || rapid.Bool().Draw(t, "member") {
			proposal.ISR = append(proposal.ISR, ISRMember{replica, h.alive[replica]})
		}
	}
	_, _, plan := h.state.AlterPartition(now.Leader, h.alive[now.Leader], []ISRProposal{proposal})
	h.take(plan)
	if now.Recovering && len(proposal.ISR) > 1 && proposal.Recovering {
		t.Fatal("unreachable")
	}
}

func (h *history) ControlledShutdown(t *rapid.T) {
	id := rapid.Int32Range(1, 5).Draw(t, "broker")
	_, _, plan := h.state.ControlledShutdown(id, h.alive[id])
	h.take(plan)
}

func (h *history) Elect(t *rapid.T) {
	_, plan := h.state.Elect(PreferredElection, nil)
	h.take(plan)
}

func (h *history) Rebalance(t *rapid.T) { h.take(h.state.Rebalance()) }

func (h *history) FailStorage(t *rapid.T) {
	id := rapid.Int32Range(1, 5).Draw(t, "broker")
	if _, alive := h.alive[id]; !alive {
		t.Skip("dead")
	}
	var all []Partition
	for _, p := range h.state.all() {
		all = append(all, p.name)
	}
	h.take(h.state.ReplicasFailed(id, all))
}

func (h *history) RestoreStorage(t *rapid.T) {
	var all []Partition
	for _, p := range h.state.all() {
		all = append(all, p.name)
	}
	h.take(h.state.ReplicasRestored(rapid.Int32Range(1, 5).Draw(t, "broker"), all))
}

func (h *history) Reassign(t *rapid.T) {
	names := slices.SortedFunc(maps.Keys(h.states), comparePartitions)
	if len(names) == 0 {
		t.Skip("no partitions")
	}
	wanted := Reassignment{Partition: rapid.SampledFrom(names).Draw(t, "partition")}
	if rapid.IntRange(0, 3).Draw(t, "take back") > 0 {
		wanted.Replicas = rapid.Permutation([]int32{1, 2, 3, 4, 5}).Draw(t, "replicas")[:rapid.IntRange(0, 3).Draw(t, "factor")]
	}
	_, plan := h.state.Reassign([]Reassignment{wanted})
	h.take(plan)
}

func (h *history) Failover(t *rapid.T) {
	h.epoch++
	h.answers = nil
	h.state = New(1, h.epoch, testSettings)
	h.take(h.state.Start(h.snapshot(h.registered())))
}

// Check runs after every action: the copy is what the znodes say, and no partition lacks a leader that it could have.
func (h *history) Check(t *rapid.T) {
	for name, written := range h.states {
		p := h.state.find(name)
		if p == nil {
			continue // a topic that the controller has not noticed
		}
		if p.leadership == nil || fmt.Sprint(*p.leadership) != fmt.Sprint(written) {
			t.Fatalf("%v: the copy says %+v, the znode %+v", name, p.leadership, written)
		}
		if h.state.BeingDeleted(name.Topic) {
			continue
		}
		if outside := keep(written.ISR, func(id int32) bool { return !slices.Contains(p.assignment.Replicas, id) }); len(outside) > 0 {
			t.Fatalf("%v: %v are in the ISR and not among the replicas %v", name, outside, p.assignment.Replicas)
		}
		if p.assignment.Reassigning() && h.state.targetInSync(p) && !h.state.BeingDeleted(name.Topic) {
			t.Fatalf("%v: all targets of %+v are in the ISR %v, and the reassignment does not end", name, p.assignment, written.ISR)
		}
		electable := slices.ContainsFunc(written.ISR, func(replica int32) bool { return h.state.online(p, replica) })
		if written.Leader == NoLeader && electable {
			t.Fatalf("%v has no leader though its ISR %v has a live member", name, written.ISR)
		}
		if _, registered := h.state.brokers[written.Leader]; written.Leader != NoLeader && !registered {
			t.Fatalf("%v is led by broker %d, which is dead", name, written.Leader)
		}
	}
}
