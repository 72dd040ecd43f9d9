package bookie

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/bookkeeper/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a bookie that serves on a real port with a ZooKeeper in memory.
type running struct {
	t      *testing.T
	bookie *Bookie
	port   string
	end    context.CancelFunc
	done   chan error
}

func start(t *testing.T, d disk.Disk, zookeeper *memorystore.Server, change func(*Config)) *running {
	t.Helper()
	config := Config{Listen: "127.0.0.1:0", Address: "bookie.test:3181", Network: fabric.NewTCP().Of("bookie-1"), Disk: d}
	if change != nil {
		change(&config)
	}
	b, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	var listening = make(chan string, 1)
	b.config.Network = announcing{b.config.Network, listening}
	if config.Connect == nil {
		b.config.Connect = zookeeper.Connect
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, bookie: b, end: cancel, done: make(chan error, 1)}
	go func() { r.done <- b.Run(ctx) }()
	select {
	case <-b.Ready():
		r.port = <-listening // tests dial the port, whatever the bookie is called
	case err := <-r.done:
		cancel()
		t.Fatalf("bookie ended: %v", err)
	}
	return r
}

// announcing tells the address that a listener got.
type announcing struct {
	fabric.Network
	address chan string
}

func (a announcing) Listen(address string) (net.Listener, error) {
	l, err := a.Network.Listen(address)
	if err == nil {
		a.address <- l.Addr().String()
	}
	return l, err
}

func (r *running) stop() {
	r.t.Helper()
	r.end()
	if err := <-r.done; err != nil {
		r.t.Fatalf("bookie ended with %v", err)
	}
}

// caller is a connection that asks and waits for the answer.
type caller struct {
	t       *testing.T
	version int
	conn    net.Conn
	reader  *bufio.Reader
}

func (r *running) dial(version int) *caller {
	conn, err := net.Dial("tcp", r.port)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return &caller{t: r.t, version: version, conn: conn, reader: bufio.NewReader(conn)}
}

func (c *caller) send(r wire.Request) {
	c.t.Helper()
	r.Version, r.PreviousLAC = c.version, max(r.PreviousLAC, wire.NoLAC)
	frame, err := wire.AppendRequest(nil, &r)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.conn.Write(frame); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) receive() *wire.Response {
	c.t.Helper()
	packet, err := wire.ReadPacket(c.reader)
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := wire.DecodeResponse(packet)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

var testKey = bytes.Repeat([]byte{3}, wire.MasterKeySize)

func body(ledger, entry, lac int64, payload string) []byte {
	b := entryIDs(ledger, entry)
	b = binary.BigEndian.AppendUint64(b, uint64(lac))
	b = binary.BigEndian.AppendUint64(b, uint64(len(payload)))
	return append(append(b, 0, 0, 0, 0), payload...)
}

func (c *caller) add(ledger, entry int64, recovery bool, key []byte) wire.Status {
	c.t.Helper()
	c.send(wire.Request{
		Operation: wire.AddEntry, Ledger: ledger, Entry: entry, MasterKey: key, Recovery: recovery, PreviousLAC: wire.NoLAC,
		Body: body(ledger, entry, entry-1, fmt.Sprintf("payload of %d:%d", ledger, entry)),
	})
	return c.receive().Status
}

func (c *caller) read(ledger, entry int64, fence bool) *wire.Response {
	c.t.Helper()
	r := wire.Request{Operation: wire.ReadEntry, Ledger: ledger, Entry: entry, Fence: fence, PreviousLAC: wire.NoLAC}
	if fence {
		r.MasterKey = testKey
	}
	c.send(r)
	return c.receive()
}

func osDisk(t *testing.T) disk.Disk {
	t.Helper()
	d, err := disk.NewOS(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func want[T comparable](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Errorf("%s: got %v, want %v", what, got, wanted)
	}
}

func TestAddAndRead(t *testing.T) {
	for _, version := range []int{wire.Version2, wire.Version3} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			r := start(t, osDisk(t), memorystore.NewServer(), nil)
			defer r.stop()
			c := r.dial(version)
			want(t, "read of an unknown ledger", c.read(1, 0, false).Status, wire.NoLedger)
			want(t, "add", c.add(1, 0, false, testKey), wire.OK)
			want(t, "add", c.add(1, 1, false, testKey), wire.OK)
			want(t, "add with another key", c.add(1, 2, false, make([]byte, 20)), wire.Unauthorized)
			want(t, "read of an unknown entry", c.read(1, 2, false).Status, wire.NoEntry)
			want(t, "read of a hidden record", c.read(1, fenceEntry, false).Status, wire.NoEntry)
			got := c.read(1, 1, false)
			want(t, "read", string(got.Body), string(body(1, 1, 0, "payload of 1:1")))
			want(t, "last entry", string(c.read(1, wire.LastEntry, false).Body), string(body(1, 1, 0, "payload of 1:1")))
		})
	}
}

