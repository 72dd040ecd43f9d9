package dissect

import (
	"errors"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	_ "twinlog/engine/kafka/errorname" // errors by their names of today
)

// meaning is what a number stands for.
func (r *kafkaReader) meaning(name string, value int64) string {
	switch name {
	case "ErrorCode":
		return kafkaError(int16(value))
	case "Acks":
		return map[int64]string{-1: "all in-sync replicas", 0: "no answer", 1: "the leader alone"}[value]
	case "IsolationLevel":
		return map[int64]string{0: "read_uncommitted", 1: "read_committed"}[value]
	case "ReplicaID":
		if value == -1 {
			return "a consumer"
		}
		return ""
	case "Timestamp":
		if named, special := map[int64]string{-1: "latest", -2: "earliest", -3: "max timestamp", -4: "earliest local", -5: "latest tiered"}[value]; special {
			return named
		}
		return milliseconds(value)
	case "LogAppendTime", "LastTimestamp":
		return milliseconds(value)
	case "CoordinatorType":
		return map[int64]string{0: "group", 1: "transaction"}[value]
	case "SessionEpoch":
		return map[int64]string{-1: "no fetch session", 0: "begin a fetch session"}[value]
	}
	return ""
}

func kafkaError(code int16) string {
	if code == 0 {
		return "NONE"
	}
	var known *kerr.Error
	if errors.As(kerr.ErrorForCode(code), &known) && known.Code == code {
		return known.Message
	}
	return "an error that is not known"
}

func milliseconds(ms int64) string {
	const most = 253402300799999 // the year 9999
	if ms < 0 || ms > most {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000 UTC")
}

// insideOf says what bytes hold, by the request and the field that they are in.
func (r *kafkaReader) insideOf(name string) func(*reader) []Field {
	name, _, _ = strings.Cut(name, "[")
	switch {
	case r.api == "Produce" && name == "Records", r.api == "Fetch" && name == "RecordBatches":
		return recordBatches
	case r.api == "JoinGroup" && (name == "Metadata" || name == "ProtocolMetadata"):
		return consumerMetadata
	case (r.api == "SyncGroup" || r.api == "DescribeGroups") && strings.HasSuffix(name, "Assignment"):
		return consumerAssignment
	case r.api == "DescribeGroups" && name == "ProtocolMetadata":
		return consumerMetadata
	}
	return nil
}

// The consumer's own records in the bytes of a group's protocol; never flexible. Fields of later versions are behind those of earlier ones.
var (
	consumerSubscription = []kafkaField{
		{name: "Topics", kind: "string", array: true, last: 99, tag: -1},
		{name: "UserData", kind: "bytes", nullable: true, last: 99, tag: -1},
		{name: "OwnedPartitions", kind: "struct", array: true, first: 1, last: 99, tag: -1, fields: topicPartitions},
		{name: "Generation", kind: "int32", first: 2, last: 99, tag: -1},
		{name: "Rack", kind: "string", nullable: true, first: 3, last: 99, tag: -1},
	}
	consumerAssigned = []kafkaField{
		{name: "Topics", kind: "struct", array: true, last: 99, tag: -1, fields: topicPartitions},
		{name: "UserData", kind: "bytes", nullable: true, last: 99, tag: -1},
	}
	topicPartitions = []kafkaField{
		{name: "Topic", kind: "string", last: 99, tag: -1},
		{name: "Partitions", kind: "int32", array: true, last: 99, tag: -1},
	}
)

func consumerMetadata(r *reader) []Field   { return consumerRecord(r, consumerSubscription) }
func consumerAssignment(r *reader) []Field { return consumerRecord(r, consumerAssigned) }

func consumerRecord(r *reader, shape []kafkaField) []Field {
	if r.remaining() == 0 {
		return nil
	}
	version, number := r.number("Version", 2)
	inner := &kafkaReader{reader: r, version: int(number)}
	fields := append([]Field{version}, inner.structure(shape)...)
	if r.err != nil { // another protocol's bytes, such as Kafka Connect's
		return nil
	}
	return fields
}
