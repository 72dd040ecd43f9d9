package protocol

import (
	"bytes"
	"reflect"
	"testing"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/tree"
)

func record(write func(*jute.Encoder)) []byte {
	e := jute.NewEncoder(nil)
	write(e)
	return e.Bytes()
}

func createRequest(flags int32, ttl ...int64) []byte {
	return record(func(e *jute.Encoder) {
		e.String("/a")
		e.Buffer([]byte("x"))
		AppendACL(e, tree.OpenACL)
		e.Int(flags)
		for _, t := range ttl {
			e.Long(t)
		}
	})
}

func TestCreateFlags(t *testing.T) {
	for _, c := range []struct {
		op      Op
		request []byte
		want    tree.CreateNode
	}{
		{OpCreate, createRequest(0), tree.CreateNode{}},
		{OpCreate2, createRequest(1), tree.CreateNode{Mode: tree.Ephemeral}},
		{OpCreate, createRequest(2), tree.CreateNode{Sequential: true}},
		{OpCreate, createRequest(3), tree.CreateNode{Mode: tree.Ephemeral, Sequential: true}},
		{OpCreateContainer, createRequest(4), tree.CreateNode{Mode: tree.Container}},
		{OpCreateTTL, createRequest(5, 100), tree.CreateNode{Mode: tree.TTL, TTL: 100}},
		{OpCreateTTL, createRequest(6, 100), tree.CreateNode{Mode: tree.TTL, TTL: 100, Sequential: true}},
		{OpCreateTTL, createRequest(5, 0), tree.CreateNode{Mode: tree.TTL, Invalid: tree.ErrBadArguments}},
		{OpCreateTTL, createRequest(5, 1<<41), tree.CreateNode{Mode: tree.TTL, TTL: 1 << 41, Invalid: tree.ErrBadArguments}},
		{OpCreate, createRequest(77), tree.CreateNode{Invalid: tree.ErrBadArguments}},
	} {
		c.want.Path, c.want.Data, c.want.ACL = "/a", []byte("x"), tree.OpenACL
		got, err := DecodeWrite(c.op, c.request)
		if err != nil || !reflect.DeepEqual(got, &c.want) {
			t.Errorf("%v: %+v %v, want %+v", c.op, got, err, c.want)
		}
	}
}

func multiRequest(ops ...Op) []byte {
	return record(func(e *jute.Encoder) {
		for _, op := range ops {
			appendMultiHeader(e, op, false, -1)
			switch op {
			case OpCreate, OpCreate2:
				e.Raw(createRequest(0))
			case OpCreateContainer:
				e.Raw(createRequest(4))
			case OpDelete, OpCheck:
				e.String("/a")
				e.Int(-1)
			case OpSetData:
				e.String("/a")
				e.Buffer(nil)
				e.Int(-1)
			}
		}
		appendMultiHeader(e, opEnd, true, -1)
	})
}

func TestMulti(t *testing.T) {
	request := multiRequest(OpCreate2, OpCreateContainer, OpSetData, OpDelete, OpCheck)
	decoded, err := DecodeWrite(OpMulti, request)
	if err != nil || len(decoded.(*tree.Multi).Operations) != 5 {
		t.Fatalf("%+v %v", decoded, err)
	}
	if answers := MultiAnswers(request); !reflect.DeepEqual(answers, []Op{OpCreate, OpCreate2, OpSetData, OpDelete, OpCheck}) {
		t.Errorf("answers %v", answers)
	}
	if _, err := DecodeWrite(OpMulti, multiRequest(OpGetData)); err == nil {
		t.Error("a multi with a read was taken")
	}
	if _, err := DecodeWrite(OpMulti, request[:len(request)-3]); err == nil {
		t.Error("a multi without its end was taken")
	}
}

