package controllerdriver_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/controllerdriver"
	"twinlog/engine/kafka/metadata"
)

func newTopic(name string, partitions int32, factor int16, config ...string) kmsg.CreateTopicsRequestTopic {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, factor
	for i := 0; i < len(config); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = config[i], &config[i+1]
		topic.Configs = append(topic.Configs, c)
	}
	return topic
}

func TestCreateTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		controller := c.controller()
		both := newTopic("both", 2, 1)
		both.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{1}}}
		uneven, gap := newTopic("uneven", -1, -1), newTopic("gap", -1, -1)
		uneven.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{1}}, {Partition: 1, Replicas: []int32{1, 2}}}
		gap.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 1, Replicas: []int32{1}}}
		request := kmsg.NewPtrCreateTopicsRequest()
		request.Version, request.TimeoutMillis = 7, 10_000
		request.Topics = []kmsg.CreateTopicsRequestTopic{
			newTopic("good", 6, 3, "retention.ms", "1000"), newTopic("defaults", -1, -1), newTopic("bad!", 1, 1), newTopic("", 1, 1), newTopic("..", 1, 1),
			newTopic("none", 0, 1), newTopic("wide", 1, 4), newTopic("odd", 1, 1, "no.such.key", "1"), newTopic("text", 1, 1, "retention.ms", "soon"),
			newTopic("twice", 1, 1), newTopic("twice", 2, 1), both, uneven, gap, newTopic("a.b", 1, 1),
		}
		want := map[string]*kerr.Error{
			"bad!": kerr.InvalidTopicException, "": kerr.InvalidTopicException, "..": kerr.InvalidTopicException, "none": kerr.InvalidPartitions,
			"wide": kerr.InvalidReplicationFactor, "odd": kerr.InvalidConfig, "text": kerr.InvalidConfig, "twice": kerr.InvalidRequest,
			"both": kerr.InvalidRequest, "uneven": kerr.InvalidReplicaAssignment, "gap": kerr.InvalidReplicaAssignment,
		}
		check := func(response *kmsg.CreateTopicsResponse) {
			t.Helper()
			if len(response.Topics) != 14 {
				t.Errorf("%d answers, want 14: a topic that is named twice has one", len(response.Topics))
			}
			for _, topic := range response.Topics {
				if expected := want[topic.Topic]; expected == nil && topic.ErrorCode != 0 || expected != nil && topic.ErrorCode != expected.Code {
					t.Errorf("%q: error %v, want %v", topic.Topic, kerr.ErrorForCode(topic.ErrorCode), expected)
				}
				if topic.ErrorCode != 0 && (topic.ErrorMessage == nil || *topic.ErrorMessage == "") {
					t.Errorf("%q: no reason given", topic.Topic)
				}
			}
		}
		request.ValidateOnly = true
		check(c.ask(controller, request).(*kmsg.CreateTopicsResponse))
		if names, _, _ := c.admin.Children(metadata.TopicsPath); len(names) != 0 {
			t.Errorf("validation made %v", names)
		}
		request.ValidateOnly = false
		response := c.ask(controller, request).(*kmsg.CreateTopicsResponse)
		check(response)
		good := response.Topics[0]
		if good.TopicID == [16]byte{} || good.NumPartitions != 6 || good.ReplicationFactor != 3 || len(good.Configs) == 0 {
			t.Errorf("the answer is %+v", good)
		}
		if info, _ := c.brokers[controller].metadata().Topic("good"); len(info.Partitions) != 6 {
			t.Error("the answer came before this broker knew the topic")
		}
		request.Topics = []kmsg.CreateTopicsRequestTopic{newTopic("good", 1, 1), newTopic("a_b", 1, 1)}
		response = c.ask(controller, request).(*kmsg.CreateTopicsResponse)
		if response.Topics[0].ErrorCode != kerr.TopicAlreadyExists.Code || response.Topics[1].ErrorCode != kerr.InvalidTopicException.Code {
			t.Errorf("again: %v, confusable name: %v", response.Topics[0].ErrorCode, response.Topics[1].ErrorCode)
		}
		response = c.ask(controller%3+1, request).(*kmsg.CreateTopicsResponse)
		if response.Topics[0].ErrorCode != kerr.NotController.Code {
			t.Errorf("another broker answers %v, want NOT_CONTROLLER", response.Topics[0].ErrorCode)
		}
	})
}

func TestTopicWithoutLiveReplicaTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		topic := newTopic("away", -1, -1)
		topic.ReplicaAssignment = []kmsg.CreateTopicsRequestTopicReplicaAssignment{{Partition: 0, Replicas: []int32{8}}}
		request := kmsg.NewPtrCreateTopicsRequest()
		request.Version, request.TimeoutMillis, request.Topics = 7, 5000, []kmsg.CreateTopicsRequestTopic{topic}
		before := time.Now()
		response := c.ask(c.controller(), request).(*kmsg.CreateTopicsResponse)
		if response.Topics[0].ErrorCode != kerr.RequestTimedOut.Code || time.Since(before) < 5*time.Second {
			t.Errorf("after %v: %+v", time.Since(before), response.Topics[0])
		}
	})
}

func TestDeleteTopics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		controller := c.controller()
		c.createTopic("t", []int32{1, 2}, []int32{2, 1})
		c.createTopic("u", []int32{1})
		info, _ := c.brokers[controller].metadata().Topic("u")
		name, unknown := "t", "nope"
		request := kmsg.NewPtrDeleteTopicsRequest()
		request.Version, request.TimeoutMillis = 6, 10_000
		request.Topics = []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: info.ID}, {Topic: &unknown}, {TopicID: [16]byte{9}}, {}}
		response := c.ask(controller, request).(*kmsg.DeleteTopicsResponse)
		for i, want := range []int16{0, 0, kerr.UnknownTopicOrPartition.Code, kerr.UnknownTopicID.Code, kerr.InvalidRequest.Code} {
			if got := response.Topics[i].ErrorCode; got != want {
				t.Errorf("topic %d: error %d, want %d", i, got, want)
			}
		}
		c.eventually("the znodes are gone", func() bool {
			topics, _, _ := c.admin.Children(metadata.TopicsPath)
			marks, _, _ := c.admin.Children(metadata.DeleteTopicsPath)
			configs, _, _ := c.admin.Children("/config/topics")
			return len(topics) == 0 && len(marks) == 0 && len(configs) == 0
		})
		for _, b := range c.brokers {
			if _, has := b.role("t", 0); has {
				t.Errorf("broker %d was not told to delete", b.id)
			}
		}
		c.createTopic("t", []int32{2}) // the name is free again
	})
}

func TestCreatePartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		controller := c.controller()
		c.createTopic("t", []int32{1, 2})
		grow := func(topic string, count int32, assignment ...[]int32) int16 {
			t.Helper()
			request := kmsg.NewPtrCreatePartitionsRequest()
			request.Version, request.TimeoutMillis = 3, 10_000
			asked := kmsg.NewCreatePartitionsRequestTopic()
			asked.Topic, asked.Count = topic, count
			for _, replicas := range assignment {
				asked.Assignment = append(asked.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
			}
			request.Topics = append(request.Topics, asked)
			return c.ask(controller, request).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode
		}
		for _, test := range []struct {
			name string
			got  int16
			want int16
		}{
			{"fewer", grow("t", 0), kerr.InvalidPartitions.Code},
			{"as many", grow("t", 1), kerr.InvalidPartitions.Code},
			{"unknown topic", grow("nope", 3), kerr.UnknownTopicOrPartition.Code},
			{"too few assignments", grow("t", 3, []int32{1, 2}), kerr.InvalidReplicaAssignment.Code},
			{"another factor", grow("t", 2, []int32{1}), kerr.InvalidReplicaAssignment.Code},
			{"unknown broker", grow("t", 2, []int32{1, 9}), kerr.InvalidReplicaAssignment.Code},
			{"twice the same broker", grow("t", 2, []int32{1, 1}), kerr.InvalidReplicaAssignment.Code},
			{"good", grow("t", 3), 0},
			{"good with assignment", grow("t", 4, []int32{2, 1}), 0},
		} {
			if test.got != test.want {
				t.Errorf("%s: error %d, want %d", test.name, test.got, test.want)
			}
		}
		if info, _ := c.brokers[controller].metadata().Topic("t"); len(info.Partitions) != 4 || info.Partitions[3].Leader != 2 {
			t.Errorf("the answer came before the partitions were there: %+v", info)
		}
	})
}

func TestElectLeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2)
		controller := c.controller()
		c.createTopic("t", []int32{1, 2})
		request := kmsg.NewPtrElectLeadersRequest()
		request.Version, request.TimeoutMillis = 2, 10_000
		request.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{0, 7}}}
		response := c.ask(controller, request).(*kmsg.ElectLeadersResponse)
		partitions := response.Topics[0].Partitions
		if partitions[0].ErrorCode != kerr.ElectionNotNeeded.Code || partitions[1].ErrorCode != kerr.UnknownTopicOrPartition.Code {
			t.Errorf("answer %+v", partitions)
		}
		request.Topics = nil
		if response := c.ask(controller, request).(*kmsg.ElectLeadersResponse); response.ErrorCode != 0 || len(response.Topics) != 0 {
			t.Errorf("all partitions: %+v", response)
		}
		if response := c.ask(3-controller, request).(*kmsg.ElectLeadersResponse); response.ErrorCode != kerr.NotController.Code {
			t.Errorf("another broker: %+v", response)
		}
	})
}

