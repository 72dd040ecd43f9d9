package protocol

import (
	"encoding/binary"
	"fmt"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/tree"
)

// A command as it stands in a Raft entry, and as a follower sends it to the leader. A client's request is kept byte for byte.
//
//	+--------+-------------+----------+------+---------+------------+------------------+------+-----------------+
//	| server | incarnation | sequence | time | session | attachment | caller           | op   | request         |
//	| int    | long        | long     | long | long    | long       | vector of Id     | int  | up to the end   |
//	+--------+-------------+----------+------+---------+------------+------------------+------+-----------------+
//	0        4             12         20     28        36           44
//
// Who orders a command stamps its time; until then it is 0.
const commandTimeOffset = 20

// CommandHead is a command without its operation.
type CommandHead struct {
	Origin     tree.Origin
	TimeMS     int64
	Session    int64
	Attachment int64
	Caller     []tree.ID
}

// EncodeRequest makes a command of a client's request.
func EncodeRequest(head CommandHead, op Op, request []byte) []byte {
	e := jute.NewEncoder(make([]byte, 0, 96+len(request)))
	appendHead(e, head, op)
	e.Raw(request)
	return e.Bytes()
}

func appendHead(e *jute.Encoder, head CommandHead, op Op) {
	e.Int(head.Origin.Server)
	e.Long(head.Origin.Incarnation)
	e.Long(head.Origin.Sequence)
	e.Long(head.TimeMS)
	e.Long(head.Session)
	e.Long(head.Attachment)
	AppendIDs(e, head.Caller)
	e.Int(int32(op))
}

// EncodeCommand makes a command of what a server does of its own accord.
func EncodeCommand(head CommandHead, operation tree.Operation) []byte {
	e := jute.NewEncoder(nil)
	switch operation := operation.(type) {
	case *tree.CreateSession:
		appendHead(e, head, OpCreateSession)
		e.Raw(operation.Password[:])
		e.Int(operation.TimeoutMS)
	case *tree.AttachSession:
		appendHead(e, head, opAttachSession)
		e.Raw(operation.Password[:])
		e.Int(operation.TimeoutMS)
	case *tree.CloseSession:
		op := OpCloseSession
		if operation.Expired {
			op = opExpireSession
		}
		appendHead(e, head, op)
	case *tree.RemoveIdle:
		appendHead(e, head, OpDeleteContainer)
		e.String(operation.Path)
	case *tree.Barrier:
		appendHead(e, head, opBarrier)
	case *tree.Reconfigure:
		appendHead(e, head, opMembership)
		e.Int(int32(operation.Refused))
		tree.EncodeMembers(e, operation.Servers)
	default:
		panic(fmt.Sprintf("protocol: %T is encoded as a client's request", operation))
	}
	return e.Bytes()
}

// StampTime sets a command's time, in milliseconds since 1970. It tells false when the bytes are too few to be a command.
func StampTime(command []byte, timeMS int64) bool {
	if len(command) < commandTimeOffset+8 {
		return false
	}
	binary.BigEndian.PutUint64(command[commandTimeOffset:], uint64(timeMS))
	return true
}

// DecodeCommand reads a command. Its operation shares the bytes' memory.
func DecodeCommand(command []byte) (*tree.Command, Op, error) {
	d := jute.NewDecoder(command)
	decoded := &tree.Command{
		Origin:     tree.Origin{Server: d.Int(), Incarnation: d.Long(), Sequence: d.Long()},
		TimeMS:     d.Long(),
		Session:    d.Long(),
		Attachment: d.Long(),
		Caller:     DecodeIDs(d),
	}
	op := Op(d.Int())
	if d.Err() != nil {
		return nil, op, fmt.Errorf("decoding a command: %w", d.Err())
	}
	var err error
	switch op {
	case OpCreateSession:
		decoded.Operation = &tree.CreateSession{Password: password(d), TimeoutMS: d.Int()}
	case opAttachSession:
		decoded.Operation = &tree.AttachSession{Password: password(d), TimeoutMS: d.Int()}
	case opExpireSession:
		decoded.Operation = &tree.CloseSession{Expired: true}
	case OpDeleteContainer:
		decoded.Operation = &tree.RemoveIdle{Path: d.String()}
	case opBarrier:
		decoded.Operation = &tree.Barrier{}
	case opMembership:
		decoded.Operation = &tree.Reconfigure{Refused: tree.Error(d.Int()), Servers: tree.DecodeMembers(d)}
	default:
		decoded.Operation, err = decodeOperation(op, d)
	}
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return nil, op, fmt.Errorf("decoding a %v command: %w", op, err)
	}
	return decoded, op, nil
}

func password(d *jute.Decoder) (password [16]byte) {
	copy(password[:], d.Raw(len(password)))
	return password
}