func TestCommandsComeBack(t *testing.T) {
	head := CommandHead{
		Origin: tree.Origin{Server: 3, Incarnation: 1 << 60, Sequence: 9}, Session: -5, Attachment: 8, Caller: []tree.ID{{Scheme: "ip", ID: "1.2.3.4"}},
	}
	for _, operation := range []tree.Operation{
		&tree.CreateSession{Password: [16]byte{1, 2, 3}, TimeoutMS: 4000},
		&tree.AttachSession{Password: [16]byte{0xff}, TimeoutMS: 1},
		&tree.CloseSession{}, &tree.CloseSession{Expired: true},
		&tree.RemoveIdle{Path: "/box"}, &tree.Barrier{},
		&tree.Reconfigure{Refused: tree.ErrBadVersion, Servers: map[int32]tree.Member{}},
		&tree.Reconfigure{Servers: map[int32]tree.Member{2: {PeerAddress: "b:1", ClientAddress: "b:2", RaftID: 514, Spec: "b:1:3", Nonce: 4, Former: true}}},
	} {
		encoded := EncodeCommand(head, operation)
		if !StampTime(encoded, 1234) {
			t.Fatalf("%T cannot be stamped", operation)
		}
		got, _, err := DecodeCommand(encoded)
		want := &tree.Command{Origin: head.Origin, TimeMS: 1234, Session: head.Session, Attachment: head.Attachment, Caller: head.Caller, Operation: operation}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v %v, want %+v", got, err, want)
		}
	}
	request := createRequest(1)
	got, op, err := DecodeCommand(EncodeRequest(head, OpCreate, request))
	if create, ok := got.Operation.(*tree.CreateNode); err != nil || op != OpCreate || !ok || create.Mode != tree.Ephemeral {
		t.Errorf("%+v %v %v", got, op, err)
	}
	if StampTime([]byte("short"), 1) {
		t.Error("too few bytes were stamped")
	}
}

func TestConnectRequestTellsOldClientsFromNew(t *testing.T) {
	old := record(func(e *jute.Encoder) {
		e.Int(0)
		e.Long(5)
		e.Int(4000)
		e.Long(9)
		e.Buffer(bytes.Repeat([]byte{7}, 16))
	})
	got, err := DecodeConnectRequest(old)
	if err != nil || got.HasReadOnly || got.LastZxidSeen != 5 || got.TimeoutMS != 4000 || got.Session != 9 || got.Password[15] != 7 {
		t.Errorf("%+v %v", got, err)
	}
	if got, err = DecodeConnectRequest(append(old, 1)); err != nil || !got.HasReadOnly || !got.ReadOnly {
		t.Errorf("with the flag: %+v %v", got, err)
	}
	if _, err = DecodeConnectRequest(old[:20]); err == nil {
		t.Error("half a request was taken")
	}
}

func FuzzCommand(f *testing.F) {
	f.Add(EncodeRequest(CommandHead{Caller: []tree.ID{{Scheme: "ip", ID: "::1"}}}, OpMulti, multiRequest(OpCreate, OpDelete)))
	f.Add(EncodeCommand(CommandHead{}, &tree.Reconfigure{Servers: map[int32]tree.Member{1: {}}}))
	f.Add(EncodeCommand(CommandHead{}, &tree.CreateSession{}))
	f.Fuzz(func(t *testing.T, encoded []byte) {
		command, _, err := DecodeCommand(encoded)
		if err != nil {
			return
		}
		command.Origin.Server = 0
		tree.New().Apply(1, command) // whatever can be decoded can be applied
	})
}

func FuzzRequest(f *testing.F) {
	f.Add(int32(OpMulti), multiRequest(OpCreate, OpSetData, OpCheck))
	f.Add(int32(OpCreateTTL), createRequest(6, 5))
	f.Add(int32(OpSetACL), record(func(e *jute.Encoder) { e.String("/a"); AppendACL(e, tree.OpenACL); e.Int(1) }))
	f.Add(int32(OpReconfig), record(func(e *jute.Encoder) { e.String("server.1=a:1:2;3"); e.String("2"); e.Buffer(nil); e.Long(-1) }))
	f.Fuzz(func(t *testing.T, op int32, body []byte) {
		operation, err := DecodeWrite(Op(op), body)
		Subject(Op(op), body)
		MultiAnswers(body)
		_, _ = DecodeConnectRequest(body)
		_, _, _ = DecodeHeader(body)
		if (operation == nil) != (err != nil) {
			t.Fatalf("%v and %v", operation, err)
		}
	})
}
