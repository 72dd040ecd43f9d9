package server_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

var everybody = zk.WorldACL(zk.PermAll)

func must[T any](t *testing.T) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// TestEveryOperation drives each operation of go-zookeeper through a follower or the leader, whichever the client finds.
func TestEveryOperation(t *testing.T) {
	e := newEnsemble(t, 3, func(c *serverConfig) { c.IdleCheckInterval = time.Second })
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	createAndSet(t, conn)
	createAndDeleteChildren(t, conn)
	createEphemeral(t, conn)
	leaveIdle(t, conn)
	if synced, err := conn.Sync("/a"); err != nil || synced != "/a" {
		t.Errorf("sync: %q %v", synced, err)
	}
}

func createAndSet(t *testing.T, conn *zk.Conn) {
	must[string](t)(conn.Create("/a", []byte("one"), 0, everybody))
	if _, err := conn.Create("/a", nil, 0, everybody); !errors.Is(err, zk.ErrNodeExists) {
		t.Errorf("a second create: %v", err)
	}
	if _, err := conn.Create("/missing/a", nil, 0, everybody); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("a create without parent: %v", err)
	}
	data, stat, err := conn.Get("/a")
	if err != nil || string(data) != "one" || stat.Version != 0 || stat.DataLength != 3 {
		t.Errorf("get: %q %+v %v", data, stat, err)
	}
	if stat, err := conn.Set("/a", []byte("two!"), 0); err != nil || stat.Version != 1 {
		t.Errorf("set: %+v %v", stat, err)
	}
	if _, err := conn.Set("/a", nil, 0); !errors.Is(err, zk.ErrBadVersion) {
		t.Errorf("set with an old version: %v", err)
	}
	if there, _, err := conn.Exists("/nothing"); there || err != nil {
		t.Errorf("exists: %v %v", there, err)
	}
}

func createAndDeleteChildren(t *testing.T, conn *zk.Conn) {
	for want := range 3 {
		if got := must[string](t)(conn.Create("/a/s-", nil, zk.FlagSequence, everybody)); got != fmt.Sprintf("/a/s-%010d", want) {
			t.Errorf("sequential create %d: %s", want, got)
		}
	}
	if err := conn.Delete("/a", -1); !errors.Is(err, zk.ErrNotEmpty) {
		t.Errorf("delete of a parent: %v", err)
	}
	names, stat, err := conn.Children("/a")
	if slices.Sort(names); err != nil || len(names) != 3 || stat.Cversion != 3 || stat.NumChildren != 3 {
		t.Errorf("children: %v %+v %v", names, stat, err)
	}
	if err := conn.Delete("/a/"+names[0], 0); err != nil {
		t.Errorf("delete: %v", err)
	}
	if _, stat, _ := conn.Exists("/a"); stat.Cversion != 4 || stat.NumChildren != 2 {
		t.Errorf("stat after a delete: %+v", stat)
	}
}

func createEphemeral(t *testing.T, conn *zk.Conn) {
	must[string](t)(conn.Create("/eph", nil, zk.FlagEphemeral, everybody))
	if _, err := conn.Create("/eph/child", nil, 0, everybody); !errors.Is(err, zk.ErrNoChildrenForEphemerals) {
		t.Errorf("a child of an ephemeral: %v", err)
	}
	if _, stat, _ := conn.Exists("/eph"); stat.EphemeralOwner != conn.SessionID() {
		t.Errorf("ephemeral owner %x, session %x", stat.EphemeralOwner, conn.SessionID())
	}
}

// leaveIdle makes what the ensemble removes by itself: a TTL znode whose time is over, a container whose last child is gone.
func leaveIdle(t *testing.T, conn *zk.Conn) {
	path := must[string](t)
	path(conn.CreateTTL("/ttl", nil, zk.FlagTTL, everybody, 100*time.Millisecond))
	path(conn.CreateContainer("/box", nil, zk.FlagContainer, everybody))
	path(conn.Create("/box/child", nil, 0, everybody))
	_, _, ttlGone, err := conn.ExistsW("/ttl")
	if err != nil {
		t.Fatal(err)
	}
	_, _, boxGone, err := conn.ExistsW("/box")
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Delete("/box/child", -1); err != nil {
		t.Error(err)
	}
	expect(t, ttlGone, zk.EventNodeDeleted, "/ttl")
	expect(t, boxGone, zk.EventNodeDeleted, "/box")
}

func expect(t *testing.T, events <-chan zk.Event, event zk.EventType, path string) {
	t.Helper()
	select {
	case got := <-events:
		if got.Type != event || got.Path != path {
			t.Errorf("event %v of %s, want %v of %s", got.Type, got.Path, event, path)
		}
	case <-time.After(patience):
		t.Errorf("no event %v of %s", event, path)
	}
}

func TestMultiIsAllOrNothing(t *testing.T) {
	e := newEnsemble(t, 1, nil)
	e.start(1)
	e.awaitReady(1)
	conn, _ := e.connect(20*time.Second, 1)
	_, _, watch, err := conn.ChildrenW("/")
	if err != nil {
		t.Fatal(err)
	}
	results, err := conn.Multi(
		&zk.CreateRequest{Path: "/m", Data: []byte("1"), Acl: everybody},
		&zk.CreateRequest{Path: "/m/x-", Acl: everybody, Flags: zk.FlagSequence},
		&zk.SetDataRequest{Path: "/m", Data: []byte("2"), Version: 0},
		&zk.CheckVersionRequest{Path: "/m", Version: 1},
		&zk.DeleteRequest{Path: "/m/x-0000000000", Version: -1},
	)
	if err != nil || len(results) != 5 || results[1].String != "/m/x-0000000000" || results[2].Stat.Version != 1 {
		t.Fatalf("multi: %+v %v", results, err)
	}
	expect(t, watch, zk.EventNodeChildrenChanged, "/")
	results, err = conn.Multi(
		&zk.SetDataRequest{Path: "/m", Data: []byte("3"), Version: -1},
		&zk.CreateRequest{Path: "/m/y", Acl: everybody},
		&zk.CreateRequest{Path: "/m/z/y", Acl: everybody},
		&zk.DeleteRequest{Path: "/m", Version: -1},
	)
	if !errors.Is(err, zk.ErrNoNode) && err == nil {
		t.Errorf("a failing multi: %+v %v", results, err)
	}
	data, stat, err := conn.Get("/m")
	if err != nil || string(data) != "2" || stat.NumChildren != 0 || stat.Cversion != 2 {
		t.Errorf("after the failing multi: %q %+v %v", data, stat, err)
	}
}