func TestAlterConfigs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		c.createTopic("t", []int32{1})
		alter := func(kind kmsg.ConfigResourceType, name string, op kmsg.IncrementalAlterConfigOp, key, value string) int16 {
			t.Helper()
			request := kmsg.NewPtrIncrementalAlterConfigsRequest()
			request.Version = 1
			config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
			config.Name, config.Op, config.Value = key, op, &value
			resource := kmsg.NewIncrementalAlterConfigsRequestResource()
			resource.ResourceType, resource.ResourceName = kind, name
			resource.Configs = append(resource.Configs, config)
			request.Resources = append(request.Resources, resource)
			return c.ask(1, request).(*kmsg.IncrementalAlterConfigsResponse).Resources[0].ErrorCode
		}
		const set, del, add, sub = kmsg.IncrementalAlterConfigOpSet, kmsg.IncrementalAlterConfigOpDelete, kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract
		const topic, broker = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
		for _, step := range []struct {
			code, want int16
			config     string
		}{
			{alter(topic, "t", set, "retention.ms", "1000"), 0, `{"version":1,"config":{"retention.ms":"1000"}}`},
			{alter(topic, "t", set, "cleanup.policy", "delete"), 0, `{"version":1,"config":{"cleanup.policy":"delete","retention.ms":"1000"}}`},
			{alter(topic, "t", add, "cleanup.policy", "compact"), 0, `{"version":1,"config":{"cleanup.policy":"delete,compact","retention.ms":"1000"}}`},
			{alter(topic, "t", sub, "cleanup.policy", "delete"), 0, `{"version":1,"config":{"cleanup.policy":"compact","retention.ms":"1000"}}`},
			{alter(topic, "t", del, "retention.ms", ""), 0, `{"version":1,"config":{"cleanup.policy":"compact"}}`},
			{alter(topic, "t", add, "retention.ms", "1"), kerr.InvalidConfig.Code, ""},
			{alter(topic, "t", set, "retention.ms", "soon"), kerr.InvalidConfig.Code, ""},
			{alter(topic, "t", set, "no.such.key", "1"), kerr.InvalidConfig.Code, ""},
			{alter(topic, "nope", set, "retention.ms", "1"), kerr.UnknownTopicOrPartition.Code, ""},
			{alter(broker, "2", set, "log.retention.ms", "1"), kerr.InvalidRequest.Code, ""},
			{alter(broker, "1", set, "log.retention.ms", "1"), 0, ""},
			{alter(kmsg.ConfigResourceTypeUnknown, "t", set, "retention.ms", "1"), kerr.InvalidRequest.Code, ""},
		} {
			if step.code != step.want {
				t.Errorf("error %d, want %d for %s", step.code, step.want, step.config)
			}
		}
		data, _, _ := c.admin.Get(metadata.ConfigPath("topics", "t"))
		if want := `{"version":1,"config":{"cleanup.policy":"compact"}}`; string(data) != want {
			t.Errorf("the znode is %s, want %s", data, want)
		}
		notices, _, _ := c.admin.Children(metadata.ConfigChangesPath)
		if len(notices) != 6 {
			t.Errorf("%d notices, want one for each change: %v", len(notices), notices)
		}
		data, _, _ = c.admin.Get(metadata.ConfigChangesPath + "/config_change_0000000000")
		if want := `{"version":2,"entity_path":"topics/t"}`; string(data) != want {
			t.Errorf("a notice is %s, want %s", data, want)
		}
	})
}

func TestAutoCreatedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		other := c.controller()%3 + 1
		b := c.brokers[other]
		c.eventually("it knows the brokers", func() bool { return len(b.metadata().Brokers()) == 3 })
		b.driver.CreateMissingTopics(
			controllerdriver.WantedTopic{Name: "asked", Partitions: 4, Factor: 3, Config: map[string]string{"cleanup.policy": "compact"}},
			controllerdriver.WantedTopic{Name: "#!", Partitions: -1, Factor: -1},
		)
		c.eventually("it is there", func() bool { info, _ := b.metadata().Topic("asked"); return len(info.Partitions) == 4 })
		if names, _, _ := c.admin.Children(metadata.TopicsPath); len(names) != 1 {
			t.Errorf("topics %v", names)
		}
	})
}

func TestAllocateProducerIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1)
		controller := c.controller()
		_, stat, _ := c.admin.Get(metadata.BrokerIDPath(1))
		take := func(epoch int64) *kmsg.AllocateProducerIDsResponse {
			request := kmsg.NewPtrAllocateProducerIDsRequest()
			request.BrokerID, request.BrokerEpoch = 1, epoch
			return c.ask(controller, request).(*kmsg.AllocateProducerIDsResponse)
		}
		first, second, stale := take(stat.Czxid), take(stat.Czxid), take(stat.Czxid-1)
		if first.ErrorCode != 0 || first.ProducerIDStart != 0 || first.ProducerIDLen != 1000 || second.ProducerIDStart != 1000 {
			t.Errorf("blocks %+v and %+v", first, second)
		}
		if stale.ErrorCode != kerr.StaleBrokerEpoch.Code {
			t.Errorf("an old incarnation: %+v", stale)
		}
	})
}

func TestReassignment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 1, 2, 3)
		controller := c.controller()
		c.createTopic("t", []int32{1, 2}, []int32{1, 3})
		request := kmsg.NewPtrAlterPartitionAssignmentsRequest()
		move := func(index int32, replicas []int32) kmsg.AlterPartitionAssignmentsRequestTopicPartition {
			return kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: index, Replicas: replicas}
		}
		request.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "t", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
			move(0, []int32{3, 2}), move(1, []int32{9}), move(7, []int32{1}), move(1, nil),
		}}}
		response := c.ask(controller, request).(*kmsg.AlterPartitionAssignmentsResponse)
		for i, want := range []int16{0, kerr.InvalidReplicaAssignment.Code, kerr.UnknownTopicOrPartition.Code, kerr.NoReassignmentInProgress.Code} {
			if got := response.Topics[0].Partitions[i].ErrorCode; got != want {
				t.Errorf("partition %d: error %d, want %d", i, got, want)
			}
		}
		znode := func() metadata.Topic {
			data, _, err := c.admin.Get(metadata.TopicPath("t"))
			if err != nil {
				t.Fatal(err)
			}
			topic, err := metadata.DecodeTopic("t", data)
			if err != nil {
				t.Fatal(err)
			}
			return topic
		}
		if got := znode(); !slices.Equal(got.Replicas[0], []int32{3, 2, 1}) || !slices.Equal(got.Adding[0], []int32{3}) || !slices.Equal(got.Removing[0], []int32{1}) {
			t.Errorf("the znode says %+v", got)
		}
		listed := c.ask(controller, kmsg.NewPtrListPartitionReassignmentsRequest()).(*kmsg.ListPartitionReassignmentsResponse)
		if len(listed.Topics) != 1 || len(listed.Topics[0].Partitions) != 1 || !slices.Equal(listed.Topics[0].Partitions[0].AddingReplicas, []int32{3}) {
			t.Errorf("listed %+v", listed)
		}
		c.eventually("the new replica is told", func() bool { _, told := c.brokers[3].role("t", 0); return told })
		state, version := c.state("t", 0)
		_, leader, _ := c.admin.Get(metadata.BrokerIDPath(1))
		info, _ := c.brokers[controller].metadata().Topic("t")
		alter := kmsg.NewPtrAlterPartitionRequest()
		alter.Version, alter.BrokerID, alter.BrokerEpoch = 2, 1, leader.Czxid
		p := kmsg.NewAlterPartitionRequestTopicPartition()
		p.LeaderEpoch, p.PartitionEpoch, p.NewISR = state.LeaderEpoch, version, []int32{1, 2, 3}
		alter.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: info.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{p}}}
		if answer := c.ask(controller, alter).(*kmsg.AlterPartitionResponse); answer.ErrorCode != 0 || answer.Topics[0].Partitions[0].ErrorCode != 0 {
			t.Fatalf("answer %+v", answer)
		}
		if got := znode(); !slices.Equal(got.Replicas[0], []int32{3, 2}) || len(got.Adding)+len(got.Removing) != 0 || !slices.Equal(got.Replicas[1], []int32{1, 3}) {
			t.Errorf("in the end the znode says %+v", got)
		}
		if state, _ := c.state("t", 0); state.Leader != 3 || !sameMembers(state.ISR, []int32{2, 3}) {
			t.Errorf("in the end the state is %+v", state)
		}
		c.eventually("the old replica is deleted", func() bool { _, has := c.brokers[1].role("t", 0); return !has })
	})
}
