package dissect

import (
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// Captured takes a captured message apart. What was not captured of a long message is told as the problem.
func Captured(frame trace.CapturedFrame) (m Message) {
	switch frame.Protocol {
	case "kafka":
		m = kafkaMessage(frame.Bytes, frame.Kind, frame.Version, frame.Response)
	case "pulsar":
		m = pulsarMessage(frame.Bytes)
	case "bookkeeper":
		m = bookkeeperMessage(frame.Bytes, frame.Response)
	case "zookeeper":
		m = zookeeperMessage(frame.Bytes, frame.Kind, frame.Response)
	case "raft":
		m = raftMessage(frame.Bytes)
	default:
		m = Message{Protocol: frame.Protocol}
		m.cannot(sentence.Of("protocolNotKnown", `messages of "{protocol}" are not taken apart`, frame.Protocol))
	}
	if frame.Size > int64(len(frame.Bytes)) {
		m.Problem, m.Said = "", nil
	}
	if m.Fields == nil {
		m.Fields = []Field{}
	}
	return m
}
