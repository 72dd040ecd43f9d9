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
