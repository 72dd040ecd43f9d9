package metadata

import (
	"reflect"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The texts are what zkCli shows of an Apache Kafka 3.9 cluster.
func TestPayloads(t *testing.T) {
	id, err := ParseTopicID("XE1pGbIjRAqTb1YzGMk8bA")
	if err != nil {
		t.Fatal(err)
	}
	registration := Registration{
		Endpoints: []Endpoint{{"PLAINTEXT", "h", 9092}, {"INTERNAL", "::1", 9192}}, Rack: "r<1>", TimestampMS: 1700000000000,
	}
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"cluster id": {NewClusterID("abc").Encode(), `{"version":"1","id":"abc"}`},
		"broker": {registration.Encode(), `{"features":{},"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT","PLAINTEXT":"PLAINTEXT"},` +
			`"endpoints":["PLAINTEXT://h:9092","INTERNAL://[::1]:9192"],"jmx_port":-1,"port":9092,"host":"h","version":5,"timestamp":"1700000000000","rack":"r<1>"}`},
		"broker without PLAINTEXT": {Registration{Endpoints: []Endpoint{{"INTERNAL", "h", 1}}, TimestampMS: 1}.Encode(),
			`{"features":{},"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT"},"endpoints":["INTERNAL://h:1"],"jmx_port":-1,"port":-1,"host":null,"version":5,"timestamp":"1"}`},
		"topic": {Topic{ID: id, Replicas: map[int32][]int32{0: {1, 2, 3}}}.Encode(),
			`{"version":3,"topic_id":"XE1pGbIjRAqTb1YzGMk8bA","partitions":{"0":[1,2,3]},"adding_replicas":{},"removing_replicas":{}}`},
		"state": {PartitionState{ControllerEpoch: 1, Leader: 1, ISR: []int32{1, 2}}.Encode(),
			`{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2]}`},
		"recovering state": {PartitionState{Leader: NoLeader, RecoveryState: Recovering}.Encode(),
			`{"controller_epoch":0,"leader":-1,"version":1,"leader_epoch":0,"isr":[],"leader_recovery_state":1}`},
		"controller":       {NewController(2, 1700000000000).Encode(), `{"version":2,"brokerid":2,"timestamp":"1700000000000","kraftControllerEpoch":-1}`},
		"controller epoch": {EncodeControllerEpoch(7), `7`},
		"config":           {NewConfig(map[string]string{"retention.ms": "1000"}).Encode(), `{"version":1,"config":{"retention.ms":"1000"}}`},
		"config change":    {NewConfigChange(ConfigTopics, "T").Encode(), `{"version":2,"entity_path":"topics/T"}`},
		"producer ids":     {NewProducerIDBlock(1, 0).Encode(), `{"version":1,"broker":1,"block_start":"0","block_end":"999"}`},
		"log dir event":    {NewLogDirEvent(1).Encode(), `{"version":1,"broker":1,"event":1}`},
		"feature":          {NewFeature().Encode(), `{"version":2,"status":1,"features":{}}`},
		"reassignment": {PartitionList{Partitions: []ListedPartition{{"T", 0, []int32{4, 5}}}}.Encode(),
			`{"version":1,"partitions":[{"topic":"T","partition":0,"replicas":[4,5]}]}`},
	} {
		if string(c.got) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, c.got, c.want)
		}
	}

	back, err := DecodeRegistration(1, registration.Encode())
	if err != nil || !reflect.DeepEqual(back, registration) {
		t.Errorf("a registration comes back as %+v, %v", back, err)
	}
	first, last, err := DecodeProducerIDBlock(NewProducerIDBlock(1, 1000).Encode())
	if first != 1000 || last != 1999 || err != nil {
		t.Errorf("a block comes back as %d, %d, %v", first, last, err)
	}
	topic, err := DecodeTopic("T", []byte(`{"version":1,"partitions":{"10":[1],"2":[3,1]}}`))
	if err != nil || !reflect.DeepEqual(topic.Partitions(), []int32{2, 10}) {
		t.Errorf("a version 1 topic comes back as %+v, %v", topic, err)
	}
}

