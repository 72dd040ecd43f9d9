package dissect

import (
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/pulsar/ledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/trace"
)

func sized(bytes []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(bytes))), bytes...)
}

func produceFrame() []byte {
	request := kmsg.NewPtrProduceRequest()
	request.SetVersion(9)
	request.Acks = -1
	batch := records.Build([]records.Record{{Timestamp: 1_700_000_000_000, Key: []byte("k"), Value: []byte("needle"), Headers: []records.RecordHeader{{Key: "h", Value: []byte("v")}}}, {Timestamp: 1_700_000_000_001, Value: nil}})
	partition := kmsg.ProduceRequestTopicPartition{Partition: 2, Records: append(batch, batch[:40]...)}
	request.Topics = []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{partition}}}
	return requestFrame(request)
}

func pulsarFrame(batched bool) []byte {
	command, _ := proto.Marshal(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{ProducerId: proto.Uint64(3), SequenceId: proto.Uint64(17)}})
	return sized(append(sized(command), pulsarPayloadBytes(batched)...))
}

func pulsarPayloadBytes(batched bool) []byte {
	metadata := &pulsarpb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(17), PublishTime: proto.Uint64(1_700_000_000_000)}
	payload := []byte("needle")
	if batched {
		metadata.NumMessagesInBatch = proto.Int32(2)
		single, _ := proto.Marshal(&pulsarpb.SingleMessageMetadata{PayloadSize: proto.Int32(6)})
		payload = append(append(sized(single), "needle"...), append(sized(single), "second"...)...)
	}
	encoded, _ := proto.Marshal(metadata)
	rest := append(sized(encoded), payload...)
	return append(binary.BigEndian.AppendUint32([]byte{0x0e, 0x01}, crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli))), rest...)
}

func entryBytes() []byte {
	sealer, err := ledger.NewSealer(5, ledger.CRC32C, nil)
	if err != nil {
		panic(err)
	}
	return sealer.Seal(1, 0, 24, pulsarPayloadBytes(false))
}

func bookkeeperFrames() (frames [][]byte) {
	for _, version := range []int{2, 3} {
		request := &wire.Request{Operation: wire.AddEntry, Txn: 9, Ledger: 5, Entry: 1, MasterKey: make([]byte, 20), Body: entryBytes(), PreviousLAC: wire.NoLAC}
		request.Version = wire.Request{}.Version + request.Version
		switch version {
		case 2:
			request.Version = wire.Version2
		default:
			request.Version = wire.Version3
		}
		frame, err := wire.AppendRequest(nil, request)
		if err != nil {
			panic(err)
		}
		frames = append(frames, frame)
	}
	return frames
}

func zookeeperFrames() (request, answer []byte) {
	e := jute.NewEncoder(nil)
	start := e.Frame()
	e.Int(7)
	e.Int(int32(protocol.OpCreate))
	e.String("/controller")
	e.Buffer([]byte("needle"))
	protocol.AppendACL(e, tree.OpenACL)
	e.Int(1)
	e.EndFrame(start)
	a := jute.NewEncoder(nil)
	protocol.AppendReply(a, 7, 0x1f, tree.OK, func(e *jute.Encoder) {
		e.Buffer([]byte("needle"))
		protocol.AppendStat(e, tree.Stat{Czxid: 3, Version: 4, EphemeralOwner: 0x99})
	})
	return e.Bytes(), a.Bytes()
}

func raftFrame() []byte {
	request, _ := zookeeperFrames()
	command := protocol.EncodeRequest(protocol.CommandHead{Session: 0x99, Origin: tree.Origin{Server: 2}, Caller: []tree.ID{{Scheme: "ip", ID: "::1"}}}, protocol.OpCreate, request[12:])
	field := func(number, kind byte, rest ...byte) []byte { return append([]byte{number<<3 | kind}, rest...) }
	entry := append(field(1, 0, 0), append(field(2, 0, 4), append(field(3, 0, 9), append(field(4, 2, byte(len(command))), command...)...)...)...)
	message := append(field(1, 0, 3), append(field(4, 0, 4), append(field(7, 2, byte(len(entry)), 1), entry...)...)...)
	message[5] = byte(len(entry)&0x7f) | 0x80
	message[6] = byte(len(entry) >> 7)
	return append(binary.BigEndian.AppendUint32(nil, uint32(1+len(message))), append([]byte{2}, message...)...)
}

