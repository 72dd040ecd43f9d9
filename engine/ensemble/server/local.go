package server

import (
	"crypto/sha1"
	"encoding/base64"
	"slices"
	"strings"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
	"twinlog/engine/trace"
)

// answerLocal answers what needs only this server's own tree. To read and to set a watch is one step.
func (o *owner) answerLocal(c *client, r *request) answer {
	d := jute.NewDecoder(r.body)
	a := answer{zxid: o.tree.Zxid()}
	switch r.header.Op {
	case protocol.OpPing:
	case protocol.OpSync:
		path := d.String()
		a.body = func(e *jute.Encoder) { e.String(path) }
	case protocol.OpExists:
		a = o.exists(c, d, a)
	case protocol.OpGetData:
		a = o.getData(c, d, a)
	case protocol.OpGetChildren, protocol.OpGetChildren2:
		a = o.getChildren(c, d, a, r.header.Op == protocol.OpGetChildren2)
	case protocol.OpGetACL:
		acl, stat, code := o.tree.ACL(d.String(), c.caller)
		a.code, a.body = code, func(e *jute.Encoder) { protocol.AppendACL(e, acl); protocol.AppendStat(e, stat) }
	case protocol.OpGetAllChildrenNumber:
		count, code := o.tree.Descendants(d.String(), c.caller)
		a.code, a.body = code, func(e *jute.Encoder) { e.Int(int32(count)) }
	case protocol.OpGetEphemerals:
		paths := o.tree.SessionEphemerals(c.session, d.String())
		a.body = func(e *jute.Encoder) { e.Strings(paths) }
	case protocol.OpMultiRead:
		a = o.multiRead(c, d, a)
	case protocol.OpAuth:
		return o.authenticate(c, d)
	case protocol.OpWhoAmI:
		a.body = func(e *jute.Encoder) { whoAmI(e, c.caller) }
	case protocol.OpSetWatches, protocol.OpSetWatches2:
		o.setWatches(c, d, r.header.Op == protocol.OpSetWatches2)
	case protocol.OpAddWatch:
		a = o.addWatch(c, d, a)
	case protocol.OpRemoveWatches, protocol.OpCheckWatches:
		a.code = o.removeWatches(c, d, r.header.Op == protocol.OpRemoveWatches)
	default:
		return answer{zxid: -1, code: tree.ErrUnimplemented, last: true}
	}
	if d.Err() != nil {
		return answer{zxid: a.zxid, code: tree.ErrMarshalling}
	}
	return a
}

func (o *owner) watch(c *client, kind tree.WatchKind, name, path string) {
	if o.watches.Add(kind, path, tree.Watcher(c.number)) {
		o.tracer.Emit(trace.WatchSet{Session: sessionName(c.session), Path: path, Type: name})
	}
}

func (o *owner) exists(c *client, d *jute.Decoder, a answer) answer {
	path, watch := d.String(), d.Bool()
	if d.Err() != nil {
		return a
	}
	if strings.ContainsRune(path, 0) {
		a.code = tree.ErrBadArguments
		return a
	}
	stat, code := o.tree.Exists(path)
	if watch {
		o.watch(c, tree.DataWatch, "exists", path) // also when it does not exist: then it waits for the creation
	}
	a.code, a.body = code, func(e *jute.Encoder) { protocol.AppendStat(e, stat) }
	return a
}

func (o *owner) getData(c *client, d *jute.Decoder, a answer) answer {
	path, watch := d.String(), d.Bool()
	if d.Err() != nil {
		return a
	}
	data, stat, code := o.tree.Data(path, c.caller)
	if watch && code == tree.OK {
		o.watch(c, tree.DataWatch, "data", path)
	}
	a.code, a.body = code, func(e *jute.Encoder) { e.Buffer(data); protocol.AppendStat(e, stat) }
	return a
}

func (o *owner) getChildren(c *client, d *jute.Decoder, a answer, withStat bool) answer {
	path, watch := d.String(), d.Bool()
	if d.Err() != nil {
		return a
	}
	names, stat, code := o.tree.Children(path, c.caller)
	if watch && code == tree.OK {
		o.watch(c, tree.ChildWatch, "children", path)
	}
	a.code, a.body = code, func(e *jute.Encoder) {
		e.Strings(names)
		if withStat {
			protocol.AppendStat(e, stat)
		}
	}
	return a
}

// multiRead answers each operation on its own: one that fails does not stop the others. The framing is multi's.
func (o *owner) multiRead(c *client, d *jute.Decoder, a answer) answer {
	body := jute.NewEncoder(nil)
	for {
		op, done := protocol.Op(d.Int()), d.Bool()
		d.Int()
		if done || d.Err() != nil {
			break
		}
		path := d.String()
		d.Bool() // no watches in a multi
		switch op {
		case protocol.OpGetData:
			data, stat, code := o.tree.Data(path, c.caller)
			protocol.AppendReadResult(body, op, code, func(e *jute.Encoder) { e.Buffer(data); protocol.AppendStat(e, stat) })
		case protocol.OpGetChildren:
			names, _, code := o.tree.Children(path, c.caller)
			protocol.AppendReadResult(body, op, code, func(e *jute.Encoder) { e.Strings(names) })
		default:
			a.code = tree.ErrMarshalling
			return a
		}
	}
	protocol.AppendMultiEnd(body)
	a.body = func(e *jute.Encoder) { e.Raw(body.Bytes()) }
	return a
}

// authenticate adds an identity to a connection. A wrong one ends it.
func (o *owner) authenticate(c *client, d *jute.Decoder) answer {
	d.Int()
	scheme, secret := d.String(), d.Buffer()
	failed := answer{code: tree.ErrAuthFailed, last: true}
	if d.Err() != nil {
		return failed
	}
	switch scheme {
	case "ip":
		return answer{} // every connection has it
	case "digest":
		user, _, _ := strings.Cut(string(secret), ":")
		digest := user + ":" + Digest(string(secret))
		if o.config.SuperDigest != "" && digest == o.config.SuperDigest {
			c.addIdentity(tree.ID{Scheme: "super"})
		}
		c.addIdentity(tree.ID{Scheme: "digest", ID: digest})
		return answer{}
	}
	return failed
}

// addIdentity adds one that the client does not have yet. The old list may be on its way with an earlier command, so it is replaced,
// not changed.
func (c *client) addIdentity(id tree.ID) {
	if !slices.Contains(c.caller, id) {
		c.caller = append(slices.Clone(c.caller), id)
	}
}

// Digest is ZooKeeper's of "user:password".
func Digest(userPassword string) string {
	sum := sha1.Sum([]byte(userPassword))
	return base64.StdEncoding.EncodeToString(sum[:])
}

func whoAmI(e *jute.Encoder, caller []tree.ID) {
	e.Int(int32(len(caller)))
	for _, id := range caller {
		name := id.ID
		if id.Scheme == "digest" {
			name, _, _ = strings.Cut(name, ":")
		}
		e.String(id.Scheme)
		e.String(name)
	}
}