func TestBadPayloads(t *testing.T) {
	for _, text := range []string{``, `null x`, `{"partitions":{"a":[1]}}`, `{"partitions":{"-1":[1]}}`, `{"topic_id":"short","partitions":{}}`, `[]`} {
		if _, err := DecodeTopic("T", []byte(text)); err == nil {
			t.Errorf("topic payload %q was accepted", text)
		}
	}
	for _, text := range []string{`{"endpoints":["h:9092"]}`, `{"endpoints":["P://h"]}`, `{"endpoints":["P://h:99999"]}`} {
		if _, err := DecodeRegistration(1, []byte(text)); err == nil {
			t.Errorf("registration payload %q was accepted", text)
		}
	}
}

func TestValidTopicName(t *testing.T) {
	for _, name := range []string{"a", "a.b-c_D9", "__consumer_offsets"} {
		if !ValidTopicName(name) {
			t.Errorf("%q should be valid", name)
		}
	}
	for _, name := range []string{"", ".", "..", "#!", "a b", "é", string(make([]byte, 250))} {
		if ValidTopicName(name) {
			t.Errorf("%q should not be valid", name)
		}
	}
}

func TestSnapshotApply(t *testing.T) {
	update := func(id TopicID, partitions ...kmsg.UpdateMetadataRequestTopicPartition) *kmsg.UpdateMetadataRequest {
		request := kmsg.NewPtrUpdateMetadataRequest()
		request.ControllerID, request.ControllerEpoch = 2, 5
		request.LiveBrokers = []kmsg.UpdateMetadataRequestLiveBroker{{ID: 2, Endpoints: []kmsg.UpdateMetadataRequestLiveBrokerEndpoint{{Port: 9093, Host: "h", ListenerName: "PLAINTEXT"}}}, {ID: 1}}
		request.TopicStates = []kmsg.UpdateMetadataRequestTopicState{{Topic: "T", TopicID: id, PartitionStates: partitions}}
		return request
	}
	empty := EmptySnapshot()
	one := empty.Apply(update(TopicID{1}, kmsg.UpdateMetadataRequestTopicPartition{Partition: 1, Leader: 1}, kmsg.UpdateMetadataRequestTopicPartition{Partition: 0, Leader: 2}))
	two := one.Apply(update(TopicID{1}, kmsg.UpdateMetadataRequestTopicPartition{Partition: 1, Leader: 2, LeaderEpoch: 1}))

	if _, found := empty.Topic("T"); found {
		t.Error("applying changed the snapshot that it was applied to")
	}
	if p, _ := one.Partition("T", 1); p.Leader != 1 {
		t.Error("a later update changed an earlier snapshot")
	}
	if p, _ := two.Partition("T", 1); p.Leader != 2 || p.LeaderEpoch != 1 {
		t.Errorf("partition 1 is %+v", p)
	}
	if p, found := two.Partition("T", 0); !found || p.Leader != 2 {
		t.Errorf("partition 0 got lost in a merge: %+v", p)
	}
	if b := two.Brokers(); len(b) != 2 || b[0].ID != 1 {
		t.Errorf("brokers are %+v", b)
	}
	again := two.Apply(update(TopicID{2}, kmsg.UpdateMetadataRequestTopicPartition{Partition: 0, Leader: 1}))
	if topic, _ := again.TopicByID(TopicID{2}); len(topic.Partitions) != 1 {
		t.Errorf("a topic that was created again still has old partitions: %+v", topic)
	}
	if _, found := again.TopicByID(TopicID{1}); found {
		t.Error("the old topic id is still known")
	}
	gone := again.Apply(update(TopicID{2}, kmsg.UpdateMetadataRequestTopicPartition{Partition: 0, Leader: LeaderDuringDelete}))
	if names := gone.TopicNames(); len(names) != 0 {
		t.Errorf("a topic whose partitions were deleted is still there: %v", names)
	}
}
