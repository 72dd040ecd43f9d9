package server_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/anishathalye/porcupine"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

// One client stops once for longer than a session lasts, with elections and the leader's clock allowed for.
const (
	pausedClient      = 0
	sessionTimeout    = 4 * time.Second
	longerThanSession = 2 * sessionTimeout
)

// simulatedClient does random operations on whatever server takes it, with one session for as long as it lives.
type simulatedClient struct {
	s        *simulation
	number   int
	random   *rand.Rand
	raw      *rawClient
	server   int
	session  int64
	password []byte
	zxid     int64 // the last one seen
	versions map[int]int32
	done     int
	watched  map[string]int64 // paths with a data watch, and the mzxid when it was set
}

func (c *simulatedClient) run(ctx context.Context) {
	pause := time.Duration(3+c.random.IntN(15)) * time.Second
	for ctx.Err() == nil {
		if c.number == pausedClient && c.raw != nil && pause > 0 && time.Since(c.s.began) > pause {
			time.Sleep(longerThanSession)
			pause = 0
		}
		if c.raw == nil && !c.connect() {
			time.Sleep(time.Duration(50+c.random.IntN(200)) * time.Millisecond)
			continue
		}
		c.step()
		time.Sleep(time.Duration(c.random.IntN(600)) * time.Millisecond)
	}
	if c.raw != nil {
		c.raw.conn.Close() // no goodbye: the session has to expire
	}
}

func (c *simulatedClient) connect() bool {
	id := 1 + c.random.IntN(simulatedServers)
	raw, err := c.s.dial(fmt.Sprintf("client-%d", c.number), id, c.session, c.password, c.zxid)
	if err != nil {
		return false
	}
	if raw.timeout == 0 {
		c.s.count(sessionLost, 1)
		c.session, c.password = 0, nil
		raw.conn.Close()
		return false
	}
	if c.session != 0 && raw.session != c.session {
		c.s.t.Errorf("client %d asked for its session %x and got %x", c.number, c.session, raw.session)
	}
	if c.session != 0 && c.server != id {
		c.s.count(sessionMoved, 1)
	}
	c.server = id
	c.raw, c.session, c.password, c.watched = raw, raw.session, raw.password, map[string]int64{}
	return true
}

// call does one request. What must hold for every session is checked here: zxids never go back, and a change of what is watched is
// told before it is shown.
func (c *simulatedClient) call(op protocol.Op, body []byte) (frame, bool) {
	answer, events, err := c.raw.call(op, body)
	for _, event := range events {
		d := jute.NewDecoder(event.body)
		d.Int()
		d.Int()
		delete(c.watched, d.String())
	}
	if err != nil || answer.code == int32(tree.ErrSessionExpired) || answer.code == int32(tree.ErrSessionMoved) {
		c.raw.conn.Close()
		c.raw = nil
		return answer, false
	}
	if answer.zxid < c.zxid {
		c.s.t.Errorf("client %d saw zxid %x after %x", c.number, answer.zxid, c.zxid)
	}
	c.zxid = max(c.zxid, answer.zxid)
	return answer, true
}

func (c *simulatedClient) step() {
	c.done++
	if c.done%5 == 0 {
		path := fmt.Sprintf("/e-%d-%d", c.number, c.done)
		c.call(protocol.OpCreate, createBody(path, "", 1))
		return
	}
	in := operation{
		kind: []string{"create", "set", "set", "delete", "read", "read", "both"}[c.random.IntN(7)], key: c.random.IntN(simulatedKeys),
		value: fmt.Sprintf("%d.%d", c.number, c.done), version: -1,
	}
	if in.kind == "set" && c.random.IntN(2) == 0 {
		in.version = c.versions[in.key]
	}
	if in.kind == "delete" && c.random.IntN(2) == 0 {
		in.kind = "read" // or there is little to read
	}
	called := time.Since(c.s.began)
	out, answered := c.perform(in)
	if !answered && in.kind == "read" {
		return // it has no effect that somebody else could see
	}
	out.unknown = !answered
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.s.history = append(c.s.history, porcupine.Operation{
		ClientId: c.number, Input: in, Call: int64(called), Output: out, Return: int64(time.Since(c.s.began)),
	})
}

