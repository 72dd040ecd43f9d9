package server_test

import (
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// operation of the history. Its result is unknown when the connection broke before the answer.
type operation struct {
	kind    string // create, set, delete, read, both
	key     int
	value   string
	version int32 // of a set; -1 is any
}

type result struct {
	unknown bool
	code    tree.Error
	value   string // of a read
	version int32  // of a read or set
}

type register struct {
	exists  bool
	value   string
	version int32
}

var model = porcupine.Model{
	Init: func() any { return registers{} },
	Step: func(state, input, output any) (bool, any) {
		current, in, out := state.(registers), input.(operation), output.(result)
		want, next := do(current, in)
		if out.unknown {
			return true, next
		}
		return want == out, next
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
}

type registers = [simulatedKeys]register

// do is what ZooKeeper's documentation says about one operation.
func do(state registers, in operation) (result, registers) {
	r := &state[in.key]
	switch in.kind {
	case "create":
		if r.exists {
			return result{code: tree.ErrNodeExists}, state
		}
		*r = register{exists: true, value: in.value}
		return result{}, state
	case "both":
		other := &state[(in.key+1)%simulatedKeys]
		if !r.exists || !other.exists {
			return result{code: tree.ErrNoNode}, state
		}
		r.value, other.value = in.value, in.value
		r.version++
		other.version++
		return result{}, state
	}
	if !r.exists {
		return result{code: tree.ErrNoNode}, state
	}
	switch in.kind {
	case "set":
		if in.version != -1 && in.version != r.version {
			return result{code: tree.ErrBadVersion}, state
		}
		r.value = in.value
		r.version++
		return result{version: r.version}, state
	case "delete":
		*r = register{}
		return result{}, state
	}
	return result{value: r.value, version: r.version}, state
}

func (s *simulation) checkHistory() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.history {
		if s.history[i].Output.(result).unknown {
			s.history[i].Return = int64(time.Hour) // it may happen at any later time, or never
		}
	}
	if len(s.history) < 20 {
		s.t.Errorf("only %d operations were done", len(s.history))
	}
	verdict, information := porcupine.CheckOperationsVerbose(model, s.history, time.Minute)
	if verdict != porcupine.Ok {
		file := fmt.Sprintf("%s/history-%d.html", os.TempDir(), s.random.Uint64())
		if f, err := os.Create(file); err == nil {
			_ = porcupine.Visualize(model, information, f)
			f.Close()
		}
		s.t.Errorf("the history of %d operations is %s; see %s", len(s.history), verdict, file)
	}
}

// checkServersAgree: every server shows the same znodes, and once all sessions are over, no ephemerals.
func (s *simulation) checkServersAgree() {
	time.Sleep(20 * time.Second) // longer than any session of the clients lasts
	var first string
	for _, id := range s.running() {
		var c *rawClient
		if !s.within(func() bool { c, _ = s.dial("client", id, 0, nil, 0); return c != nil }) {
			s.t.Fatalf("server %d takes no client a minute after everything was healed", id)
		}
		shown := ""
		show := func(op protocol.Op, body []byte) {
			answer, _, err := c.call(op, body)
			if err != nil {
				s.t.Fatalf("server %d: %v", id, err)
			}
			shown += fmt.Sprintf("%v %d %x\n", op, answer.code, answer.body)
		}
		show(protocol.OpSync, pathRecord("/"))
		for key := range simulatedKeys {
			show(protocol.OpGetData, record(func(e *jute.Encoder) { e.String(keyPath(key)); e.Bool(false) }))
		}
		answer, _, err := c.call(protocol.OpGetChildren, record(func(e *jute.Encoder) { e.String("/"); e.Bool(false) }))
		if err != nil {
			s.t.Fatal(err)
		}
		for _, name := range jute.NewDecoder(answer.body).Strings() {
			if name[0] == 'e' {
				s.t.Errorf("server %d has the ephemeral %s of a session that is over", id, name)
			}
		}
		c.conn.Close()
		if first == "" {
			first = shown
		}
		if shown != first {
			s.t.Errorf("server %d shows\n%san earlier one\n%s", id, shown, first)
		}
	}
}
