package dissect

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/server"
)

// raftMessage takes a frame between servers of the ensemble apart: size, kind, and a Raft message. Of a snapshot only its first frame is
// there, in which the tree is not.
func raftMessage(bytes []byte) Message {
	m := Message{Protocol: "raft", Name: "Message"}
	r := newReader(bytes)
	size, _ := r.number("size", 4)
	kind, value := r.number("kind", 1)
	if r.err != nil {
		r.finish(&m)
		return m
	}
	kind.Meaning = map[int64]string{2: "a Raft message", 5: "a Raft message that begins a snapshot"}[value]
	m.Fields = append(m.Fields, size, kind)
	descriptor, err := raftDescriptor("raftpb.Message")
	if err != nil {
		r.fail(err)
		r.finish(&m)
		return m
	}
	message := r.group("message", "Message", func() []Field { return protobuf(r, descriptor, raftInsides()) })
	m.Fields = append(m.Fields, message)
	for _, f := range message.Fields {
		if f.Name == "type" && f.Meaning != "" {
			m.Name = f.Meaning
		}
	}
	r.finish(&m)
	return m
}

// raftDescriptor finds a message of Raft's; package server, which uses Raft, has registered it.
func raftDescriptor(name protoreflect.FullName) (protoreflect.MessageDescriptor, error) {
	_ = server.IsEntry // the package is linked
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, err
	}
	descriptor, isMessage := found.(protoreflect.MessageDescriptor)
	if !isMessage {
		return nil, fmt.Errorf("%s is no message", name)
	}
	return descriptor, nil
}

func raftInsides() insides {
	return insides{"raftpb.Entry.Data": raftCommand, "raftpb.Entry.data": raftCommand}
}

// raftCommand takes an entry's data apart: a command of the ensemble's. Package protocol draws it.
func raftCommand(r *reader) []Field {
	if r.remaining() == 0 {
		return nil
	}
	attempt := *r
	fields := attempt.jute(nil, []juteField{
		{"server", "int"}, {"incarnation", "long"}, {"sequence", "long"}, {"time", "long"}, {"session", "long"}, {"attachment", "long"}, {"caller", "[]Id"}, {"op", "int"},
	})
	if attempt.err != nil { // a change of the members
		return []Field{r.blob("bytes", r.remaining())}
	}
	*r = attempt
	code, _ := strconv.Atoi(fields[7].Value)
	op := protocol.Op(code)
	fields[7].Meaning = op.String()
	session, _ := strconv.ParseInt(fields[4].Value, 10, 64)
	fields[4].Meaning = fmt.Sprintf("0x%x", uint64(session))
	if r.remaining() == 0 {
		return fields
	}
	return append(fields, r.group("request", op.String(), func() []Field { return r.zookeeper(op, false) }))
}
