package tree

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type reporter interface {
	Helper()
	Fatalf(format string, arguments ...any)
}

// script applies commands to a tree, one zxid each.
type script struct {
	t       reporter
	tree    *Tree
	session int64
	attach  int64
}

func newScript(t reporter) *script {
	s := &script{t: t, tree: New(), session: 7}
	s.attach = s.tree.Apply(1, &Command{Session: 7, Operation: &CreateSession{TimeoutMS: 4000}}).Attachment
	return s
}

func (s *script) do(operation Operation) Outcome {
	return s.tree.Apply(1, &Command{
		TimeMS: 1000, Session: s.session, Attachment: s.attach, Caller: []ID{{"ip", "127.0.0.1"}}, Operation: operation,
	})
}

func (s *script) create(path string) Outcome { return s.do(&CreateNode{Path: path, ACL: OpenACL}) }

func (s *script) mustCreate(paths ...string) {
	s.t.Helper()
	for _, path := range paths {
		if outcome := s.create(path); outcome.Code != OK {
			s.t.Fatalf("create %s: %v", path, outcome.Code)
		}
	}
}

func TestCreateRefuses(t *testing.T) {
	cases := map[string]struct {
		operation CreateNode
		want      Error
	}{
		"the root":                          {CreateNode{Path: "/", ACL: OpenACL}, ErrNodeExists},
		"what exists":                       {CreateNode{Path: "/a", ACL: OpenACL}, ErrNodeExists},
		"no slash":                          {CreateNode{Path: "a", ACL: OpenACL}, ErrBadArguments},
		"a slash at the end":                {CreateNode{Path: "/a/", ACL: OpenACL}, ErrBadArguments},
		"an empty step":                     {CreateNode{Path: "/a//b", ACL: OpenACL}, ErrNoNode},
		"an empty step below nothing":       {CreateNode{Path: "/x//b", ACL: OpenACL}, ErrNoNode},
		"a dot":                             {CreateNode{Path: "/a/.", ACL: OpenACL}, ErrBadArguments},
		"a control character":               {CreateNode{Path: "/a/\x07", ACL: OpenACL}, ErrBadArguments},
		"no parent":                         {CreateNode{Path: "/x/y", ACL: OpenACL}, ErrNoNode},
		"no ACL":                            {CreateNode{Path: "/b"}, ErrInvalidACL},
		"no ACL comes before no parent":     {CreateNode{Path: "/x/y"}, ErrInvalidACL},
		"auth without an identity":          {CreateNode{Path: "/b", ACL: []ACL{{All, ID{"auth", ""}}}}, ErrInvalidACL},
		"an address with too many bits":     {CreateNode{Path: "/b", ACL: []ACL{{All, ID{"ip", "1.2.3.4/33"}}}}, ErrInvalidACL},
		"a child of an ephemeral":           {CreateNode{Path: "/e/b", ACL: OpenACL}, ErrNoChildrenForEph},
		"a child where it is not permitted": {CreateNode{Path: "/locked/b", ACL: OpenACL}, ErrNoAuth},
		"a mode that does not exist":        {CreateNode{Path: "/b", ACL: OpenACL, Invalid: ErrBadArguments}, ErrBadArguments},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.mustCreate("/a")
			s.do(&CreateNode{Path: "/e", ACL: OpenACL, Mode: Ephemeral})
			s.do(&CreateNode{Path: "/locked", ACL: []ACL{{Read, ID{"world", "anyone"}}}})
			before := s.tree.Zxid()
			outcome := s.do(&c.operation)
			if outcome.Code != c.want {
				t.Errorf("%v, want %v", outcome.Code, c.want)
			}
			if outcome.Zxid != before+1 {
				t.Errorf("a failed write used %d zxids, want 1", outcome.Zxid-before)
			}
		})
	}
}

// TestSequentialNames: the suffix is the number of children ever created, whatever their names; deletes do not change it.
func TestSequentialNames(t *testing.T) {
	s := newScript(t)
	s.mustCreate("/p", "/p/plain")
	sequential := func(path string) string {
		return s.do(&CreateNode{Path: path, ACL: OpenACL, Sequential: true}).Path
	}
	if got := sequential("/p/s-"); got != "/p/s-0000000001" {
		t.Errorf("after one plain child: %s", got)
	}
	s.do(&DeleteNode{Path: "/p/plain", Version: -1})
	s.create("/p/s-0000000001") // fails, and uses nothing up
	s.do(&Multi{Operations: []Operation{&CreateNode{Path: "/p/x", ACL: OpenACL}, &Check{Path: "/nothing", Version: -1}}})
	if got := sequential("/p/"); got != "/p/0000000002" {
		t.Errorf("after a delete, a failed create and a failed multi: %s", got)
	}
}

