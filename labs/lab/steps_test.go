package lab

import "testing"

// TestStepsCountInWords: "1 replicas" is what a reader stumbles over.
func TestStepsCountInWords(t *testing.T) {
	for _, one := range []struct {
		action interface{ told() told }
		en, zh string
	}{
		{&KafkaCreateTopic{Topic: "o", Partitions: 1, Replication: 1}, "Create the Kafka topic o: 1 partition, 1 replica", "创建 Kafka topic o：1 个分区，1 个副本"},
		{&KafkaCreateTopic{Topic: "o", Partitions: 3, Replication: 2}, "Create the Kafka topic o: 3 partitions, 2 replicas", "创建 Kafka topic o：3 个分区，2 个副本"},
		{&KafkaProduce{Topic: "o", Count: 1}, "Write 1 record to o with acks=all", "以 acks=all 向 o 写入 1 条消息"},
	} {
		if words := one.action.told(); words.en != one.en || words.zh != one.zh {
			t.Errorf("%q, %q", words.en, words.zh)
		}
	}
}

func TestACommandDoesAllThatItsStepDoes(t *testing.T) {
	for _, one := range []struct {
		action  interface{ told() told }
		command string
	}{
		{&KafkaProduce{Topic: "o", Count: 2, Size: 300}, "seq -f '%0300g' 2 | kcat -b {{kafka}} -P -t o -X acks=all"},
		{&KafkaJoin{As: "one", Group: "g", Topic: "o"}, "kcat -b {{kafka}} -G g -X auto.offset.reset=earliest -X client.id=one o"},
		{&KafkaJoin{As: "one", Group: "g", Topic: "o", Instance: "i"}, "kcat -b {{kafka}} -G g -X auto.offset.reset=earliest -X group.instance.id=i -X client.id=one o"},
		{&EnsembleOpen{As: "s", Watch: "/w"}, "{ echo get -w /w; cat; } | bin/twinlog zookeeper-client --server {{ensemble}}"},
		{&EnsembleOpen{As: "s", Ephemeral: "/e", Watch: "/w"}, "{ echo create -e /e; echo get -w /w; cat; } | bin/twinlog zookeeper-client --server {{ensemble}}"},
	} {
		if words := one.action.told(); words.command != one.command {
			t.Errorf("%s; want %s", words.command, one.command)
		}
	}
}
