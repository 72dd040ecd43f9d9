package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

func (e *ensemble) raw(id int) *rawClient {
	e.t.Helper()
	c, err := dialRaw(e.configs[id].ClientAddress, 0, nil, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { c.conn.Close() })
	return c
}

func (c *rawClient) must(t *testing.T, op protocol.Op, body []byte) (frame, []frame) {
	t.Helper()
	answer, events, err := c.call(op, body)
	if err != nil || answer.code != 0 {
		t.Fatalf("%v: code %d, %v", op, answer.code, err)
	}
	return answer, events
}

func watchBody(path string) []byte {
	return record(func(e *jute.Encoder) { e.String(path); e.Bool(true) })
}

func setBody(path, value string) []byte {
	return record(func(e *jute.Encoder) { e.String(path); e.Buffer([]byte(value)); e.Int(-1) })
}

// TestAnEventComesBeforeTheAnswer of the write that caused it, on the writer's own connection.
func TestAnEventComesBeforeTheAnswer(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	for id := 1; id <= 3; id++ {
		c, path := e.raw(id), fmt.Sprintf("/own-%d", id)
		c.must(t, protocol.OpCreate, createBody(path, "", 0))
		c.must(t, protocol.OpGetData, watchBody(path))
		if _, events := c.must(t, protocol.OpSetData, setBody(path, "x")); len(events) != 1 {
			t.Errorf("server %d: %d events before the answer, want 1", id, len(events))
		}
	}
}

// TestAnswersComeInOrder: a client sends reads behind writes without waiting; each read shows the write before it.
func TestAnswersComeInOrder(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	for id := 1; id <= 3; id++ {
		c, path := e.raw(id), fmt.Sprintf("/order-%d", id)
		c.must(t, protocol.OpCreate, createBody(path, "", 0))
		const rounds = 300
		go func() {
			for i := range rounds {
				_, _ = c.send(protocol.OpSetData, setBody(path, fmt.Sprint(i)))
				_, _ = c.send(protocol.OpGetData, record(func(e *jute.Encoder) { e.String(path); e.Bool(false) }))
			}
		}()
		for i := range rounds {
			set, err := c.read()
			if err != nil || set.code != 0 {
				t.Fatalf("server %d, round %d: code %d, %v", id, i, set.code, err)
			}
			get, err := c.read()
			if err != nil || get.xid != set.xid+1 {
				t.Fatalf("server %d, round %d: answer %d after %d, %v", id, i, get.xid, set.xid, err)
			}
			if data := jute.NewDecoder(get.body).Buffer(); string(data) != fmt.Sprint(i) {
				t.Fatalf("server %d, round %d: read %q", id, i, data)
			}
		}
	}
}

// ended waits for the end of a connection.
func ended(conn net.Conn) error {
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, conn)
	if err != nil && strings.Contains(err.Error(), "reset") {
		return nil
	}
	return err
}

func TestASessionMoves(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	old := e.raw(1)
	old.must(t, protocol.OpCreate, createBody("/mine", "", 1))

	if thief, err := dialRaw(e.configs[2].ClientAddress, old.session, bytes.Repeat([]byte{1}, 16), 0); err != nil || thief.session != 0 || thief.timeout != 0 {
		t.Errorf("with a wrong password: %+v %v", thief, err)
	} else if err := ended(thief.conn); err != nil {
		t.Errorf("the connection with the wrong password: %v", err)
	}
	old.must(t, protocol.OpSetData, setBody("/mine", "still here"))

	moved, err := dialRaw(e.configs[3].ClientAddress, old.session, old.password, 0)
	if err != nil || moved.session != old.session {
		t.Fatalf("with the right one: %+v %v", moved, err)
	}
	if err := ended(old.conn); err != nil {
		t.Errorf("the old connection: %v", err)
	}
	moved.must(t, protocol.OpSetData, setBody("/mine", "moved"))
	moved.must(t, protocol.OpCloseSession, nil)
	if err := ended(moved.conn); err != nil {
		t.Errorf("after closing the session: %v", err)
	}
	if again, err := dialRaw(e.configs[1].ClientAddress, old.session, old.password, 0); err != nil || again.session != 0 {
		t.Errorf("a session that is over: %+v %v", again, err)
	}
	answer, _, err := e.raw(2).call(protocol.OpExists, watchBody("/mine"))
	if err != nil || answer.code != int32(tree.ErrNoNode) {
		t.Errorf("the ephemeral of a closed session: %d %v", answer.code, err)
	}
}