// TestStatShowsCreatesAndDeletes: cversion counts both, although only creations are kept.
func TestStatShowsCreatesAndDeletes(t *testing.T) {
	s := newScript(t)
	s.mustCreate("/p", "/p/a", "/p/b", "/p/c")
	s.do(&DeleteNode{Path: "/p/b", Version: -1})
	stat, _ := s.tree.Exists("/p")
	if stat.Cversion != 4 || stat.NumChildren != 2 || stat.Pzxid != s.tree.Zxid() || stat.Version != 0 {
		t.Errorf("%+v", stat)
	}
	if root, _ := New().Exists("/"); root.Cversion != -1 || root.NumChildren != 1 {
		t.Errorf("the root of a new tree: %+v, want cversion -1", root)
	}
}

func TestZxidBeginsAnewInEachTerm(t *testing.T) {
	tree := New()
	for i, step := range []struct {
		term uint64
		want int64
	}{{3, 3<<32 | 1}, {3, 3<<32 | 2}, {5, 5<<32 | 1}, {5, 5<<32 | 2}} {
		if got := tree.Apply(step.term, &Command{Session: int64(i), Operation: &CloseSession{}}).Zxid; got != step.want {
			t.Errorf("step %d: %x, want %x", i, got, step.want)
		}
	}
}

func TestSessions(t *testing.T) {
	s := newScript(t)
	s.do(&CreateNode{Path: "/e", ACL: OpenACL, Mode: Ephemeral})
	first := s.attach
	wrong := s.do(&AttachSession{Password: [16]byte{1}})
	if wrong.Code != ErrSessionExpired {
		t.Errorf("a wrong password: %v", wrong.Code)
	}
	if outcome := s.create("/still"); outcome.Code != OK {
		t.Errorf("after an attempt with a wrong password the session's own connection gets %v", outcome.Code)
	}
	before := s.tree.Zxid()
	moved := s.do(&AttachSession{TimeoutMS: 9000})
	if moved.Code != OK || moved.Attachment == first || s.tree.Zxid() != before {
		t.Errorf("a move: %+v; it used %d zxids", moved, s.tree.Zxid()-before)
	}
	if outcome := s.create("/old"); outcome.Code != ErrSessionMoved {
		t.Errorf("through the old connection: %v", outcome.Code)
	}
	s.attach = moved.Attachment
	closed := s.do(&CloseSession{})
	if len(closed.Changes) != 1 || closed.Changes[0].Path != "/e" || closed.Changes[0].Type != NodeDeleted {
		t.Errorf("closing: %+v", closed)
	}
	if outcome := s.create("/late"); outcome.Code != ErrSessionExpired {
		t.Errorf("after the end: %v", outcome.Code)
	}
	if s.tree.Ephemerals() != 0 {
		t.Errorf("%d ephemerals are left", s.tree.Ephemerals())
	}
}

// TestStreamTakesEachCommandOnce: what is sent twice, out of order or by an earlier process is not taken.
func TestStreamTakesEachCommandOnce(t *testing.T) {
	tree := New()
	for i, step := range []struct {
		incarnation, sequence int64
		taken                 bool
	}{
		{10, 1, true}, {10, 1, false}, {10, 3, false}, {10, 2, true}, {10, 3, true},
		{9, 4, false}, {11, 2, false}, {11, 1, true}, {10, 4, false}, {11, 2, true},
	} {
		outcome := tree.Apply(1, &Command{Origin: Origin{Server: 1, Incarnation: step.incarnation, Sequence: step.sequence}, Operation: &Barrier{}})
		if outcome.Taken != step.taken {
			t.Errorf("step %d (%d, %d): taken %v", i, step.incarnation, step.sequence, outcome.Taken)
		}
	}
}