func createBody(path, value string, flags int32) []byte {
	return record(func(e *jute.Encoder) {
		e.String(path)
		e.Buffer([]byte(value))
		protocol.AppendACL(e, tree.OpenACL)
		e.Int(flags)
	})
}

func (c *simulatedClient) perform(in operation) (result, bool) {
	path := keyPath(in.key)
	setBody := func(path string) []byte {
		return record(func(e *jute.Encoder) { e.String(path); e.Buffer([]byte(in.value)); e.Int(in.version) })
	}
	switch in.kind {
	case "create":
		answer, ok := c.call(protocol.OpCreate, createBody(path, in.value, 0))
		return result{code: tree.Error(answer.code)}, ok
	case "set":
		answer, ok := c.call(protocol.OpSetData, setBody(path))
		out := result{code: tree.Error(answer.code)}
		if ok && out.code == tree.OK {
			out.version = statVersion(answer.body)
			c.versions[in.key] = out.version
		}
		return out, ok
	case "delete":
		answer, ok := c.call(protocol.OpDelete, record(func(e *jute.Encoder) { e.String(path); e.Int(-1) }))
		return result{code: tree.Error(answer.code)}, ok
	case "both":
		answer, ok := c.call(protocol.OpMulti, record(func(e *jute.Encoder) {
			for _, key := range []int{in.key, (in.key + 1) % simulatedKeys} {
				multiHead(e, protocol.OpSetData, false)
				e.Raw(setBody(keyPath(key)))
			}
			multiHead(e, -1, true)
		}))
		if !ok {
			return result{}, false
		}
		return result{code: multiCode(answer.body)}, true
	}
	if _, ok := c.call(protocol.OpSync, pathRecord(path)); !ok {
		return result{}, false
	}
	return c.read(in.key, path)
}

// read reads with a watch. The connection's earlier watch of the path, if it is still set, must not have anything to tell.
func (c *simulatedClient) read(key int, path string) (result, bool) {
	before, wasWatched := c.watched[path]
	answer, ok := c.call(protocol.OpGetData, record(func(e *jute.Encoder) { e.String(path); e.Bool(true) }))
	if !ok {
		return result{}, false
	}
	out := result{code: tree.Error(answer.code)}
	_, stillWatched := c.watched[path]
	if out.code != tree.OK {
		if wasWatched && stillWatched {
			c.s.t.Errorf("client %d was not told that %s, which it watched, is gone", c.number, path)
		}
		return out, true
	}
	d := jute.NewDecoder(answer.body)
	out.value = string(d.Buffer())
	stat := d.Rest()
	out.version = statVersion(stat)
	s := jute.NewDecoder(stat)
	s.Long()
	mzxid := s.Long()
	if wasWatched && stillWatched && mzxid != before {
		c.s.t.Errorf("client %d was shown a change of %s (mzxid %x, watched since %x) before it was told", c.number, path, mzxid, before)
	}
	c.watched[path] = mzxid
	c.versions[key] = out.version
	return out, true
}

// statVersion is a Stat's version: after four longs.
func statVersion(stat []byte) int32 {
	d := jute.NewDecoder(stat)
	d.Raw(32)
	return d.Int()
}

func multiHead(e *jute.Encoder, op protocol.Op, done bool) {
	e.Int(int32(op))
	e.Bool(done)
	e.Int(-1)
}

// multiCode is the first error in a multi's answer.
func multiCode(body []byte) tree.Error {
	d := jute.NewDecoder(body)
	for {
		op, done := d.Int(), d.Bool()
		code := d.Int()
		if done || d.Err() != nil {
			return tree.OK
		}
		if op == -1 && code != 0 && code != int32(tree.ErrRuntimeInconsistency) {
			return tree.Error(code)
		}
		if op == -1 {
			d.Int()
		} else {
			d.Raw(80)
		}
	}
}

func (s *simulation) dial(node string, id int, session int64, password []byte, zxid int64) (*rawClient, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := s.fabric.Of(node).Dial(ctx, simulatedAddress(id))
	if err != nil {
		return nil, err
	}
	c := &rawClient{conn: conn, asked: int32(sessionTimeout.Milliseconds())}
	if err := c.connect(session, password, zxid); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func pathRecord(path string) []byte { return record(func(e *jute.Encoder) { e.String(path) }) }

func keyPath(key int) string { return fmt.Sprintf("/k%d", key) }
