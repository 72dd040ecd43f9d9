//go:build oracle

package server_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/fabric/freeport"
)

// startZooKeeper runs Debian's ZooKeeper (package zookeeper) and returns its address.
func startZooKeeper(t *testing.T) string {
	t.Helper()
	dir, address := t.TempDir(), freeport.Address(t)
	_, port, _ := net.SplitHostPort(address)
	config := fmt.Sprintf("tickTime=500\ndataDir=%s\nclientPort=%s\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\n", dir, port)
	path := filepath.Join(dir, "zoo.cfg")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	java := exec.Command("java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.extendedTypesEnabled=true",
		"-Dzookeeper.DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU=", "-cp", "/usr/share/java/zookeeper.jar",
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", path)
	if err := java.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = java.Process.Kill(); _ = java.Wait() })
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			continue
		}
		_, _ = conn.Write([]byte("srvr"))
		var answer bytes.Buffer
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = answer.ReadFrom(conn)
		conn.Close()
		if strings.Contains(answer.String(), "Mode:") {
			return address
		}
	}
	t.Fatal("ZooKeeper does not serve")
	return ""
}

// TestSameAsZooKeeper does the same random operations on ours and on ZooKeeper and compares every byte of every answer and event, but
// for times and the zxids' upper halves. ENSEMBLE_SEED and ENSEMBLE_OPERATIONS choose another run.
func TestSameAsZooKeeper(t *testing.T) {
	seed, operations := uint64(1), 2000
	if text := os.Getenv("ENSEMBLE_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	if text := os.Getenv("ENSEMBLE_OPERATIONS"); text != "" {
		operations, _ = strconv.Atoi(text)
	}
	e := newEnsemble(t, 1, func(c *serverConfig) {
		c.SuperDigest = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="
		c.IdleCheckInterval = time.Hour
	})
	e.start(1)
	e.awaitReady(1)
	addresses := []string{e.configs[1].ClientAddress, startZooKeeper(t)}
	var sides [2]*side
	for i, address := range addresses {
		sides[i] = &side{address: address}
		for range 3 {
			if err := sides[i].open(); err != nil {
				t.Fatal(err)
			}
		}
	}
	random := rand.New(rand.NewPCG(seed, 7))
	kinds := map[protocol.Op]int{}
	var history []string
	for i := range operations {
		op, body, describe := randomOperation(random)
		client := random.IntN(3)
		kinds[op]++
		var got [2]string
		for j, s := range sides {
			got[j] = s.call(client, op, body)
		}
		history = append(history, fmt.Sprintf("%d: client %d: %v %s -> %s", i, client, op, describe, got[1]))
		if got[0] != got[1] {
			if os.Getenv("ENSEMBLE_HISTORY") != "" {
				t.Log(strings.Join(history, "\n"))
			}
			t.Fatalf("seed %d, operation %d by client %d: %v %s\n     ours: %s\nZooKeeper: %s", seed, i, client, op, describe, got[0], got[1])
		}
	}
	t.Logf("seed %d: %d operations, all the same: %v", seed, operations, kinds)
}

type side struct {
	address string
	clients []*rawClient
	ids     map[int64]int // sessions by client
}

func (s *side) open() error {
	c, err := dialRaw(s.address, 0, nil, 0)
	if err != nil {
		return err
	}
	if s.ids == nil {
		s.ids = map[int64]int{}
	}
	s.clients = append(s.clients, c)
	s.ids[c.session] = len(s.clients)
	return nil
}

// call gives the answer, then what every other client was told, in a form that both sides can be compared by.
func (s *side) call(client int, op protocol.Op, body []byte) string {
	var out strings.Builder
	c := s.clients[client]
	if op == protocol.OpCloseSession {
		answer, events, err := c.call(op, nil)
		own := s.showAll(events)
		slices.Sort(own)
		fmt.Fprintf(&out, "%v %v %v", s.show(op, answer), own, err)
		delete(s.ids, c.session)
		c.conn.Close()
		fresh, err := dialRaw(s.address, 0, nil, 0)
		if err != nil {
			return out.String() + err.Error()
		}
		s.clients[client] = fresh
		s.ids[fresh.session] = client + 1
	} else {
		answer, events, err := c.call(op, body)
		fmt.Fprintf(&out, "%v %v %v", s.show(op, answer), s.showAll(events), err)
	}
	for i, other := range s.clients {
		if i == client {
			continue
		}
		_, events, err := other.call(protocol.OpPing, nil)
		if err != nil {
			fmt.Fprintf(&out, " client %d: %v", i, err)
		}
		if len(events) > 0 {
			shown := s.showAll(events)
			if op == protocol.OpCloseSession {
				slices.Sort(shown) // ZooKeeper deletes a session's ephemerals in no order
			}
			fmt.Fprintf(&out, " client %d: %v", i, shown)
		}
	}
	return out.String()
}