func TestIdle(t *testing.T) {
	s := newScript(t)
	s.do(&CreateNode{Path: "/box", ACL: OpenACL, Mode: Container})
	s.do(&CreateNode{Path: "/ttl", ACL: OpenACL, Mode: TTL, TTL: 500})
	if idle := s.tree.Idle(1499); len(idle) != 0 {
		t.Errorf("%v: a container that never had a child, and a TTL node whose time is not over", idle)
	}
	s.mustCreate("/box/c")
	s.do(&DeleteNode{Path: "/box/c", Version: -1})
	if idle := s.tree.Idle(1500); !slices.Equal(idle, []string{"/box", "/ttl"}) {
		t.Errorf("%v", idle)
	}
	s.mustCreate("/box/again")
	if outcome := s.do(&RemoveIdle{Path: "/box"}); outcome.Code != ErrNotEmpty {
		t.Errorf("a container that is in use again when its turn comes: %v", outcome.Code)
	}
	if outcome := s.tree.Apply(1, &Command{TimeMS: 1500, Operation: &RemoveIdle{Path: "/ttl"}}); outcome.Code != OK || len(outcome.Changes) != 1 {
		t.Errorf("%+v", outcome)
	}
}

func TestACLs(t *testing.T) {
	s := newScript(t)
	alice := ID{"digest", "alice:x="}
	s.do(&CreateNode{Path: "/a", ACL: []ACL{{All, alice}, {Read, ID{"world", "anyone"}}}})
	if _, _, code := s.tree.Data("/a", nil); code != OK {
		t.Errorf("anyone reads: %v", code)
	}
	if outcome := s.do(&SetData{Path: "/a", Version: -1}); outcome.Code != ErrNoAuth {
		t.Errorf("anyone writes: %v", outcome.Code)
	}
	shown, _, _ := s.tree.ACL("/a", nil)
	if shown[0].ID.ID != "alice:x" {
		t.Errorf("a digest is shown to anyone: %v", shown)
	}
	for _, caller := range []ID{alice, {"super", ""}} {
		if acl, _, _ := s.tree.ACL("/a", []ID{caller}); acl[0].ID != alice {
			t.Errorf("to %v: %v", caller, acl)
		}
	}
	for address, want := range map[string]bool{"10.1.2.3": true, "11.0.0.1": false, "::ffff:10.0.0.1": true, "nonsense": false} {
		if got := Permitted([]ACL{{Read, ID{"ip", "10.0.0.0/8"}}}, []ID{{"ip", address}}, Read); got != want {
			t.Errorf("10.0.0.0/8 for %s: %v", address, got)
		}
	}
}

var pathSteps = rapid.SampledFrom([]string{"a", "b", "c"})

func drawPath(t *rapid.T) string {
	path := ""
	for range rapid.IntRange(1, 3).Draw(t, "depth") {
		path += "/" + pathSteps.Draw(t, "step")
	}
	return path
}

func drawOperation(t *rapid.T) Operation {
	path, version := drawPath(t), int32(rapid.IntRange(-1, 2).Draw(t, "version"))
	data := []byte(rapid.StringN(0, 4, 8).Draw(t, "data"))
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1, 2, 3:
		mode := rapid.SampledFrom([]Mode{Persistent, Persistent, Ephemeral, Container, TTL}).Draw(t, "mode")
		return &CreateNode{Path: path, Data: data, ACL: OpenACL, Mode: mode, TTL: 5, Sequential: rapid.Bool().Draw(t, "sequential")}
	case 4, 5:
		return &DeleteNode{Path: path, Version: version}
	case 6:
		return &SetData{Path: path, Data: data, Version: version}
	case 7:
		return &SetACL{Path: path, ACL: OpenACL, Version: version}
	case 8:
		return &Check{Path: path, Version: version}
	}
	return &RemoveIdle{Path: path}
}

// TestMultiIsAllOrNothing: a multi that succeeds leaves what its operations one by one would have; one that fails leaves nothing, to
// the last byte of a snapshot.
func TestMultiIsAllOrNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one, other := newScript(t), newScript(t)
		for range rapid.IntRange(0, 20).Draw(t, "before") {
			operation := drawOperation(t)
			one.do(operation)
			other.do(operation)
		}
		var multi Multi
		for range rapid.IntRange(1, 6).Draw(t, "operations") {
			operation := drawOperation(t)
			if _, internal := operation.(*RemoveIdle); !internal {
				multi.Operations = append(multi.Operations, operation)
			}
		}
		before := one.tree.Snapshot().Encode()
		outcome := one.do(&multi)
		if outcome.Code != OK {
			one.tree.zxid-- // the failed multi's own zxid, and nothing else
			if !bytes.Equal(before, one.tree.Snapshot().Encode()) {
				t.Fatalf("a failed multi (%v) changed the tree", outcome.Code)
			}
			return
		}
		for _, operation := range multi.Operations {
			if result := other.do(operation); result.Code != OK {
				t.Fatalf("%+v: %v on its own", operation, result.Code)
			}
		}
		checkSame(t, one.tree, other.tree)
		checkIndexes(t, one.tree)
	})
}