func TestWatches(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	watcher, _ := e.connect(20*time.Second, 1)
	actor, _ := e.connect(20*time.Second, 2)
	_, _, created, err := watcher.ExistsW("/w")
	if err != nil {
		t.Fatal(err)
	}
	must[string](t)(actor.Create("/w", nil, 0, everybody))
	expect(t, created, zk.EventNodeCreated, "/w")
	_, _, changed, err := watcher.GetW("/w")
	if err != nil {
		t.Fatal(err)
	}
	_, _, children, err := watcher.ChildrenW("/w")
	if err != nil {
		t.Fatal(err)
	}
	must[*zk.Stat](t)(actor.Set("/w", []byte("x"), -1))
	expect(t, changed, zk.EventNodeDataChanged, "/w")
	must[string](t)(actor.Create("/w/c", nil, 0, everybody))
	expect(t, children, zk.EventNodeChildrenChanged, "/w")
}

func TestSessionExpiryDeletesEphemerals(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	owner, _, err := zk.Connect(e.addresses(2), 2*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(e.cutDialer("owner")))
	if err != nil {
		t.Fatal(err)
	}
	must[string](t)(owner.Create("/mine", nil, zk.FlagEphemeral, everybody))
	watcher, _ := e.connect(20*time.Second, 1, 3)
	if _, err := watcher.Sync("/"); err != nil {
		t.Fatal(err)
	}
	there, _, gone, err := watcher.ExistsW("/mine")
	if err != nil || !there {
		t.Fatal(there, err)
	}
	began := time.Now()
	e.cut("owner")
	expect(t, gone, zk.EventNodeDeleted, "/mine")
	t.Logf("expired %v after the crash, of a session of 2 s", time.Since(began))
	owner.Close()
}

func TestAKilledLeaderCostsNoSession(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	must[string](t)(conn.Create("/eph", nil, zk.FlagEphemeral, everybody))
	session := conn.SessionID()
	for round := range 3 {
		leader := e.leader()
		began := time.Now()
		e.kill(leader)
		for {
			if _, err := conn.Set("/eph", nil, -1); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Logf("round %d: a write %v after the leader (%d) was killed", round, time.Since(began), leader)
		e.start(leader)
		e.awaitReady(leader)
	}
	if conn.SessionID() != session {
		t.Errorf("session %x became %x", session, conn.SessionID())
	}
}

func TestDataSurvivesKillingAll(t *testing.T) {
	e := newEnsemble(t, 3, func(c *serverConfig) { c.SnapshotEntries, c.LogSegmentBytes = 50, 4<<10 })
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	for i := range 200 {
		must[string](t)(conn.Create(fmt.Sprintf("/n%03d", i), []byte{byte(i)}, 0, everybody))
	}
	session := conn.SessionID()
	must[string](t)(conn.Create("/eph", nil, zk.FlagEphemeral, everybody))
	for id := 1; id <= 3; id++ {
		e.kill(id)
	}
	began := time.Now()
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	t.Logf("ready %v after the start", time.Since(began))
	for {
		if _, _, err := conn.Get("/eph"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if conn.SessionID() != session {
		t.Errorf("session %x became %x", session, conn.SessionID())
	}
	for i := range 200 {
		data, _, err := conn.Get(fmt.Sprintf("/n%03d", i))
		if err != nil || data[0] != byte(i) {
			t.Fatalf("node %d: %v %v", i, data, err)
		}
	}
}

func TestAMinorityDoesNotServe(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	conn, _ := e.connect(20*time.Second, 1, 2, 3)
	must[string](t)(conn.Create("/before", nil, 0, everybody))
	session := conn.SessionID()
	leader := e.leader()
	var others []int
	for id := 1; id <= 3; id++ {
		if id != leader {
			others = append(others, id)
		}
	}
	e.kill(others[0])
	e.kill(leader)
	last := others[1]
	for {
		if stats, ok := zk.FLWSrvr(e.addresses(last), time.Second); !ok || stats[0].Error != nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, _, err := conn.Get("/before"); err == nil {
		t.Error("a server without a majority answered a client")
	}
	e.start(leader)
	e.awaitReady(leader)
	for {
		if _, err := conn.Create("/after", nil, 0, everybody); err == nil || errors.Is(err, zk.ErrNodeExists) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if conn.SessionID() != session {
		t.Errorf("session %x became %x", session, conn.SessionID())
	}
}

// TestAStoppedLeaderHandsOver: when it has stopped, another one leads already.
func TestAStoppedLeaderHandsOver(t *testing.T) {
	e := newEnsemble(t, 3, nil)
	e.start(1, 2, 3)
	e.awaitReady(1, 2, 3)
	leader := e.leader()
	e.stop(leader)
	for id := range e.running {
		if stats, ok := zk.FLWSrvr(e.addresses(id), time.Second); ok && stats[0].Mode == zk.ModeLeader {
			return
		}
	}
	t.Error("nobody leads after the leader has stopped")
}