func TestBadInputEndsTheConnection(t *testing.T) {
	e := newEnsemble(t, 1, nil)
	e.start(1)
	e.awaitReady(1)
	for name, bad := range map[string][]byte{
		"a frame longer than the limit": {0, 0x10, 0, 0, 0, 0, 0, 1},
		"a negative length":             {0xff, 0xff, 0xff, 0xff},
		"a frame without a header":      {0, 0, 0, 2, 1, 1},
	} {
		c := e.raw(1)
		_, _ = c.conn.Write(bad)
		if err := ended(c.conn); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		conn, err := net.Dial("tcp", e.configs[1].ClientAddress)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write(bad)
		if err := ended(conn); err != nil {
			t.Errorf("%s, as the first frame: %v", name, err)
		}
		conn.Close()
	}
	c := e.raw(1)
	if answer, _, err := c.call(protocol.Op(9999), nil); err != nil || answer.code != int32(tree.ErrUnimplemented) || answer.zxid != -1 {
		t.Errorf("an operation that does not exist: %+v %v", answer, err)
	}
	if err := ended(c.conn); err != nil {
		t.Errorf("after it: %v", err)
	}
	c = e.raw(1)
	for _, op := range []protocol.Op{protocol.OpCreate, protocol.OpMulti, protocol.OpGetData, protocol.OpSetWatches} {
		if answer, _, err := c.call(op, []byte{0, 0, 0, 9, 1}); err != nil || answer.code != int32(tree.ErrMarshalling) {
			t.Errorf("%v cut short: %+v %v", op, answer, err)
		}
	}
	if answer, _, err := c.call(protocol.OpCheck, record(func(e *jute.Encoder) { e.String("/"); e.Int(5) })); err != nil || answer.code != int32(tree.ErrBadVersion) {
		t.Errorf("check on its own: %+v %v", answer, err)
	}
}

func TestAClientFromTheFutureIsSentAway(t *testing.T) {
	e := newEnsemble(t, 1, nil)
	e.start(1)
	e.awaitReady(1)
	if c, err := dialRaw(e.configs[1].ClientAddress, 0, nil, 1<<40); err == nil {
		t.Errorf("served: %+v", c)
	}
}

// TestSetWatches after a reconnect tells at once what was missed, before its answer, and sets the rest.
func TestSetWatches(t *testing.T) {
	e := newEnsemble(t, 1, nil)
	e.start(1)
	e.awaitReady(1)
	c, writer := e.raw(1), e.raw(1)
	for _, name := range []string{"/same", "/changed", "/gone", "/parent", "/quiet"} {
		writer.must(t, protocol.OpCreate, createBody(name, "", 0))
	}
	seen, _ := c.must(t, protocol.OpExists, watchBody("/"))
	writer.must(t, protocol.OpSetData, setBody("/changed", "x"))
	writer.must(t, protocol.OpDelete, record(func(e *jute.Encoder) { e.String("/gone"); e.Int(-1) }))
	writer.must(t, protocol.OpCreate, createBody("/parent/child", "", 0))
	writer.must(t, protocol.OpCreate, createBody("/new", "", 0))
	_, events := c.must(t, protocol.OpSetWatches, record(func(e *jute.Encoder) {
		e.Long(seen.zxid)
		e.Strings([]string{"/same", "/changed", "/gone"})
		e.Strings([]string{"/new", "/later"})
		e.Strings([]string{"/parent", "/quiet"})
	}))
	var told []string
	for _, event := range events {
		d := jute.NewDecoder(event.body)
		kind := tree.EventType(d.Int())
		d.Int()
		told = append(told, fmt.Sprint(kind, " ", d.String()))
	}
	want := "dataChanged /changed, deleted /gone, created /new, childrenChanged /parent"
	if got := strings.Join(told, ", "); got != want && !strings.HasPrefix(got, "childrenChanged /, ") {
		t.Errorf("told %s, want %s", got, want)
	}
	for _, path := range []string{"/same", "/later", "/quiet/child"} {
		if path == "/same" {
			writer.must(t, protocol.OpSetData, setBody(path, "x"))
		} else {
			writer.must(t, protocol.OpCreate, createBody(path, "", 0))
		}
		if _, events := c.must(t, protocol.OpPing, nil); len(events) != 1 {
			t.Errorf("%s: %d events, want 1", path, len(events))
		}
	}
}

func TestFourLetterWords(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	leader := e.leader()
	c := e.raw(leader)
	c.must(t, protocol.OpGetData, watchBody("/"))
	for word, want := range map[string][]string{
		"ruok": {"imok"}, "isro": {"rw"}, "srvr": {"Mode: leader\n", "Node count: 4\n", "Connections: 1\n"},
		"stat": {"Clients:\n /127.0.0.1:", "Mode: leader"}, "cons": {"sid=0x", "lop=GETD"},
		"mntr": {"zk_server_state\tleader\n", "zk_synced_followers\t2\n", "zk_watch_count\t1\n", "zk_znode_count\t4\n"},
		"wchs": {"1 connections watching 1 paths\nTotal watches:1\n"}, "conf": {"tickTime=500\n", "server.3="},
	} {
		got := ask(t, e.configs[leader].ClientAddress, word)
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q is not in %q", word, part, got)
			}
		}
	}
}

func ask(t *testing.T, address, word string) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(word))
	_ = conn.SetReadDeadline(time.Now().Add(patience))
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%s: %v", word, err)
	}
	return string(answer)
}
