package replica

import (
	"slices"
	"testing"
	"time"
)

var (
	start    = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	settings = Settings{LagMax: 10 * time.Second, MinISR: 1}
)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// leaderOf returns a leader, broker 1, of three replicas, with a log of 10 records.
func leaderOf(s Settings, isr ...int32) *Partition {
	p := NewPartition(1, s, 0, 10, 0)
	p.BecomeLeader(Assignment{Leader: 1, LeaderEpoch: 5, PartitionEpoch: 2, ISR: isr, Replicas: []int32{1, 2, 3}}, at(0))
	return p
}

func TestHighWatermarkIsTheISRsMinimum(t *testing.T) {
	p := leaderOf(settings, 1, 2, 3)
	for _, step := range []struct {
		replica int32
		offset  int64
		want    int64
	}{{2, 10, 0}, {3, 4, 4}, {3, 7, 7}, {3, 10, 10}} {
		p.Fetched(step.replica, 1, step.offset, true, at(1))
		if hw := p.View().HighWatermark; hw != step.want {
			t.Fatalf("after broker %d fetched at %d the high watermark is %d, not %d", step.replica, step.offset, hw, step.want)
		}
	}
	if effects := p.Appended(12, at(2)); effects.HighWatermarkAdvanced {
		t.Error("an append alone moved the high watermark")
	}
}

func TestOnlyISRMemberAdvancesAlone(t *testing.T) {
	p := leaderOf(settings, 1)
	if hw := p.View().HighWatermark; hw != 10 {
		t.Errorf("a leader that is alone in the ISR has high watermark %d", hw)
	}
	if effects := p.Appended(12, at(1)); !effects.HighWatermarkAdvanced || p.View().HighWatermark != 12 {
		t.Errorf("after its append: %+v", p.View())
	}
}

// Trap 7 of the Kafka notes: a follower that is about to join holds the high watermark back.
func TestJoiningFollowerHoldsHighWatermark(t *testing.T) {
	p := leaderOf(settings, 1)
	effects, _ := p.Fetched(2, 7, 10, true, at(1))
	if effects.Propose == nil || !slices.Equal(effects.Propose.ISR, []int32{1, 2}) || !slices.Equal(effects.Propose.BrokerEpochs, []int64{-1, 7}) {
		t.Fatalf("a follower that has caught up is not proposed: %+v", effects.Propose)
	}
	p.Appended(15, at(1))
	if hw := p.View().HighWatermark; hw != 10 {
		t.Errorf("the high watermark passed a follower that is being added: %d", hw)
	}
	if again, _ := p.Fetched(3, 7, 15, true, at(1)); again.Propose != nil {
		t.Error("a second proposal was made while the first one is under way")
	}
	answered := p.ISRAnswered(*effects.Propose, AnswerCommitted, []int32{1, 2}, 3, at(2))
	if !answered.ISRChanged || p.View().PartitionEpoch != 3 || p.View().LeaderEpoch != 5 {
		t.Errorf("after the answer: %+v", p.View())
	}
}

func TestRefusedProposalIsForgotten(t *testing.T) {
	p := leaderOf(settings, 1)
	effects, _ := p.Fetched(2, 7, 10, true, at(1))
	p.ISRAnswered(*effects.Propose, AnswerRefused, nil, 0, at(1))
	if again, _ := p.Fetched(2, 7, 10, true, at(2)); again.Propose == nil {
		t.Error("after a refusal the follower is never proposed again")
	}
	if p.View().PartitionEpoch != 2 {
		t.Errorf("a refusal changed the partition epoch: %+v", p.View())
	}
}

func TestExpandNeedsHighWatermarkAndEpochStart(t *testing.T) {
	p := NewPartition(1, settings, 0, 10, 8)
	p.BecomeLeader(Assignment{Leader: 1, LeaderEpoch: 5, ISR: []int32{1, 3}, Replicas: []int32{1, 2, 3}}, at(0)) // the epoch begins at 10
	for _, offset := range []int64{7, 9} {
		if effects, _ := p.Fetched(2, 1, offset, true, at(1)); effects.Propose != nil {
			t.Errorf("a follower at %d was proposed, before the start of the leader's epoch", offset)
		}
	}
	if effects, _ := p.Fetched(2, 1, 10, false, at(1)); effects.Propose != nil {
		t.Error("a broker that is not registered was proposed")
	}
	if effects, _ := p.Fetched(2, 1, 10, true, at(1)); effects.Propose == nil {
		t.Error("a follower that has all is not proposed")
	}
}

