package tree

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"twinlog/engine/ensemble/jute"
)

// Snapshot is a tree at one moment. It shares data with the tree but does not change with it, so that another goroutine may write it
// while the tree goes on.
type Snapshot struct {
	zxid, attachments int64
	members           Membership
	streams           map[int32]stream
	sessions          map[int64]session
	paths             []string
	nodes             []znode
}

const snapshotFormat = 1

// Snapshot copies what can change.
func (t *Tree) Snapshot() *Snapshot {
	s := &Snapshot{
		zxid: t.zxid, attachments: t.attachments, members: t.members, streams: maps.Clone(t.streams),
		sessions: make(map[int64]session, len(t.sessions)),
		paths:    make([]string, 0, len(t.nodes)), nodes: make([]znode, 0, len(t.nodes)),
	}
	for id, each := range t.sessions {
		s.sessions[id] = *each
	}
	for path, each := range t.nodes {
		s.paths = append(s.paths, path)
		node := *each
		node.children = nil
		s.nodes = append(s.nodes, node)
	}
	return s
}

// Encode writes the snapshot in jute. Equal trees give equal bytes.
//
//	format int (1), zxid long, attachments long
//	members: version long, count int, (server int, peer, client ustring, raft id long, spec ustring, nonce long, former bool)…
//	streams: count int, (server int, incarnation long, sequence long)…
//	sessions: count int, (id long, password 16 bytes, timeout int, attachment long, server int)…
//	znodes, parents first: count int, (path ustring, mode int, data buffer, acl, owner long, ttl long, czxid, mzxid, pzxid, ctime,
//	mtime long, version, aversion, children created int)…
func (s *Snapshot) Encode() []byte {
	var all []byte
	for piece := range s.Pieces(1 << 20) {
		all = append(all, piece...)
	}
	return all
}

// Pieces yields what Encode returns in pieces of about size bytes, so that a large tree is never in memory a second time. A piece is
// valid until the next one is asked for.
func (s *Snapshot) Pieces(size int) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		e := jute.NewEncoder(make([]byte, 0, size+size/4))
		s.encodeHead(e)
		order := s.parentsFirst()
		e.Int(int32(len(order)))
		for _, i := range order {
			s.encodeNode(e, i)
			if len(e.Bytes()) < size {
				continue
			}
			if !yield(e.Bytes()) {
				return
			}
			e = jute.NewEncoder(e.Bytes()[:0])
		}
		if len(e.Bytes()) > 0 {
			yield(e.Bytes())
		}
	}
}

// encodeHead writes all but the znodes.
func (s *Snapshot) encodeHead(e *jute.Encoder) {
	e.Int(snapshotFormat)
	e.Long(s.zxid)
	e.Long(s.attachments)
	e.Long(s.members.Version)
	EncodeMembers(e, s.members.Servers)
	e.Int(int32(len(s.streams)))
	for _, id := range slices.Sorted(maps.Keys(s.streams)) {
		e.Int(id)
		e.Long(s.streams[id].incarnation)
		e.Long(s.streams[id].sequence)
	}
	e.Int(int32(len(s.sessions)))
	for _, id := range slices.Sorted(maps.Keys(s.sessions)) {
		each := s.sessions[id]
		e.Long(id)
		e.Raw(each.password[:])
		e.Int(each.timeoutMS)
		e.Long(each.attachment)
		e.Int(each.server)
	}
}

// parentsFirst is the order in which the znodes are written.
func (s *Snapshot) parentsFirst() []int {
	order := make([]int, len(s.paths))
	for i := range order {
		order[i] = i
	}
	// A parent's path is a prefix of its children's, so it sorts before them.
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case s.paths[a] < s.paths[b]:
			return -1
		case s.paths[a] > s.paths[b]:
			return 1
		}
		return 0
	})
	return order
}