// checkSame compares what does not depend on the number of transactions.
func checkSame(t *rapid.T, one, other *Tree) {
	if len(one.nodes) != len(other.nodes) || one.bytes != other.bytes || one.ephemerals != other.ephemerals {
		t.Fatalf("%d znodes, %d bytes, %d ephemerals against %d, %d, %d", len(one.nodes), one.bytes, one.ephemerals, len(other.nodes), other.bytes, other.ephemerals)
	}
	for path, a := range one.nodes {
		b := other.nodes[path]
		if b == nil || !bytes.Equal(a.data, b.data) || a.version != b.version || a.aversion != b.aversion || a.childrenCreated != b.childrenCreated || len(a.children) != len(b.children) {
			t.Fatalf("%s: %+v against %+v", path, a, b)
		}
	}
}

// checkIndexes compares every index with the znodes themselves.
func checkIndexes(t *rapid.T, tree *Tree) {
	var size int64
	ephemerals := map[int64]int{}
	for path, n := range tree.nodes {
		if path != rootPath {
			size += int64(len(path) + len(n.data))
			parent, name := split(path)
			if _, listed := tree.nodes[parent].children[name]; !listed {
				t.Fatalf("%s is not among its parent's children", path)
			}
		}
		for name := range n.children {
			child := path + "/" + name
			if path == rootPath {
				child = "/" + name
			}
			if tree.nodes[child] == nil {
				t.Fatalf("%s is listed but not there", child)
			}
		}
		if n.mode == Ephemeral {
			ephemerals[n.owner]++
		}
		if _, listed := tree.containers[path]; listed != (n.mode == Container) {
			t.Fatalf("%s: container index is wrong", path)
		}
		if _, listed := tree.timed[path]; listed != (n.mode == TTL) {
			t.Fatalf("%s: TTL index is wrong", path)
		}
	}
	if size != tree.bytes {
		t.Fatalf("%d bytes counted, %d there", tree.bytes, size)
	}
	for id, s := range tree.sessions {
		if len(s.ephemerals) != ephemerals[id] {
			t.Fatalf("session %d: %d ephemerals listed, %d there", id, len(s.ephemerals), ephemerals[id])
		}
	}
}

// TestASnapshotIsTheTree: restored, it is equal, and goes on as the original does.
func TestASnapshotIsTheTree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newScript(t)
		for range rapid.IntRange(0, 30).Draw(t, "operations") {
			s.do(drawOperation(t))
		}
		encoded := s.tree.Snapshot().Encode()
		restored, err := Restore(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(encoded, restored.Snapshot().Encode()) {
			t.Fatal("a restored tree encodes to other bytes")
		}
		checkIndexes(t, restored)
		twin := &script{t: t, tree: restored, session: s.session, attach: s.attach}
		for range 10 {
			operation := drawOperation(t)
			a, b := s.do(operation), twin.do(operation)
			if fmt.Sprint(a.Result, a.Zxid) != fmt.Sprint(b.Result, b.Zxid) {
				t.Fatalf("%+v: %+v against %+v", operation, a, b)
			}
		}
	})
}

func FuzzRestore(f *testing.F) {
	s := newScript(f)
	s.mustCreate("/a", "/a/b")
	s.do(&CreateNode{Path: "/e", ACL: OpenACL, Mode: Ephemeral})
	s.tree.Found(map[int32]Member{1: {PeerAddress: "a:1", RaftID: 1}, 2: {PeerAddress: "b:1", RaftID: 2, Spec: "b:1:2:participant"}})
	f.Add(s.tree.Snapshot().Encode())
	f.Add(New().Snapshot().Encode())
	nameless := New().Snapshot()
	nameless.paths[0] = ""
	f.Add(nameless.Encode())
	f.Fuzz(func(t *testing.T, encoded []byte) {
		restored, err := Restore(encoded)
		if err != nil {
			return
		}
		again, err := Restore(restored.Snapshot().Encode())
		if err != nil || again.Len() != restored.Len() {
			t.Fatalf("what was restored does not encode to something that can be: %v", err)
		}
	})
}
