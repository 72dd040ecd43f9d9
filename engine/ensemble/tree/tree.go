package tree

import (
	"maps"
	"slices"
	"strings"
)

// Tree is the replicated state of an ensemble: the znodes, the sessions, the members, and how far each server's stream of commands got.
// It is not safe for use from several goroutines.
type Tree struct {
	nodes    map[string]*znode
	sessions map[int64]*session
	streams  map[int32]stream
	members  Membership
	// zxid of the last transaction: the leader's term in the upper half, a count within the term in the lower.
	zxid int64
	// attachments counts the times that any session was attached to a connection.
	attachments int64
	// containers and timed are the paths that the leader looks at to remove what nobody needs any more.
	containers map[string]struct{}
	timed      map[string]struct{}
	bytes      int64 // of paths and data
	ephemerals int

	// Only while a multi runs: how to take back what it did so far, newest last.
	undo      []func()
	recording bool
}

// New returns the tree of a new ensemble.
func New() *Tree {
	t := &Tree{
		nodes:      map[string]*znode{rootPath: {acl: OpenACL, data: []byte{}}},
		sessions:   map[int64]*session{},
		streams:    map[int32]stream{},
		containers: map[string]struct{}{},
		timed:      map[string]struct{}{},
	}
	// ZooKeeper puts these three in place without counting them as creations, so the root of a new tree shows cversion -1.
	t.insert(SystemPath, &znode{acl: OpenACL, data: []byte{}})
	t.insert(QuotaPath, &znode{acl: OpenACL, data: []byte{}})
	// Its ACL is set once, from version -1 on.
	t.insert(ConfigPath, &znode{acl: readOnlyACL, data: []byte{}, aversion: -1})
	return t
}

// Zxid is the last transaction's.
func (t *Tree) Zxid() int64 { return t.zxid }

// Epoch is the term of the last transaction's leader.
func (t *Tree) Epoch() int64 { return t.zxid >> 32 }

// Len is the number of znodes.
func (t *Tree) Len() int { return len(t.nodes) }

// Bytes is about what the znodes hold: paths and data.
func (t *Tree) Bytes() int64 { return t.bytes }

// Ephemerals is the number of ephemeral znodes.
func (t *Tree) Ephemerals() int { return t.ephemerals }

// Exists asks for a Stat. Nobody needs a permission for it.
func (t *Tree) Exists(path string) (Stat, Error) {
	n, found := t.nodes[path]
	if !found {
		return Stat{}, ErrNoNode
	}
	return n.stat(), OK
}

// Data asks for a znode's data, which the caller must not change.
func (t *Tree) Data(path string, caller []ID) ([]byte, Stat, Error) {
	n, code := t.readable(path, caller, Read)
	if code != OK {
		return nil, Stat{}, code
	}
	return n.data, n.stat(), OK
}

// Children asks for the names of a znode's children, sorted.
func (t *Tree) Children(path string, caller []ID) ([]string, Stat, Error) {
	n, code := t.readable(path, caller, Read)
	if code != OK {
		return nil, Stat{}, code
	}
	return slices.Sorted(maps.Keys(n.children)), n.stat(), OK
}

// ACL asks for a znode's ACL. Digests are hidden from those who may not administer it.
func (t *Tree) ACL(path string, caller []ID) ([]ACL, Stat, Error) {
	n, code := t.readable(path, caller, Read|Admin)
	if code != OK {
		return nil, Stat{}, code
	}
	if !Permitted(n.acl, caller, Admin) {
		return hideDigests(n.acl), n.stat(), OK
	}
	return n.acl, n.stat(), OK
}

// Descendants counts all znodes below a path.
func (t *Tree) Descendants(path string, caller []ID) (int, Error) {
	if _, code := t.readable(path, caller, Read); code != OK {
		return 0, code
	}
	if path == rootPath {
		return len(t.nodes) - 1, OK
	}
	count := 0
	for other := range t.nodes {
		if strings.HasPrefix(other, path) && len(other) > len(path) && other[len(path)] == '/' {
			count++
		}
	}
	return count, OK
}

func (t *Tree) readable(path string, caller []ID, wanted int32) (*znode, Error) {
	n, found := t.nodes[path]
	if !found {
		return nil, ErrNoNode
	}
	if !Permitted(n.acl, caller, wanted) {
		return nil, ErrNoAuth
	}
	return n, OK
}

// insert puts a znode in its place and keeps every index of it. The parent exists.
func (t *Tree) insert(path string, n *znode) {
	parentPath, name := split(path)
	parent := t.nodes[parentPath]
	if parent.children == nil {
		parent.children = map[string]struct{}{}
	}
	parent.children[name] = struct{}{}
	t.nodes[path] = n
	t.bytes += int64(len(path) + len(n.data))
	switch n.mode {
	case Ephemeral:
		t.ephemerals++
		if owner, alive := t.sessions[n.owner]; alive {
			owner.ephemerals[path] = struct{}{}
		}
	case Container:
		t.containers[path] = struct{}{}
	case TTL:
		t.timed[path] = struct{}{}
	}
	t.undoable(func() { t.remove(path) })
}

// remove takes a znode out of its place and out of every index.
func (t *Tree) remove(path string) {
	parentPath, name := split(path)
	n := t.nodes[path]
	delete(t.nodes[parentPath].children, name)
	delete(t.nodes, path)
	t.bytes -= int64(len(path) + len(n.data))
	switch n.mode {
	case Ephemeral:
		t.ephemerals--
		if owner, alive := t.sessions[n.owner]; alive {
			delete(owner.ephemerals, path)
		}
	case Container:
		delete(t.containers, path)
	case TTL:
		delete(t.timed, path)
	}
	t.undoable(func() { t.insert(path, n) })
}

// change prepares for setting a znode's fields: a failing multi restores them. Its children are not among them.
func (t *Tree) change(n *znode) {
	if t.recording {
		before := *n
		t.undoable(func() {
			t.bytes += int64(len(before.data) - len(n.data))
			*n = before
		})
	}
}

func (t *Tree) undoable(takeBack func()) {
	if t.recording {
		t.undo = append(t.undo, takeBack)
	}
}
