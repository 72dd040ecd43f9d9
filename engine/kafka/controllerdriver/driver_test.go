package controllerdriver_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		first := c.controller()
		c.createTopic("orders", []int32{1, 2, 3}, []int32{2, 3, 1}, []int32{3, 1, 2})
		for _, b := range c.brokers {
			c.eventually("roles", func() bool { _, told := b.role("orders", 2); return told })
			if kinds := b.kinds(); kinds[0] != "UpdateMetadata" {
				t.Errorf("broker %d was first sent %v, want the live brokers", b.id, kinds)
			}
		}
		epoch, _, _ := c.admin.Get(metadata.ControllerEpochPath)
		if string(epoch) != "1" {
			t.Errorf("the first controller has epoch %s", epoch)
		}
		led := first - 1 // partition 0 is led by 1, and so on
		c.kill(first)
		c.eventually("a new leader", func() bool {
			state, _ := c.state("orders", led)
			return state.Leader > 0 && state.Leader != first
		})
		second := c.controller()
		state, version := c.state("orders", led)
		if state.LeaderEpoch < 1 || len(state.ISR) != 2 || state.ControllerEpoch != 2 || version < 1 {
			t.Errorf("the state is %+v of version %d", state, version)
		}
		for _, b := range c.brokers {
			c.eventually("the new role", func() bool { role, _ := b.role("orders", led); return role.Leader == state.Leader })
			c.eventually("the new controller", func() bool { return b.metadata().ControllerID == second && b.metadata().ControllerEpoch == 2 })
			c.eventually("the dead broker is forgotten", func() bool { return len(b.metadata().Brokers()) == 2 })
		}
		if elected := c.brokers[second].events("kafka.controllerElected"); len(elected) != 1 || elected[0].(trace.KafkaControllerElected).Epoch != 2 {
			t.Errorf("the trace says %v", elected)
		}
		c.start(first)
		c.eventually("the broker is back and follows", func() bool {
			role, told := c.brokers[first].role("orders", led)
			return told && role.Leader == state.Leader
		})
	})
}

func TestExpiredControllerResigns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		old := c.controller()
		c.createTopic("t", []int32{old, 3 - old})
		c.brokers[old].view.Freeze() // longer than its session lives
		c.eventually("the other takes over", func() bool { return c.brokers[3-old].driver.Active() })
		c.brokers[old].view.Thaw()
		c.eventually("the old one notices", func() bool { return !c.brokers[old].driver.Active() })
		if resigned := c.brokers[old].events("kafka.controllerResigned"); len(resigned) != 1 {
			t.Errorf("the trace says %v", resigned)
		}
		data, _, err := c.admin.Get(metadata.ControllerPath)
		payload, _ := metadata.DecodeController(data)
		if err != nil || payload.BrokerID != 3-old {
			t.Errorf("/controller is %s, %v", data, err)
		}
	})
}

func TestZombieControllerCannotWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.createTopic("t", []int32{1})
		// A newer controller, somewhere: it has raised the epoch, and broker 1 has not yet seen that /controller changed hands.
		if _, err := c.admin.Set(metadata.ControllerEpochPath, []byte("7"), -1); err != nil {
			t.Fatal(err)
		}
		request := kmsg.NewPtrDeleteTopicsRequest()
		request.Version, request.TopicNames, request.TimeoutMillis = 5, []string{"t"}, 1000
		response := c.ask(1, request).(*kmsg.DeleteTopicsResponse)
		if code := response.Topics[0].ErrorCode; code != kerr.NotController.Code {
			t.Errorf("the zombie answered %d, want NOT_CONTROLLER", code)
		}
		if exists, _, _ := c.admin.Exists(metadata.DeleteTopicPath("t")); exists {
			t.Error("the zombie wrote")
		}
		c.eventually("it races again and gets a higher epoch", func() bool {
			epoch, _, _ := c.admin.Get(metadata.ControllerEpochPath)
			return c.brokers[1].driver.Active() && string(epoch) == "8"
		})
	})
}

func TestTopicMadeInTheEnsemble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		c.controller()
		payload := metadata.Topic{ID: metadata.TopicID{1}, Replicas: map[int32][]int32{0: {2, 1}}}
		if _, err := c.admin.Create(metadata.TopicPath("made"), payload.Encode(), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		c.eventually("it has a leader", func() bool { _, told := c.brokers[2].role("made", 0); return told })
		payload.Replicas[1] = []int32{1, 2}
		if _, err := c.admin.Set(metadata.TopicPath("made"), payload.Encode(), -1); err != nil {
			t.Fatal(err)
		}
		c.eventually("the new partition has a leader", func() bool { role, told := c.brokers[2].role("made", 1); return told && role.Leader == 1 })
		// The old trigger of a preferred election; nothing to do, but it is taken.
		list := metadata.PartitionList{Partitions: []metadata.ListedPartition{{Topic: "made", Partition: 0}}}
		if _, err := c.admin.Create(metadata.PreferredElectionPath, list.Encode(), 0, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		c.eventually("the wish is taken", func() bool { exists, _, _ := c.admin.Exists(metadata.PreferredElectionPath); return !exists })
	})
}

func TestControlledShutdownAndRebalance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		controller := c.controller()
		leaver := controller%3 + 1
		other := leaver%3 + 1
		c.createTopic("t", []int32{leaver, other})
		_, stat, err := c.admin.Get(metadata.BrokerIDPath(leaver))
		if err != nil {
			t.Fatal(err)
		}
		request := kmsg.NewPtrControlledShutdownRequest()
		request.Version, request.BrokerID, request.BrokerEpoch = 3, leaver, stat.Czxid
		response := c.ask(controller, request).(*kmsg.ControlledShutdownResponse)
		if response.ErrorCode != 0 || len(response.PartitionsRemaining) != 0 {
			t.Fatalf("answer %+v", response)
		}
		if state, _ := c.state("t", 0); state.Leader != other || !sameMembers(state.ISR, []int32{other}) {
			t.Errorf("the state is %+v", state)
		}
		c.stop(leaver)
		c.eventually("it is gone", func() bool { return len(c.brokers[controller].metadata().Brokers()) == 2 })
		c.start(leaver)
		c.eventually("it follows", func() bool { _, told := c.brokers[leaver].role("t", 0); return told })
		// The leader takes it back into the ISR; later the imbalance check gives it the leadership.
		state, version := c.state("t", 0)
		_, leaderStat, _ := c.admin.Get(metadata.BrokerIDPath(other))
		alter := kmsg.NewPtrAlterPartitionRequest()
		alter.Version, alter.BrokerID, alter.BrokerEpoch = 1, other, leaderStat.Czxid
		topic := kmsg.NewAlterPartitionRequestTopic()
		topic.Topic = "t"
		p := kmsg.NewAlterPartitionRequestTopicPartition()
		p.LeaderEpoch, p.PartitionEpoch, p.NewISR = state.LeaderEpoch, version, []int32{other, leaver}
		topic.Partitions = append(topic.Partitions, p)
		alter.Topics = append(alter.Topics, topic)
		answer := c.ask(controller, alter).(*kmsg.AlterPartitionResponse)
		if answer.ErrorCode != 0 || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("answer %+v", answer)
		}
		if after, _ := c.state("t", 0); after.LeaderEpoch != state.LeaderEpoch || len(after.ISR) != 2 {
			t.Errorf("the state is %+v", after)
		}
		for range 6 { // the check comes every five minutes
			time.Sleep(time.Minute)
		}
		if after, _ := c.state("t", 0); after.Leader != leaver {
			t.Errorf("leadership did not go back: %+v", after)
		}
	})
}
