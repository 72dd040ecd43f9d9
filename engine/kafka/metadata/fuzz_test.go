package metadata

import (
	"bytes"
	"testing"
)

// FuzzZnodes reads any bytes as the value of each znode of Kafka's: anybody may write them. What was read is written and read again as
// the same.
func FuzzZnodes(f *testing.F) {
	for _, text := range []string{
		`{"version":1,"id":"abc"}`, `{"version":1,"brokerid":3,"timestamp":"5"}`, `7`,
		`{"version":3,"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ","partitions":{"0":[1,2],"1":[2]},"adding_replicas":{},"removing_replicas":{}}`,
		`{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":3,"isr":[1,2]}`, `{"version":1,"config":{"a":"b"}}`,
		`{"version":2,"entity_path":"topics/orders"}`, `{"version":1,"broker":1,"block_start":"0","block_end":"999"}`,
		`{"version":1,"partitions":[{"topic":"orders","partition":0}]}`,
		`{"version":5,"host":"h","port":9092,"endpoints":["PLAINTEXT://h:9092"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		again(t, data, DecodeClusterID)
		again(t, data, DecodeController)
		again(t, data, func(data []byte) (PartitionState, error) { return DecodePartitionState("/p", data) })
		again(t, data, func(data []byte) (Config, error) { return DecodeConfig("/p", data) })
		again(t, data, func(data []byte) (ConfigChange, error) { return DecodeConfigChange("/p", data) })
		again(t, data, func(data []byte) (PartitionList, error) { return DecodePartitionList("/p", data) })
		_, _ = DecodeControllerEpoch(data)
		_, _ = DecodeTopic("orders", data)
		_, _ = DecodeRegistration(1, data)
		_, _, _ = DecodeProducerIDBlock(data)
		if id, err := ParseTopicID(string(data)); err == nil {
			if same, err := ParseTopicID(id.String()); err != nil || same != id {
				t.Errorf("the topic id %v reads again as %v, %v", id, same, err)
			}
		}
		_, _ = ParseBrokerID(string(data))
	})
}

func again[T interface{ Encode() []byte }](t *testing.T, data []byte, decode func([]byte) (T, error)) {
	value, err := decode(data)
	if err != nil {
		return
	}
	written := value.Encode()
	same, err := decode(written)
	if err != nil {
		t.Errorf("%q is written as %q: %v", data, written, err)
	} else if second := same.Encode(); !bytes.Equal(second, written) {
		t.Errorf("%q is written as %q, and that as %q", data, written, second)
	}
}
