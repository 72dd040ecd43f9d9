package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/fabric"
)

// TestSimulation runs an ensemble in memory through crashes, lost disks, cut and slow links, and checks what its clients saw. A seed
// decides what is done when; goroutines are scheduled as they are. ENSEMBLE_SEED runs one seed, ENSEMBLE_SEEDS so many.
func TestSimulation(t *testing.T) {
	first, count := uint64(1), 20
	if testing.Short() {
		count = 5
	}
	if text := os.Getenv("ENSEMBLE_SEED"); text != "" {
		first, _ = strconv.ParseUint(text, 10, 64)
		count = 1
	}
	if text := os.Getenv("ENSEMBLE_SEEDS"); text != "" {
		count, _ = strconv.Atoi(text)
	}
	for seed := first; seed < first+uint64(count); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { simulate(t, seed) })
		})
	}
}

const (
	simulatedServers = 3
	simulatedClients = 4
	simulatedSeconds = 30
	simulatedKeys    = 3
)

type simulation struct {
	t      *testing.T
	random *rand.Rand
	fabric *fabric.Fabric
	disks  map[int]*disk.Memory
	lives  map[int]*life
	faults map[string]int

	mu      sync.Mutex
	history []porcupine.Operation
	began   time.Time
}

// life is one run of a server.
type life struct {
	server *server.Server
	view   *fabric.View
	faults *disk.Faults
	cancel context.CancelFunc
	done   chan error
}

func simulatedAddress(id int) string { return fmt.Sprintf("ensemble-%d:2181", id) }

func simulate(t *testing.T, seed uint64) {
	s := &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), fabric: fabric.NewMemory(), disks: map[int]*disk.Memory{}, lives: map[int]*life{},
		faults: map[string]int{}, began: time.Now(),
	}
	for id := 1; id <= simulatedServers; id++ {
		s.disks[id] = disk.NewMemory()
		s.start(id)
	}
	for id := range s.lives {
		<-s.lives[id].server.Ready()
	}
	ctx, stop := context.WithTimeout(context.Background(), simulatedSeconds*time.Second)
	defer stop()
	var clients sync.WaitGroup
	for number := range simulatedClients {
		c := &simulatedClient{s: s, number: number, random: rand.New(rand.NewPCG(seed, uint64(100+number))), versions: map[int]int32{}}
		clients.Go(func() { c.run(ctx) })
	}
	s.disturb(ctx)
	clients.Wait()
	s.healAll()
	s.checkHistory()
	s.checkServersAgree()
	for id := range s.lives {
		s.kill(id)
	}
	t.Logf("seed %d: %d operations, faults %v", seed, len(s.history), s.faults)
}

func (s *simulation) start(id int) {
	peers := map[int]string{}
	for peer := 1; peer <= simulatedServers; peer++ {
		peers[peer] = fmt.Sprintf("ensemble-%d:2888", peer)
	}
	l := &life{view: s.fabric.Of(fmt.Sprintf("ensemble-%d", id)), faults: disk.NewFaults(s.disks[id]), done: make(chan error, 1)}
	var err error
	l.server, err = server.New(server.Config{
		ID: id, Peers: peers, ClientAddress: simulatedAddress(id), PeerAddress: peers[id], Network: l.view, Disk: l.faults,
		TickTime: time.Second, SnapshotEntries: 30, KeptEntries: 10, LogSegmentBytes: 2 << 10,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	s.lives[id] = l
	go func() { l.done <- l.server.Run(ctx) }()
}

// kill is a crash: network and disk are gone, then the process, and what was not synced.
func (s *simulation) kill(id int) {
	l := s.lives[id]
	delete(s.lives, id)
	l.view.Sever()
	l.faults.Sever()
	l.cancel()
	if err := <-l.done; err != nil && !errors.Is(err, disk.ErrSevered) && !errors.Is(err, errBroken) {
		s.t.Errorf("server %d: %v", id, err)
	}
	s.disks[id].Crash(s.random)
}

var errBroken = errors.New("the disk is broken")

// breakDisk makes the next sync fail: the server must end, and must not have acknowledged what it could not sync.
func (s *simulation) breakDisk(id int) {
	l := s.lives[id]
	l.faults.Set(disk.Fault{FailSync: errBroken})
	select {
	case err := <-l.done:
		if !errors.Is(err, errBroken) {
			s.t.Errorf("server %d, whose disk does not sync: %v", id, err)
		}
		l.done <- err
	case <-time.After(5 * time.Second): // it had nothing to sync
	}
	s.kill(id)
}

// freeze stops a server as SIGSTOP would.
func (s *simulation) freeze(id int) {
	l := s.lives[id]
	l.view.Freeze()
	l.faults.Freeze()
	time.Sleep(time.Duration(100+s.random.IntN(5000)) * time.Millisecond)
	l.faults.Thaw()
	l.view.Thaw()
}

// disturb does faults until ctx ends.
func (s *simulation) disturb(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(200+s.random.IntN(2000)) * time.Millisecond):
		}
		id := 1 + s.random.IntN(simulatedServers)
		other := 1 + (id+s.random.IntN(simulatedServers-1))%simulatedServers
		kind := s.random.IntN(10)
		for len(s.lives) < simulatedServers-1 { // without a majority there is nothing to see for long
			kind, id = 2, 1+s.random.IntN(simulatedServers)
			if s.lives[id] == nil {
				break
			}
		}
		switch {
		case kind < 2 && s.lives[id] != nil:
			s.faults["kill"]++
			s.kill(id)
		case kind < 4 && s.lives[id] == nil:
			s.faults["start"]++
			s.start(id)
		case kind == 4:
			s.faults["cut"]++
			s.setLink(id, other, fabric.Link{Cut: true})
			if s.random.IntN(2) == 0 {
				s.setLink(other, id, fabric.Link{Cut: true})
			}
		case kind == 5:
			s.faults["slow"]++
			s.setLink(id, other, fabric.Link{Delay: time.Duration(s.random.IntN(200)) * time.Millisecond, Jitter: 50 * time.Millisecond})
		case kind == 6:
			s.faults["heal"]++
			s.healLinks()
		case kind == 7 && len(s.lives) == simulatedServers:
			s.wipe(id)
		case kind == 8 && s.lives[id] != nil:
			s.faults["freeze"]++
			s.freeze(id)
		case kind == 9 && s.lives[id] != nil:
			s.faults["sync error"]++
			s.breakDisk(id)
		}
	}
}

