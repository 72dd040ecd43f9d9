package autorecovery

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper/metadata"
)

// watches remembers the children of znodes, each with the watch that says when they are others. ZooKeeper is asked again only for what has
// changed, and a watch is set only once.
type watches struct {
	store metadata.Store
	nodes map[string]watched
}

type watched struct {
	children []string
	changed  <-chan zk.Event
}

func newWatches(store metadata.Store) *watches {
	return &watches{store: store, nodes: make(map[string]watched)}
}

// children lists a znode's children, sorted; not to be changed. A znode that is not there has none, and is not watched.
func (w *watches) children(path string) ([]string, error) {
	if known, found := w.nodes[path]; found {
		select {
		case <-known.changed:
			delete(w.nodes, path)
		default:
			return known.children, nil
		}
	}
	children, _, changed, err := w.store.ChildrenW(path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(children)
	w.nodes[path] = watched{children: children, changed: changed}
	return children, nil
}

// version watches a znode's value; -1: there is none.
func (w *watches) version(path string) (int32, error) {
	if known, found := w.nodes[path]; found {
		select {
		case <-known.changed:
			delete(w.nodes, path)
		default:
			_, stat, err := w.store.Get(path)
			if err != nil {
				return 0, err
			}
			return stat.Version, nil
		}
	}
	_, stat, changed, err := w.store.GetW(path)
	if errors.Is(err, zk.ErrNoNode) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	w.nodes[path] = watched{changed: changed}
	return stat.Version, nil
}

// wait returns when something that was listed has changed, and where; or, with "", when the time has come (the zero time never does), or
// ctx ends.
func (w *watches) wait(ctx context.Context, until time.Time) string {
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(ctx.Done())}}
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(timer.C)})
	}
	first := len(cases)
	paths := make([]string, 0, len(w.nodes))
	for path, node := range w.nodes {
		paths = append(paths, path)
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(node.changed)})
	}
	chosen, _, _ := reflect.Select(cases)
	if chosen < first {
		return ""
	}
	path := paths[chosen-first]
	delete(w.nodes, path)
	return path
}

// bookies lists the bookies that are there: those that take adds, and those that only serve reads.
func (w *watches) bookies() (up map[string]bool, err error) {
	up = make(map[string]bool)
	for _, path := range []string{metadata.AvailablePath, metadata.ReadOnlyPath} {
		names, err := w.children(path)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if path != metadata.AvailablePath || name != "readonly" {
				up[name] = true
			}
		}
	}
	return up, nil
}

// isBookies tells whether a change is one of the bookies that are there.
func isBookies(path string) bool {
	return path == metadata.AvailablePath || path == metadata.ReadOnlyPath
}
