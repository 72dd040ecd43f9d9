package server

import (
	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// setWatches sets the watches of a client that has connected again, on this server or for the first time here. What it has missed it
// is told at once, before the answer: relativeZxid is the last transaction that it saw.
func (o *owner) setWatches(c *client, d *jute.Decoder, withPersistent bool) {
	relativeZxid := d.Long()
	data, exist, child := d.Strings(), d.Strings(), d.Strings()
	var persistent, recursive []string
	if withPersistent {
		persistent, recursive = d.Strings(), d.Strings()
	}
	if d.Err() != nil {
		return
	}
	for _, path := range data {
		stat, code := o.tree.Exists(path)
		switch {
		case code != tree.OK:
			o.notify(c, tree.EventNodeDeleted, path, o.tree.Zxid(), trace.Ref{})
		case stat.Mzxid > relativeZxid:
			o.notify(c, tree.EventNodeDataChanged, path, stat.Mzxid, trace.Ref{})
		default:
			o.watch(c, tree.DataWatch, "data", path)
		}
	}
	for _, path := range exist {
		if stat, code := o.tree.Exists(path); code == tree.OK {
			o.notify(c, tree.EventNodeCreated, path, stat.Czxid, trace.Ref{})
		} else {
			o.watch(c, tree.DataWatch, "exists", path)
		}
	}
	for _, path := range child {
		stat, code := o.tree.Exists(path)
		switch {
		case code != tree.OK:
			o.notify(c, tree.EventNodeDeleted, path, o.tree.Zxid(), trace.Ref{})
		case stat.Pzxid > relativeZxid:
			o.notify(c, tree.EventNodeChildrenChanged, path, stat.Pzxid, trace.Ref{})
		default:
			o.watch(c, tree.ChildWatch, "children", path)
		}
	}
	for _, path := range persistent {
		o.watch(c, tree.PersistentWatch, "persistent", path)
	}
	for _, path := range recursive {
		o.watch(c, tree.RecursiveWatch, "recursive", path)
	}
}

// addWatch sets a persistent watch. Its answer has a body: an error code, although the header has one already.
func (o *owner) addWatch(c *client, d *jute.Decoder, a answer) answer {
	path, mode := d.String(), d.Int()
	if d.Err() != nil {
		return a
	}
	switch mode {
	case 0:
		o.watch(c, tree.PersistentWatch, "persistent", path)
	case 1:
		o.watch(c, tree.RecursiveWatch, "recursive", path)
	default:
		a.code = tree.ErrBadArguments
	}
	a.body = func(e *jute.Encoder) { e.Int(0) }
	return a
}

// removeWatches takes a client's watches of a path away, or only tells whether there are any.
func (o *owner) removeWatches(c *client, d *jute.Decoder, remove bool) tree.Error {
	path, kind := d.String(), d.Int()
	if d.Err() != nil {
		return tree.OK
	}
	var kinds []tree.WatchKind
	switch kind {
	case 1:
		kinds = []tree.WatchKind{tree.ChildWatch}
	case 2:
		kinds = []tree.WatchKind{tree.DataWatch}
	case 3:
		kinds = []tree.WatchKind{tree.ChildWatch, tree.DataWatch, tree.PersistentWatch, tree.RecursiveWatch}
	default:
		return tree.ErrBadArguments
	}
	found := false
	for _, each := range kinds {
		has := o.watches.Has(each, path, tree.Watcher(c.number))
		found = found || has
		if has && remove {
			o.watches.Remove(each, path, tree.Watcher(c.number))
		}
	}
	if !found {
		return tree.ErrNoWatcher
	}
	return tree.OK
}