// TestMoreGoesThroughTheJournalThanItsQueueHolds: what was answered takes no room in it any more.
func TestMoreGoesThroughTheJournalThanItsQueueHolds(t *testing.T) {
	r := start(t, disk.NewMemory(), memorystore.NewServer(), nil)
	defer r.stop()
	c := r.dial(wire.Version2)
	payload := strings.Repeat("x", 4<<20)
	for entry := range int64(journalQueue>>22 + 2) {
		c.send(wire.Request{Operation: wire.AddEntry, Ledger: 1, Entry: entry, MasterKey: testKey, Body: body(1, entry, entry-1, payload)})
		if err := c.conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		want(t, fmt.Sprint("add ", entry), c.receive().Status, wire.OK)
	}
}

func TestFencing(t *testing.T) {
	d, zookeeper := osDisk(t), memorystore.NewServer()
	r := start(t, d, zookeeper, nil)
	c := r.dial(wire.Version2)
	want(t, "add", c.add(1, 0, false, testKey), wire.OK)
	want(t, "fence", c.read(1, wire.LastEntry, true).Status, wire.OK)
	want(t, "fence of an unknown ledger", c.read(2, wire.LastEntry, true).Status, wire.NoEntry)
	check := func(c *caller) {
		want(t, "add after the fence", c.add(1, 1, false, testKey), wire.Fenced)
		want(t, "first add after the fence", c.add(2, 0, false, testKey), wire.Fenced)
		want(t, "recovery add", c.add(1, 1, true, testKey), wire.OK)
		want(t, "other ledger", c.add(3, 0, false, testKey), wire.OK)
	}
	check(c)
	r.stop()
	r = start(t, d, zookeeper, nil)
	defer r.stop()
	check(r.dial(wire.Version3))
}

func TestLongPollAndLAC(t *testing.T) {
	r := start(t, osDisk(t), memorystore.NewServer(), nil)
	defer r.stop()
	c, writer := r.dial(wire.Version3), r.dial(wire.Version3)
	want(t, "add", writer.add(1, 0, false, testKey), wire.OK)
	c.send(wire.Request{Operation: wire.ReadEntry, Txn: 5, Ledger: 1, Entry: wire.LastEntry, Piggyback: true, PreviousLAC: 1, TimeoutMS: 60_000})
	for entry := int64(1); entry <= 3; entry++ {
		want(t, "add", writer.add(1, entry, false, testKey), wire.OK)
	}
	got := c.receive()
	want(t, "transaction", got.Txn, 5)
	want(t, "LAC after the long poll", got.MaxLAC, 2)
	c.send(wire.Request{Operation: wire.WriteLAC, Ledger: 1, Entry: 3, MasterKey: testKey, Body: body(1, 3, 0, ""), PreviousLAC: wire.NoLAC})
	want(t, "write LAC", c.receive().Status, wire.OK)
	c.send(wire.Request{Operation: wire.ReadLAC, Ledger: 1, PreviousLAC: wire.NoLAC})
	got = c.receive()
	want(t, "last entry of read LAC", string(got.Body), string(body(1, 3, 2, "payload of 1:3")))
	want(t, "explicit LAC", string(got.ExplicitLAC), string(body(1, 3, 0, "")))
}

