// Package memorystore is a ZooKeeper in memory, as far as BookKeeper's metadata and managed ledgers need one: for tests that want no
// server and run in a synctest bubble.
package memorystore

import (
	"fmt"
	"path"
	"sync"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper/metadata"
)

// Server holds the znodes that sessions share.
type Server struct {
	mu       sync.Mutex
	znodes   map[string]*znode
	sessions int64
	changes  int64
}

type znode struct {
	data     []byte
	stat     zk.Stat
	owner    int64
	sequence int32
	children map[string]struct{}
	watchers []chan zk.Event // of the children
	readers  []chan zk.Event // of the data
}

// NewServer returns a server with the root alone.
func NewServer() *Server {
	return &Server{znodes: map[string]*znode{"/": {children: map[string]struct{}{}}}}
}

// Session is one client's view.
type Session struct {
	server *Server
	id     int64
	ended  bool // guarded by the server's mutex
}

var _ metadata.Store = (*Session)(nil)

// NewSession opens a session.
func (s *Server) NewSession() *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions++
	return &Session{server: s, id: s.sessions}
}

// Connect opens a session with its news: that it is there.
func (s *Server) Connect() (metadata.Session, error) {
	session := s.NewSession()
	events := make(chan zk.Event, 1)
	events <- zk.Event{Type: zk.EventSession, State: zk.StateHasSession}
	return metadata.Session{Store: session, Events: events, ID: session.ID, Close: session.End}, nil
}

// ID is the session's number.
func (s *Session) ID() int64 { return s.id }

// End ends the session, by expiry or in order: its ephemeral znodes vanish, and every further call fails.
func (s *Session) End() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.ended = true
	for name, node := range s.server.znodes {
		if node.owner == s.id {
			s.server.remove(name)
		}
	}
}

// begin locks the server; the caller unlocks it.
func (s *Session) begin() error {
	s.server.mu.Lock()
	if s.ended {
		return zk.ErrConnectionClosed
	}
	return nil
}

// Get is zk.Conn's.
func (s *Session) Get(name string) ([]byte, *zk.Stat, error) {
	err := s.begin()
	defer s.server.mu.Unlock()
	if err != nil {
		return nil, nil, err
	}
	node := s.server.znodes[name]
	if node == nil {
		return nil, nil, zk.ErrNoNode
	}
	stat := node.stat
	return append([]byte(nil), node.data...), &stat, nil
}

// GetW is zk.Conn's.
func (s *Session) GetW(name string) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	err := s.begin()
	defer s.server.mu.Unlock()
	if err != nil {
		return nil, nil, nil, err
	}
	node := s.server.znodes[name]
	if node == nil {
		return nil, nil, nil, zk.ErrNoNode
	}
	reader := make(chan zk.Event, 1)
	node.readers = append(node.readers, reader)
	stat := node.stat
	return append([]byte(nil), node.data...), &stat, reader, nil
}

// Set is zk.Conn's.
func (s *Session) Set(name string, data []byte, version int32) (*zk.Stat, error) {
	err := s.begin()
	defer s.server.mu.Unlock()
	if err != nil {
		return nil, err
	}
	node := s.server.znodes[name]
	switch {
	case node == nil:
		return nil, zk.ErrNoNode
	case version >= 0 && version != node.stat.Version:
		return nil, zk.ErrBadVersion
	}
	node.data = append([]byte(nil), data...)
	node.stat.Version++
	s.server.changes++
	node.stat.Mzxid = s.server.changes
	node.readers = fire(node.readers, zk.Event{Type: zk.EventNodeDataChanged, State: zk.StateConnected, Path: name})
	stat := node.stat
	return &stat, nil
}

// Create is zk.Conn's.
func (s *Session) Create(name string, data []byte, flags int32, _ []zk.ACL) (string, error) {
	err := s.begin()
	defer s.server.mu.Unlock()
	if err != nil {
		return "", err
	}
	parent := s.server.znodes[path.Dir(name)]
	if parent == nil {
		return "", zk.ErrNoNode
	}
	if flags&zk.FlagSequence != 0 {
		name = fmt.Sprintf("%s%010d", name, parent.sequence)
	}
	if s.server.znodes[name] != nil {
		return "", zk.ErrNodeExists
	}
	node := &znode{data: append([]byte(nil), data...), children: map[string]struct{}{}}
	if flags&zk.FlagEphemeral != 0 {
		node.owner, node.stat.EphemeralOwner = s.id, s.id
	}
	s.server.changes++
	node.stat.Czxid, node.stat.Mzxid = s.server.changes, s.server.changes
	parent.sequence++
	s.server.znodes[name] = node
	parent.children[path.Base(name)] = struct{}{}
	parent.notify(path.Dir(name))
	return name, nil
}

// Delete is zk.Conn's.
func (s *Session) Delete(name string, version int32) error {
	err := s.begin()
	defer s.server.mu.Unlock()
	if err != nil {
		return err
	}
	node := s.server.znodes[name]
	switch {
	case node == nil:
		return zk.ErrNoNode
	case version >= 0 && version != node.stat.Version:
		return zk.ErrBadVersion
	case len(node.children) > 0:
		return zk.ErrNotEmpty
	}
	s.server.remove(name)
	return nil
}

func (s *Server) remove(name string) {
	deleted := zk.Event{Type: zk.EventNodeDeleted, State: zk.StateConnected, Path: name}
	s.znodes[name].watchers, s.znodes[name].readers = fire(s.znodes[name].watchers, deleted), fire(s.znodes[name].readers, deleted)
	delete(s.znodes, name)
	if parent := s.znodes[path.Dir(name)]; parent != nil {
		delete(parent.children, path.Base(name))
		parent.notify(path.Dir(name))
	}
}

func (n *znode) notify(name string) {
	n.watchers = fire(n.watchers, zk.Event{Type: zk.EventNodeChildrenChanged, State: zk.StateConnected, Path: name})
}

// fire tells watchers, once each; none are left.
func fire(watchers []chan zk.Event, event zk.Event) []chan zk.Event {
	for _, watcher := range watchers {
		watcher <- event
		close(watcher)
	}
	return nil
}

// Exists is zk.Conn's.
func (s *Session) Exists(name string) (bool, *zk.Stat, error) {
	_, stat, err := s.Get(name)
	if err == zk.ErrNoNode {
		return false, nil, nil
	}
	return err == nil, stat, err
}

// Children is zk.Conn's.
func (s *Session) Children(name string) ([]string, *zk.Stat, error) {
	children, stat, _, err := s.children(name, false)
	return children, stat, err
}

// ChildrenW is zk.Conn's.
func (s *Session) ChildrenW(name string) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return s.children(name, true)
}

func (s *Session) children(name string, watch bool) ([]string, *zk.Stat, <-chan zk.Event, error) {
	err := s.begin()
	defer s.server.mu.Unlock()
	if err != nil {
		return nil, nil, nil, err
	}
	node := s.server.znodes[name]
	if node == nil {
		return nil, nil, nil, zk.ErrNoNode
	}
	children := make([]string, 0, len(node.children))
	for child := range node.children {
		children = append(children, child)
	}
	stat := node.stat
	if !watch {
		return children, &stat, nil, nil
	}
	watcher := make(chan zk.Event, 1)
	node.watchers = append(node.watchers, watcher)
	return children, &stat, watcher, nil
}