func messages() map[string]trace.CapturedFrame {
	request, answer := zookeeperFrames()
	frames := map[string]trace.CapturedFrame{
		"Produce":           {Protocol: "kafka", Kind: 0, Version: 9, Bytes: produceFrame()},
		"SEND":              {Protocol: "pulsar", Bytes: pulsarFrame(false)},
		"SEND of a batch":   {Protocol: "pulsar", Bytes: pulsarFrame(true)},
		"create":            {Protocol: "zookeeper", Kind: int16(protocol.OpCreate), Bytes: request},
		"answer to getData": {Protocol: "zookeeper", Kind: int16(protocol.OpGetData), Response: true, Bytes: answer},
		"MsgApp":            {Protocol: "raft", Bytes: raftFrame()},
	}
	for i, frame := range bookkeeperFrames() {
		frames["ADD_ENTRY version "+string(rune('2'+i))] = trace.CapturedFrame{Protocol: "bookkeeper", Bytes: frame}
	}
	return frames
}

// TestEveryByteBelongsToAField: each protocol's message is taken apart to its end, and the text that a client sent is a field's value,
// whose bytes are those of the text.
func TestEveryByteBelongsToAField(t *testing.T) {
	for name, frame := range messages() {
		frame.Size = int64(len(frame.Bytes))
		m := Captured(frame)
		if m.Problem != "" || !strings.HasPrefix(name, m.Name) && !strings.HasSuffix(name, m.Name) {
			t.Errorf("%s: %q %s\n%s%s", name, m.Name, m.Problem, list(m.Fields, ""), hex.Dump(frame.Bytes))
			continue
		}
		inPlace(t, frame.Bytes, m.Fields)
		needle, found := findValue(m.Fields, "needle")
		if !found || !strings.Contains(string(frame.Bytes[needle.At:needle.At+needle.Size]), "needle") || needle.Size > 30 {
			t.Errorf("%s: the value is found %v, %+v\n%s", name, found, needle, list(m.Fields, ""))
		}
	}
}

// findValue finds the innermost field with a value.
func findValue(fields []Field, value string) (Field, bool) {
	for _, f := range fields {
		if inner, found := findValue(f.Fields, value); found {
			return inner, true
		}
		if f.Value == value {
			return f, true
		}
	}
	return Field{}, false
}

func TestMeanings(t *testing.T) {
	all := ""
	for _, frame := range messages() {
		frame.Size = int64(len(frame.Bytes))
		all += list(Captured(frame).Fields, "")
	}
	for _, want := range []string{
		"Acks int16", "all in-sync replicas", "CRC-32C of the bytes from Attributes on: good", "2023-11-14 22:13:20.000 UTC", "RecordBatch[1]",
		"HeaderKey", "SEND", "CRC-32C of all that follows: good", "message[1]", "ephemeral", "rwcda", "0x99", "of the fields before and the payload: good", "MsgApp",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, all)
		}
	}
}

func TestFramesOfLogs(t *testing.T) {
	batch := records.Build([]records.Record{{Timestamp: 1, Value: []byte("needle")}})
	if m := RecordBatch(batch); m.Problem != "" || !strings.Contains(list(m.Fields, ""), "needle") {
		t.Errorf("%s\n%s", m.Problem, list(m.Fields, ""))
	}
	frame := func(rest []byte) []byte {
		out := append(binary.BigEndian.AppendUint32(nil, uint32(16+len(rest))), 0, 0, 0, 0)
		out = append(binary.BigEndian.AppendUint64(out, 8), rest...)
		binary.BigEndian.PutUint32(out[4:], crc32.Checksum(out[8:], crc32.MakeTable(crc32.Castagnoli)))
		return out
	}
	if m := BookieRecord(frame(entryBytes())); m.Problem != "" || !strings.Contains(list(m.Fields, ""), "needle") {
		t.Errorf("%s\n%s", m.Problem, list(m.Fields, ""))
	}
	request, _ := zookeeperFrames()
	command := protocol.EncodeRequest(protocol.CommandHead{}, protocol.OpCreate, request[12:])
	if m := RaftEntry(frame(append(binary.BigEndian.AppendUint64(nil, 4), append([]byte{0}, command...)...))); m.Problem != "" || !strings.Contains(list(m.Fields, ""), "needle") {
		t.Errorf("%s\n%s", m.Problem, list(m.Fields, ""))
	}
}