func (s *simulation) setLink(from, to int, link fabric.Link) {
	if err := s.fabric.SetLink(fmt.Sprintf("ensemble-%d", from), fmt.Sprintf("ensemble-%d", to), link); err != nil {
		s.t.Error(err)
	}
}

func (s *simulation) healLinks() {
	for from := 1; from <= simulatedServers; from++ {
		for to := 1; to <= simulatedServers; to++ {
			s.setLink(from, to, fabric.Link{})
		}
	}
}

// wipe loses one server's disk while the others are whole and connected, and waits until the server is a member again: to lose two of
// three disks is to lose what they held, in any system.
func (s *simulation) wipe(id int) {
	s.faults["wipe"]++
	s.healLinks()
	s.kill(id)
	s.disks[id] = disk.NewMemory()
	s.start(id)
	select {
	case <-s.lives[id].server.Ready():
	case err := <-s.lives[id].done:
		s.t.Errorf("the wiped server %d ended: %v", id, err)
	case <-time.After(time.Minute):
		s.t.Errorf("the wiped server %d is not ready after a minute", id)
	}
}

func (s *simulation) healAll() {
	s.healLinks()
	for id := 1; id <= simulatedServers; id++ {
		if s.lives[id] == nil {
			s.start(id)
		}
	}
	for id := 1; id <= simulatedServers; id++ {
		select {
		case <-s.lives[id].server.Ready():
		case err := <-s.lives[id].done:
			s.t.Fatalf("server %d ended: %v", id, err)
		case <-time.After(time.Minute):
			s.t.Fatalf("server %d is not ready a minute after everything was healed", id)
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
	c := &rawClient{conn: conn, asked: 4000}
	if err := c.connect(session, password, zxid); err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// checkServersAgree: every server shows the same znodes, and once all sessions are over, no ephemerals.
func (s *simulation) checkServersAgree() {
	time.Sleep(20 * time.Second) // longer than any session of the clients lasts
	var first string
	for id := 1; id <= simulatedServers; id++ {
		var c *rawClient
		for deadline := time.Now().Add(time.Minute); c == nil; time.Sleep(100 * time.Millisecond) {
			c, _ = s.dial("client", id, 0, nil, 0)
			if time.Now().After(deadline) {
				s.t.Fatalf("server %d takes no client a minute after everything was healed", id)
			}
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
			s.t.Errorf("server %d shows\n%sserver 1\n%s", id, shown, first)
		}
	}
}

func pathRecord(path string) []byte { return record(func(e *jute.Encoder) { e.String(path) }) }

func keyPath(key int) string { return fmt.Sprintf("/k%d", key) }

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

// simulatedClient does random operations on whatever server takes it, with one session for as long as it lives.
type simulatedClient struct {
	s        *simulation
	number   int
	random   *rand.Rand
	raw      *rawClient
	session  int64
	password []byte
	zxid     int64 // the last one seen
	versions map[int]int32
	done     int
	watched  map[string]int64 // paths with a data watch, and the mzxid when it was set
}

func (c *simulatedClient) run(ctx context.Context) {
	for ctx.Err() == nil {
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
		c.session, c.password = 0, nil
		raw.conn.Close()
		return false
	}
	if c.session != 0 && raw.session != c.session {
		c.s.t.Errorf("client %d asked for its session %x and got %x", c.number, c.session, raw.session)
	}
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
