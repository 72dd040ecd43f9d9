package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func fired(notifications []Notification) string {
	var out []string
	for _, n := range notifications {
		out = append(out, fmt.Sprintf("%d:%v %s", n.Watcher, n.Type, n.Path))
	}
	return strings.Join(out, ", ")
}

func TestFire(t *testing.T) {
	type set struct {
		kind    WatchKind
		path    string
		watcher Watcher
	}
	cases := map[string]struct {
		sets   []set
		change Change
		want   string
		left   int
	}{
		"created wakes exists and the parent's children": {
			[]set{{DataWatch, "/a/b", 1}, {ChildWatch, "/a", 2}, {DataWatch, "/a", 3}},
			Change{Type: NodeCreated, Path: "/a/b"}, "1:created /a/b, 2:childrenChanged /a", 1,
		},
		"deleted is told once to who watches data and children": {
			[]set{{DataWatch, "/a/b", 1}, {ChildWatch, "/a/b", 1}, {ChildWatch, "/a", 1}},
			Change{Type: NodeDeleted, Path: "/a/b"}, "1:deleted /a/b, 1:childrenChanged /a", 0,
		},
		"data changes do not concern children": {
			[]set{{DataWatch, "/a", 1}, {ChildWatch, "/a", 2}, {ChildWatch, "/", 2}},
			Change{Type: NodeDataChanged, Path: "/a"}, "1:dataChanged /a", 2,
		},
		"a watch is a set": {
			[]set{{DataWatch, "/a", 1}, {DataWatch, "/a", 1}},
			Change{Type: NodeDataChanged, Path: "/a"}, "1:dataChanged /a", 0,
		},
		"persistent stays, and hears of data and children": {
			[]set{{PersistentWatch, "/a", 1}},
			Change{Type: NodeCreated, Path: "/a/b"}, "1:childrenChanged /a", 1,
		},
		"recursive hears of everything below, and of no children": {
			[]set{{RecursiveWatch, "/", 1}, {RecursiveWatch, "/a", 2}, {RecursiveWatch, "/ab", 3}},
			Change{Type: NodeCreated, Path: "/a/b/c"}, "2:created /a/b/c, 1:created /a/b/c", 3,
		},
		"one that watches in two ways hears once": {
			[]set{{DataWatch, "/a", 1}, {RecursiveWatch, "/", 1}},
			Change{Type: NodeDataChanged, Path: "/a"}, "1:dataChanged /a", 1,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := NewWatches()
			for _, s := range c.sets {
				w.Add(s.kind, s.path, s.watcher)
			}
			if got := fired(w.Fire(c.change)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if w.Len() != c.left {
				t.Errorf("%d watches are left, want %d", w.Len(), c.left)
			}
		})
	}
}

// TestWatchesKeepCount: whatever is added, removed and fired, the counts agree with the tables.
func TestWatchesKeepCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := NewWatches()
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			watcher := Watcher(rapid.IntRange(1, 3).Draw(t, "watcher"))
			kind := WatchKind(rapid.IntRange(0, int(watchKinds)-1).Draw(t, "kind"))
			path := drawPath(t)
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0, 1, 2:
				w.Add(kind, path, watcher)
				if !w.Has(kind, path, watcher) {
					t.Fatal("added, but not there")
				}
			case 3:
				w.Remove(kind, path, watcher)
			case 4:
				w.RemoveAll(watcher)
			case 5:
				w.Fire(Change{Type: ChangeType(rapid.IntRange(1, 3).Draw(t, "change")), Path: path})
			}
		}
		byPath, byWatcher := 0, 0
		for _, table := range w.byPath {
			for path, set := range table {
				if len(set) == 0 {
					t.Fatalf("an empty set is kept for %s", path)
				}
				byPath += len(set)
			}
		}
		for _, set := range w.byWatcher {
			byWatcher += len(set)
		}
		if byPath != w.Len() || byWatcher != w.Len() {
			t.Fatalf("%d by path, %d by watcher, %d counted", byPath, byWatcher, w.Len())
		}
	})
}

func TestExpiry(t *testing.T) {
	e := NewExpiry(500)
	e.Touch(1, 1000)
	e.Touch(2, 1000)
	if got := e.Advance(1000); len(got) != 0 {
		t.Errorf("after 1000 ms: %v; a deadline is rounded up", got)
	}
	e.Touch(2, 1000)
	e.Touch(3, 1000)
	e.Forget(3)
	if got := e.Advance(500); !slices.Equal(got, []int64{1}) {
		t.Errorf("after 1500 ms: %v, want session 1", got)
	}
	if got := e.Advance(10_000); !slices.Equal(got, []int64{2}) {
		t.Errorf("long after: %v, want session 2", got)
	}
	if len(e.buckets) != 0 || len(e.deadlines) != 0 {
		t.Errorf("%v %v are left", e.buckets, e.deadlines)
	}
}

// TestNobodyExpiresEarlyOrTwice whatever is touched when.
func TestNobodyExpiresEarlyOrTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const tick, timeout = 100, 1000
		e, now := NewExpiry(tick), int64(0)
		touched := map[int64]int64{}
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "touch") {
				id := int64(rapid.IntRange(1, 4).Draw(t, "session"))
				e.Touch(id, timeout)
				touched[id] = now
				continue
			}
			now += int64(rapid.IntRange(0, 400).Draw(t, "elapsed"))
			for _, id := range e.Advance(now - e.nowMS) {
				at, alive := touched[id]
				if !alive || now-at < timeout {
					t.Fatalf("session %d expired at %d, touched at %d, known %v", id, now, at, alive)
				}
				delete(touched, id)
			}
			for id, at := range touched {
				if now-at >= timeout+2*tick {
					t.Fatalf("session %d is alive at %d, touched at %d", id, now, at)
				}
			}
		}
	})
}