func TestLagIsTime(t *testing.T) {
	p := leaderOf(settings, 1, 2, 3)
	p.Fetched(2, 1, 10, true, at(1))
	p.Fetched(3, 1, 10, true, at(1))
	p.Appended(1_000_000, at(2)) // far behind in records, for no time yet
	p.Fetched(2, 1, 500_000, true, at(3))
	if effects := p.CheckLag(at(11)); effects.Propose != nil {
		t.Errorf("followers were removed after %v: %+v", 10*time.Second, effects.Propose)
	}
	// Broker 2 reaches at 9 s what the log's end was at its fetch at 3 s: it was caught up then, at 3 s.
	p.Fetched(2, 1, 1_000_000, true, at(9))
	p.Appended(1_000_001, at(10))
	effects := p.CheckLag(at(12))
	if effects.Propose == nil || !slices.Equal(effects.Propose.ISR, []int32{1, 2}) {
		t.Errorf("proposed: %+v, want broker 3 out", effects.Propose)
	}
	// Until the controller has agreed, broker 3 still counts.
	if hw := p.View().HighWatermark; hw != 10 {
		t.Errorf("the high watermark is %d", hw)
	}
	p.ISRAnswered(*effects.Propose, AnswerCommitted, []int32{1, 2}, 3, at(13))
	if hw := p.View().HighWatermark; hw != 1_000_000 {
		t.Errorf("after the shrink the high watermark is %d", hw)
	}
}

func TestSilentFollowerWithEverythingDoesNotLag(t *testing.T) {
	p := leaderOf(settings, 1, 2)
	p.Fetched(2, 1, 10, true, at(1))
	if effects := p.CheckLag(at(1000)); effects.Propose != nil {
		t.Error("a follower that has all that there is was removed")
	}
}

// KIP-966: below min.insync.replicas the high watermark stands still.
func TestHighWatermarkStandsUnderMinISR(t *testing.T) {
	p := leaderOf(Settings{LagMax: 10 * time.Second, MinISR: 2}, 1)
	p.Appended(12, at(1))
	if view := p.View(); view.HighWatermark != 0 || !view.UnderMinISR() {
		t.Errorf("under min ISR: %+v", view)
	}
	single := NewPartition(1, Settings{LagMax: time.Second, MinISR: 5}, 0, 3, 0)
	single.BecomeLeader(Assignment{Leader: 1, ISR: []int32{1}, Replicas: []int32{1}}, at(0))
	if view := single.View(); view.EffectiveMinISR != 1 || view.HighWatermark != 3 {
		t.Errorf("min ISR is at most the replication factor: %+v", view)
	}
}

func TestFollowerTakesLeadersHighWatermark(t *testing.T) {
	p := NewPartition(2, settings, 0, 5, 3)
	p.BecomeFollower(Assignment{Leader: 1, LeaderEpoch: 1, ISR: []int32{1, 2}, Replicas: []int32{1, 2}})
	for _, step := range []struct{ leo, leaderHW, want int64 }{{8, 6, 6}, {8, 20, 8}, {9, 4, 8}} {
		p.Replicated(step.leo, step.leaderHW)
		if hw := p.View().HighWatermark; hw != step.want {
			t.Errorf("LEO %d, leader says %d: high watermark %d, want %d", step.leo, step.leaderHW, hw, step.want)
		}
	}
	p.Truncated(7)
	if view := p.View(); view.LEO != 7 || view.HighWatermark != 7 {
		t.Errorf("after a cut to 7: %+v", view)
	}
}

func TestStaleAssignments(t *testing.T) {
	p := leaderOf(settings, 1, 2)
	for _, c := range []struct {
		a            Assignment
		stale, known bool
	}{
		{Assignment{LeaderEpoch: 4, PartitionEpoch: 9}, true, false},
		{Assignment{LeaderEpoch: 5, PartitionEpoch: 2}, false, true},
		{Assignment{LeaderEpoch: 6, PartitionEpoch: 1}, true, false},
		{Assignment{LeaderEpoch: 6, PartitionEpoch: 3}, false, false},
	} {
		if p.Stale(c.a) != c.stale || p.Known(c.a) != c.known {
			t.Errorf("%+v: stale %v, known %v", c.a, p.Stale(c.a), p.Known(c.a))
		}
	}
	// A leader whose AlterPartition answer was lost hears from a new controller what became of it.
	effects, _ := p.Fetched(3, 1, 10, true, at(1))
	refreshed := p.Refresh(Assignment{LeaderEpoch: 5, PartitionEpoch: 3, ISR: []int32{1, 2, 3}, Replicas: []int32{1, 2, 3}}, at(2))
	if effects.Propose == nil || !refreshed.ISRChanged || len(p.View().ISR) != 3 {
		t.Errorf("the newer ISR was not taken over: %+v", p.View())
	}
}

func TestFetchOfFormerLifeIsIgnored(t *testing.T) {
	p := leaderOf(settings, 1, 2)
	p.Fetched(2, 9, 10, true, at(1))
	p.Fetched(2, 8, 3, true, at(1))
	if end, _ := p.FollowerEnd(2); end != 10 {
		t.Errorf("a request of an earlier broker epoch moved the follower to %d", end)
	}
	if _, known := p.Fetched(9, 1, 10, true, at(1)); known {
		t.Error("a broker that is no replica was taken for one")
	}
}
