package protocol

import (
	"errors"
	"fmt"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/tree"
)

// ErrMultiOp: a multi holds an operation that it cannot hold.
var ErrMultiOp = errors.New("operation not possible in a multi")

// DecodeWrite reads the body of a request that changes the tree.
func DecodeWrite(op Op, body []byte) (tree.Operation, error) {
	d := jute.NewDecoder(body)
	operation, err := decodeOperation(op, d)
	if err == nil {
		err = d.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("decoding a %v request: %w", op, err)
	}
	return operation, nil
}

func decodeOperation(op Op, d *jute.Decoder) (tree.Operation, error) {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return decodeCreate(op, d), nil
	case OpDelete:
		return &tree.DeleteNode{Path: d.String(), Version: d.Int()}, nil
	case OpSetData:
		return &tree.SetData{Path: d.String(), Data: d.Buffer(), Version: d.Int()}, nil
	case OpSetACL:
		return &tree.SetACL{Path: d.String(), ACL: DecodeACL(d), Version: d.Int()}, nil
	case OpCheck:
		return &tree.Check{Path: d.String(), Version: d.Int()}, nil
	case OpCloseSession:
		return &tree.CloseSession{}, nil
	case OpMulti:
		return decodeMulti(d)
	case OpReconfig:
		return &tree.ReconfigRequest{Joining: d.String(), Leaving: d.String(), NewMembers: d.String(), Version: d.Long()}, nil
	}
	return nil, fmt.Errorf("%v changes nothing", op)
}

// A create's flags.
const (
	flagPersistent = iota
	flagEphemeral
	flagPersistentSequential
	flagEphemeralSequential
	flagContainer
	flagTTL
	flagTTLSequential
)

// maxTTL is 40 bits of milliseconds, as in ZooKeeper, which keeps them in an ephemeral owner's low bits.
const maxTTL = 0xffffffffff

func decodeCreate(op Op, d *jute.Decoder) *tree.CreateNode {
	create := &tree.CreateNode{Path: d.String(), Data: d.Buffer(), ACL: DecodeACL(d)}
	flags := d.Int()
	if op == OpCreateTTL {
		create.TTL = d.Long()
	}
	switch flags {
	case flagPersistent:
	case flagEphemeral:
		create.Mode = tree.Ephemeral
	case flagPersistentSequential:
		create.Sequential = true
	case flagEphemeralSequential:
		create.Mode, create.Sequential = tree.Ephemeral, true
	case flagContainer:
		create.Mode = tree.Container
	case flagTTL, flagTTLSequential:
		create.Mode, create.Sequential = tree.TTL, flags == flagTTLSequential
		if create.TTL <= 0 || create.TTL > maxTTL {
			create.Invalid = tree.ErrBadArguments
		}
	default:
		create.Invalid = tree.ErrBadArguments
	}
	return create
}

// decodeMulti reads (type int, done bool, err int, the operation's own request)… and the end mark, whose type is -1 and whose done
// is true.
func decodeMulti(d *jute.Decoder) (*tree.Multi, error) {
	multi := &tree.Multi{}
	for {
		op, done := Op(d.Int()), d.Bool()
		d.Int()
		if d.Err() != nil || done {
			return multi, d.Err()
		}
		switch op {
		case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpCheck:
		default:
			return nil, fmt.Errorf("%w: %v", ErrMultiOp, op)
		}
		operation, err := decodeOperation(op, d)
		if err != nil {
			return nil, err
		}
		multi.Operations = append(multi.Operations, operation)
	}
}

// AppendWriteResult writes the body of the answer to a request that changed the tree.
func AppendWriteResult(e *jute.Encoder, op Op, result tree.Result) {
	switch op {
	case OpCreate:
		e.String(result.Path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		e.String(result.Path)
		AppendStat(e, result.Stat)
	case OpSetData, OpSetACL:
		AppendStat(e, result.Stat)
	}
}

// AppendMultiResult writes the body of the answer to a multi, whose header always says OK. ops are the types of the answers, from
// MultiAnswers.
//
//	done:   (type int, false, 0, result)…        create: path; create2: path, Stat; setData: Stat
//	failed: (-1, false, code int, code int)…
//	end:    -1, true, -1
func AppendMultiResult(e *jute.Encoder, ops []Op, outcome tree.Outcome) {
	for i, result := range outcome.Multi {
		if outcome.Code != tree.OK {
			appendMultiHeader(e, opEnd, false, int32(result.Code))
			e.Int(int32(result.Code))
			continue
		}
		appendMultiHeader(e, ops[i], false, 0)
		AppendWriteResult(e, ops[i], result)
	}
	appendMultiHeader(e, opEnd, true, -1)
}

func appendMultiHeader(e *jute.Encoder, op Op, done bool, code int32) {
	e.Int(int32(op))
	e.Bool(done)
	e.Int(code)
}

// MultiAnswers lists the types of the answers to a multi's operations. They are the operations' own, but for creates: a container or a
// TTL node comes back as create2, any other as create, whichever of the two was asked for.
func MultiAnswers(body []byte) []Op {
	var ops []Op
	d := jute.NewDecoder(body)
	for {
		op, done := Op(d.Int()), d.Bool()
		d.Int()
		if d.Err() != nil || done {
			return ops
		}
		operation, err := decodeOperation(op, d)
		if err != nil {
			return ops
		}
		if create, isCreate := operation.(*tree.CreateNode); isCreate {
			if op = OpCreate; create.Mode == tree.Container || create.Mode == tree.TTL {
				op = OpCreate2
			}
		}
		ops = append(ops, op)
	}
}

// Subject is what a request is about, for people: its path, or its first operation's; empty when it has none.
func Subject(op Op, body []byte) string {
	d := jute.NewDecoder(body)
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpExists, OpGetData, OpSetData, OpGetACL, OpSetACL, OpGetChildren,
		OpGetChildren2, OpSync, OpCheck, OpAddWatch, OpRemoveWatches, OpCheckWatches, OpGetAllChildrenNumber, OpGetEphemerals:
		return d.String()
	case OpMulti, OpMultiRead:
		d.Raw(9)
		return d.String()
	}
	return ""
}

// AppendReadResult writes one operation's part of the answer to a multiRead.
func AppendReadResult(e *jute.Encoder, op Op, code tree.Error, result func(*jute.Encoder)) {
	if code != tree.OK {
		appendMultiHeader(e, opEnd, false, int32(code))
		e.Int(int32(code))
		return
	}
	appendMultiHeader(e, op, false, 0)
	result(e)
}

// AppendMultiEnd ends the answer to a multiRead.
func AppendMultiEnd(e *jute.Encoder) { appendMultiHeader(e, opEnd, true, -1) }