// TestCutAndDamagedMessages: whatever is captured of a message is taken apart as far as it goes.
func TestCutAndDamagedMessages(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for name, frame := range messages() {
		whole := frame.Bytes
		for size := range whole {
			frame.Bytes = whole[:size]
			m := Captured(frame)
			inPlace(t, frame.Bytes, m.Fields)
		}
		for range 2000 {
			damaged := append([]byte{}, whole...)
			for range 1 + random.IntN(4) {
				damaged[random.IntN(len(damaged))] = byte(random.Uint32())
			}
			frame.Bytes = damaged
			inPlace(t, damaged, Captured(frame).Fields)
		}
		if t.Failed() {
			t.Fatal(name)
		}
	}
}

// nestedMulti is a multi whose operation is a multi, and so on.
func nestedMulti(depth int) []byte {
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(8+9*depth)), 0, 0, 0, 7, 0, 0, 0, byte(protocol.OpMulti))
	for range depth {
		frame = append(frame, 0, 0, 0, byte(protocol.OpMulti), 0, 0xff, 0xff, 0xff, 0xff) // type, done, err
	}
	return frame
}

func TestNestedMultisAreNotTooDeep(t *testing.T) {
	frame := nestedMulti(400)
	m := Captured(trace.CapturedFrame{Protocol: "zookeeper", Kind: int16(protocol.OpMulti), Bytes: frame, Size: int64(len(frame))})
	if deep := depthOf(m.Fields); deep > 2*maxDepth || !strings.Contains(m.Problem, "too deep") {
		t.Errorf("%d fields deep: %q", deep, m.Problem)
	}
	frame = nestedMulti(3)
	m = Captured(trace.CapturedFrame{Protocol: "zookeeper", Kind: int16(protocol.OpMulti), Bytes: frame, Size: int64(len(frame))})
	if deep := depthOf(m.Fields); deep != 6 || !strings.Contains(m.Problem, "the bytes end here") { // body, three operations, header, type
		t.Errorf("%d fields deep: %q\n%s", deep, m.Problem, list(m.Fields, ""))
	}
}

func depthOf(fields []Field) (deepest int) {
	for _, f := range fields {
		deepest = max(deepest, 1+depthOf(f.Fields))
	}
	return deepest
}

func FuzzCaptured(f *testing.F) {
	for _, frame := range messages() {
		f.Add(frame.Protocol, frame.Kind, frame.Version, frame.Response, frame.Bytes)
	}
	f.Add("kafka", int16(3), int16(12), true, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add("kafka", int16(0), int16(-1), false, []byte("\x00\x00\x00\x10\x00\x00\xff\xff\x00\x00\x00\x07\x00\x00\x7f\xff\xff\xff\x00\x00"))
	f.Add("zookeeper", int16(protocol.OpMulti), int16(0), false, nestedMulti(40))
	f.Fuzz(func(t *testing.T, protocol string, kind, version int16, response bool, bytes []byte) {
		m := Captured(trace.CapturedFrame{Protocol: protocol, Kind: kind, Version: version, Response: response, Bytes: bytes, Size: int64(len(bytes))})
		if count(m.Fields) > 3*maxFields {
			t.Errorf("%d fields", count(m.Fields))
		}
		if deep := depthOf(m.Fields); deep > 3*maxDepth {
			t.Errorf("fields %d deep", deep)
		}
		inPlace(t, bytes, m.Fields)
		RecordBatch(bytes)
		RaftEntry(bytes)
		BookieRecord(bytes)
	})
}

func count(fields []Field) int {
	n := len(fields)
	for _, f := range fields {
		n += count(f.Fields)
	}
	return n
}
