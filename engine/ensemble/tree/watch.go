package tree

import (
	"maps"
	"slices"
)

// EventType is what a watcher is told.
type EventType int32

// The events that go over the wire.
const (
	EventNodeCreated         EventType = 1
	EventNodeDeleted         EventType = 2
	EventNodeDataChanged     EventType = 3
	EventNodeChildrenChanged EventType = 4
)

var eventNames = map[EventType]string{
	EventNodeCreated: "created", EventNodeDeleted: "deleted", EventNodeDataChanged: "dataChanged", EventNodeChildrenChanged: "childrenChanged",
}

func (e EventType) String() string { return eventNames[e] }

// WatchKind is which changes a watch is for, and whether it is used up by the first one.
type WatchKind uint8

// The kinds. A data watch also stands for exists: both wait in the same table.
const (
	DataWatch WatchKind = iota
	ChildWatch
	PersistentWatch
	RecursiveWatch
	watchKinds
)

// Watcher is who is told: a connection of this server.
type Watcher int64

// Notification is one event for one watcher.
type Notification struct {
	Watcher Watcher
	Type    EventType
	Path    string
	// ACL of the znode: who may not read it is not told, though its watch is used up.
	ACL []ACL
}

type watchers map[Watcher]struct{}

// Watches are the watches of one server's clients. Like everything in this package they belong to one goroutine. Watches are sets: to
// ask twice is to be told once.
type Watches struct {
	byPath    [watchKinds]map[string]watchers
	byWatcher map[Watcher]map[watch]struct{}
	count     int
}

type watch struct {
	kind WatchKind
	path string
}

// NewWatches has none.
func NewWatches() *Watches {
	w := &Watches{byWatcher: map[Watcher]map[watch]struct{}{}}
	for kind := range w.byPath {
		w.byPath[kind] = map[string]watchers{}
	}
	return w
}

// Len is the number of watches.
func (w *Watches) Len() int { return w.count }

// Watchers is the number of connections that have any.
func (w *Watches) Watchers() int { return len(w.byWatcher) }

// Paths is the number of paths that are watched, a path of two kinds counting twice.
func (w *Watches) Paths() int {
	paths := 0
	for _, table := range w.byPath {
		paths += len(table)
	}
	return paths
}

// Add sets a watch; false when it was set already. A persistent watch of one mode replaces that of the other.
func (w *Watches) Add(kind WatchKind, path string, watcher Watcher) bool {
	switch kind {
	case PersistentWatch:
		w.Remove(RecursiveWatch, path, watcher)
	case RecursiveWatch:
		w.Remove(PersistentWatch, path, watcher)
	}
	if w.Has(kind, path, watcher) {
		return false
	}
	if w.byPath[kind][path] == nil {
		w.byPath[kind][path] = watchers{}
	}
	w.byPath[kind][path][watcher] = struct{}{}
	if w.byWatcher[watcher] == nil {
		w.byWatcher[watcher] = map[watch]struct{}{}
	}
	w.byWatcher[watcher][watch{kind, path}] = struct{}{}
	w.count++
	return true
}

// Has tells whether a watch is set.
func (w *Watches) Has(kind WatchKind, path string, watcher Watcher) bool {
	_, found := w.byPath[kind][path][watcher]
	return found
}

// Remove takes a watch away; false when there was none.
func (w *Watches) Remove(kind WatchKind, path string, watcher Watcher) bool {
	if !w.Has(kind, path, watcher) {
		return false
	}
	delete(w.byPath[kind][path], watcher)
	if len(w.byPath[kind][path]) == 0 {
		delete(w.byPath[kind], path)
	}
	delete(w.byWatcher[watcher], watch{kind, path})
	if len(w.byWatcher[watcher]) == 0 {
		delete(w.byWatcher, watcher)
	}
	w.count--
	return true
}

// RemoveAll takes all watches of a watcher away.
func (w *Watches) RemoveAll(watcher Watcher) {
	for each := range w.byWatcher[watcher] {
		w.Remove(each.kind, each.path, watcher)
	}
}

// Fire returns whom a change is to be told to, and uses the one-shot watches up. One watcher hears of one change of a path once, even
// when it watches data and children; the change of the parent's children comes after.
func (w *Watches) Fire(change Change) []Notification {
	if w.count == 0 {
		return nil
	}
	var fired []Notification
	event := EventType(0)
	switch change.Type {
	case NodeCreated:
		event = EventNodeCreated
	case NodeDeleted:
		event = EventNodeDeleted
	case NodeDataChanged:
		event = EventNodeDataChanged
	}
	told := watchers{}
	tell := func(to watchers, event EventType, path string, acl []ACL, told watchers) {
		for _, watcher := range sortedWatchers(to) {
			if _, already := told[watcher]; !already {
				told[watcher] = struct{}{}
				fired = append(fired, Notification{watcher, event, path, acl})
			}
		}
	}
	tell(w.takeAll(DataWatch, change.Path), event, change.Path, change.ACL, told)
	if change.Type == NodeDeleted {
		tell(w.takeAll(ChildWatch, change.Path), event, change.Path, change.ACL, told)
	}
	tell(w.byPath[PersistentWatch][change.Path], event, change.Path, change.ACL, told)
	for ancestor := change.Path; len(w.byPath[RecursiveWatch]) > 0; ancestor, _ = split(ancestor) {
		tell(w.byPath[RecursiveWatch][ancestor], event, change.Path, change.ACL, told)
		if ancestor == rootPath {
			break
		}
	}
	if change.Type != NodeDataChanged && change.Path != rootPath {
		parent, _ := split(change.Path)
		told := watchers{}
		tell(w.takeAll(ChildWatch, parent), EventNodeChildrenChanged, parent, change.ParentACL, told)
		tell(w.byPath[PersistentWatch][parent], EventNodeChildrenChanged, parent, change.ParentACL, told)
	}
	return fired
}

func (w *Watches) takeAll(kind WatchKind, path string) watchers {
	taken := watchers{}
	for watcher := range w.byPath[kind][path] {
		taken[watcher] = struct{}{}
	}
	for watcher := range taken {
		w.Remove(kind, path, watcher)
	}
	return taken
}

func sortedWatchers(set watchers) []Watcher { return slices.Sorted(maps.Keys(set)) }