// Small entry logs roll often; nothing is lost over sealing, restarts and collection.
func TestEntryLogs(t *testing.T) {
	d, zookeeper := osDisk(t), memorystore.NewServer()
	small := func(c *Config) { c.EntryLogBytes = 2000 }
	const ledgers, entries = 5, 60
	r := start(t, d, zookeeper, small)
	c := r.dial(wire.Version2)
	for entry := range int64(entries) {
		for ledger := range int64(ledgers) {
			want(t, "add", c.add(ledger, entry, false, testKey), wire.OK)
		}
	}
	verify := func(c *caller) {
		t.Helper()
		for ledger := range int64(ledgers) {
			for entry := range int64(entries) {
				want(t, fmt.Sprintf("entry %d:%d", ledger, entry), string(c.read(ledger, entry, false).Body),
					string(body(ledger, entry, entry-1, fmt.Sprintf("payload of %d:%d", ledger, entry))))
			}
			want(t, "after the last", c.read(ledger, entries, false).Status, wire.NoEntry)
			want(t, "key is kept", c.add(ledger, 0, false, make([]byte, 20)), wire.Unauthorized)
		}
	}
	verify(c)
	r.stop()
	r = start(t, d, zookeeper, small)
	defer r.stop()
	verify(r.dial(wire.Version2))
	// No ledger has metadata: all are deleted. The growing log stays.
	if err := r.bookie.collectOnce(t.Context(), zookeeper.NewSession()); err != nil {
		t.Fatal(err)
	}
	want(t, "read of a collected ledger", r.dial(wire.Version2).read(1, 1, false).Status, wire.NoLedger)
	bases, err := listEntryLogs(d)
	if err != nil || len(bases) != 1 {
		t.Errorf("entry logs after collection: %v, %v", bases, err)
	}
}

func TestCookie(t *testing.T) {
	zookeeper := memorystore.NewServer()
	d := osDisk(t)
	start(t, d, zookeeper, nil).stop()
	start(t, d, zookeeper, nil).stop()
	for name, broken := range map[string]struct {
		disk disk.Disk
		zk   *memorystore.Server
	}{
		"empty disk":      {osDisk(t), zookeeper},
		"another cluster": {d, memorystore.NewServer()},
	} {
		b, err := New(Config{Listen: "127.0.0.1:0", Address: "bookie.test:3181", Network: fabric.NewTCP().Of("bookie-1"), Disk: broken.disk})
		if err != nil {
			t.Fatal(err)
		}
		b.config.Connect = broken.zk.Connect
		if err := b.Run(t.Context()); err == nil {
			t.Errorf("%s: the bookie served", name)
		}
	}
}

// The bookie was frozen for longer than its session lasted: with the next session it registers again.
func TestNewSession(t *testing.T) {
	server := memorystore.NewServer()
	store := &replaceable{Session: server.NewSession()}
	events := make(chan zk.Event, 2)
	events <- zk.Event{State: zk.StateHasSession}
	r := start(t, osDisk(t), server, func(c *Config) {
		c.Connect = func() (metadata.Session, error) {
			return metadata.Session{Store: store, Events: events, ID: store.ID, Close: func() { store.current().End() }}, nil
		}
	})
	defer r.stop()
	client := server.NewSession()
	store.current().End()
	bookies, changed, err := metadata.WatchBookies(client)
	if err != nil || len(bookies) != 0 {
		t.Fatalf("bookies after the session expired: %v, %v", bookies, err)
	}
	store.replace(server.NewSession())
	events <- zk.Event{State: zk.StateExpired}
	events <- zk.Event{State: zk.StateHasSession}
	<-changed
	if bookies, _, err := metadata.WatchBookies(client); err != nil || len(bookies) != 1 {
		t.Errorf("bookies with the new session: %v, %v", bookies, err)
	}
}

// replaceable is a session that another one follows, as go-zookeeper's connection is.
type replaceable struct {
	mu sync.Mutex
	*memorystore.Session
}

func (r *replaceable) current() *memorystore.Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Session
}

func (r *replaceable) replace(s *memorystore.Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Session = s
}

func (r *replaceable) ID() int64 { return r.current().ID() }

func (r *replaceable) Create(name string, data []byte, flags int32, acl []zk.ACL) (string, error) {
	return r.current().Create(name, data, flags, acl)
}

func (r *replaceable) Get(name string) ([]byte, *zk.Stat, error) { return r.current().Get(name) }

func (r *replaceable) Delete(name string, version int32) error {
	return r.current().Delete(name, version)
}