func (s *side) showAll(events []frame) (shown []string) {
	for _, event := range events {
		shown = append(shown, fmt.Sprintf("event %x", event.body))
	}
	return shown
}

func low(zxid int64) int64 {
	if zxid < 0 {
		return zxid
	}
	return zxid & 0xffffffff
}

func (s *side) show(op protocol.Op, f frame) string {
	d := jute.NewDecoder(f.body)
	head := fmt.Sprintf("zxid %d code %d", low(f.zxid), f.code)
	if f.code != 0 || len(f.body) == 0 {
		return fmt.Sprintf("%s %x", head, f.body)
	}
	stat := func() string {
		return fmt.Sprintf("{c%d m%d", low(d.Long()), low(d.Long())) + fmt.Sprint(" times ", d.Long() != 0, d.Long() != 0) +
			fmt.Sprintf(" v%d cv%d av%d owner %d len %d children %d p%d}", d.Int(), d.Int(), d.Int(), s.ids[d.Long()], d.Int(), d.Int(), low(d.Long()))
	}
	switch op {
	case protocol.OpCreate, protocol.OpSync:
		return head + " " + d.String()
	case protocol.OpCreate2, protocol.OpCreateContainer, protocol.OpCreateTTL:
		return head + " " + d.String() + stat()
	case protocol.OpSetData, protocol.OpSetACL, protocol.OpExists:
		return head + stat()
	case protocol.OpGetData:
		return head + fmt.Sprintf(" %q ", d.Buffer()) + stat()
	case protocol.OpGetChildren, protocol.OpGetChildren2, protocol.OpGetEphemerals:
		names := d.Strings()
		slices.Sort(names)
		head += fmt.Sprint(names)
		if op == protocol.OpGetChildren2 {
			head += stat()
		}
		return head
	case protocol.OpGetACL:
		return head + fmt.Sprint(protocol.DecodeACL(d)) + stat()
	case protocol.OpMulti, protocol.OpMultiRead:
		return head + s.showMulti(d, stat)
	}
	return head + fmt.Sprintf(" %x", f.body)
}

func (s *side) showMulti(d *jute.Decoder, stat func() string) (shown string) {
	for {
		op, done, code := protocol.Op(d.Int()), d.Bool(), d.Int()
		shown += fmt.Sprintf(" [%d %v %d", op, done, code)
		if done || d.Err() != nil {
			return shown + "]" + fmt.Sprint(d.Err(), len(d.Rest()))
		}
		switch op {
		case -1:
			shown += fmt.Sprint(" ", d.Int())
		case protocol.OpCreate:
			shown += " " + d.String()
		case protocol.OpCreate2:
			shown += " " + d.String() + stat()
		case protocol.OpSetData:
			shown += stat()
		case protocol.OpGetData:
			shown += fmt.Sprintf(" %q ", d.Buffer()) + stat()
		case protocol.OpGetChildren:
			names := d.Strings()
			slices.Sort(names)
			shown += fmt.Sprint(names)
		}
		shown += "]"
	}
}

var acls = [][]tree.ACL{
	{{Permissions: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}, {Permissions: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}},
	{{Permissions: 1, ID: tree.ID{Scheme: "world", ID: "anyone"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "auth", ID: ""}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "digest", ID: "user:" + "x"}}, {Permissions: 1, ID: tree.ID{Scheme: "world", ID: "anyone"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "ip", ID: "127.0.0.0/8"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "ip", ID: "10.0.0.1"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "ip", ID: "10.0.0.1/99"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "nonsense", ID: "x"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "world", ID: "someone"}}},
	{{Permissions: 31, ID: tree.ID{Scheme: "digest", ID: "nocolon"}}},
	{},
}