func (s *Snapshot) encodeNode(e *jute.Encoder, i int) {
	n := &s.nodes[i]
	e.String(s.paths[i])
	e.Int(int32(n.mode))
	e.Buffer(n.data)
	e.Int(int32(len(n.acl)))
	for _, entry := range n.acl {
		e.Int(entry.Permissions)
		e.String(entry.ID.Scheme)
		e.String(entry.ID.ID)
	}
	for _, field := range [...]int64{n.owner, n.ttl, n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime} {
		e.Long(field)
	}
	e.Int(n.version)
	e.Int(n.aversion)
	e.Int(n.childrenCreated)
}

// Restore makes a tree of what Encode wrote. The tree shares the bytes' memory.
func Restore(bytes []byte) (*Tree, error) {
	d := jute.NewDecoder(bytes)
	if format := d.Int(); format != snapshotFormat {
		return nil, fmt.Errorf("restoring a tree: its format is %d, but this program reads %d", format, snapshotFormat)
	}
	t := &Tree{
		nodes: map[string]*znode{}, sessions: map[int64]*session{}, streams: map[int32]stream{},
		containers: map[string]struct{}{}, timed: map[string]struct{}{},
	}
	t.zxid, t.attachments = d.Long(), d.Long()
	t.members = Membership{Version: d.Long(), Servers: DecodeMembers(d)}
	for range d.Count(20) {
		id := d.Int()
		t.streams[id] = stream{incarnation: d.Long(), sequence: d.Long()}
	}
	for range d.Count(40) {
		id := d.Long()
		each := &session{ephemerals: map[string]struct{}{}}
		copy(each.password[:], d.Raw(16))
		each.timeoutMS, each.attachment, each.server = d.Int(), d.Long(), d.Int()
		t.sessions[id] = each
	}
	for range d.Count(80) {
		if err := t.restoreNode(d); err != nil {
			return nil, fmt.Errorf("restoring a tree: %w", err)
		}
	}
	if d.Err() != nil {
		return nil, fmt.Errorf("restoring a tree: %w", d.Err())
	}
	if t.nodes[rootPath] == nil || t.nodes[ConfigPath] == nil {
		return nil, errors.New("restoring a tree: it has no root or no " + ConfigPath)
	}
	return t, nil
}

func (t *Tree) restoreNode(d *jute.Decoder) error {
	path := d.String()
	n := &znode{mode: Mode(d.Int()), data: d.Buffer()}
	acl := make([]ACL, 0, d.Count(12))
	for range cap(acl) {
		acl = append(acl, ACL{d.Int(), ID{d.String(), d.String()}})
	}
	n.acl = acl
	n.owner, n.ttl, n.czxid, n.mzxid, n.pzxid, n.ctime, n.mtime = d.Long(), d.Long(), d.Long(), d.Long(), d.Long(), d.Long(), d.Long()
	n.version, n.aversion, n.childrenCreated = d.Int(), d.Int(), d.Int()
	if d.Err() != nil {
		return d.Err()
	}
	if !validPath(path) || n.mode > TTL || t.nodes[path] != nil {
		return fmt.Errorf("the znode %q cannot be where it is", path)
	}
	if path == rootPath {
		t.nodes[path] = n
		return nil
	}
	if parent, _ := split(path); t.nodes[parent] == nil {
		return fmt.Errorf("the znode %q has no parent", path)
	}
	t.insert(path, n)
	return nil
}

// All yields every znode but the ensemble's own as the transaction that last changed it, parents first.
func (t *Tree) All() iter.Seq[Outcome] {
	return func(yield func(Outcome) bool) {
		for _, path := range slices.Sorted(maps.Keys(t.nodes)) {
			if isSpecial(path) {
				continue
			}
			n := t.nodes[path]
			created := Change{Type: NodeCreated, Path: path, Data: n.data, Mode: n.mode, Session: n.owner, Version: n.version}
			if !yield(Outcome{Zxid: n.mzxid, Changes: []Change{created}}) {
				return
			}
		}
	}
}
