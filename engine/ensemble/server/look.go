package server

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/ensemble/tree"
	"twinlog/engine/sentence"
)

// ZnodeLook is a znode as a server has it now, with what only the server knows: who of its own clients watches it.
type ZnodeLook struct {
	Path     string      `json:"path"`
	Data     []byte      `json:"data"`
	Stat     ZnodeStat   `json:"stat"`
	ACL      []string    `json:"acl"` // "world:anyone:rwcda"
	Children []string    `json:"children"`
	Watchers []ZnodeView `json:"watchers"`
}

// ZnodeStat is a znode's stat as zkCli prints it: zxids and the session in hexadecimal, by which they are known everywhere, the times as times.
// A session's number has more digits than a number in JavaScript can hold.
type ZnodeStat struct {
	Czxid, Mzxid, Pzxid         string // "0x2000000a4"
	Ctime, Mtime                string // "2026-11-30T13:53:34.704Z"
	Version, Cversion, Aversion int32
	EphemeralOwner              string // "0x2a22c8f35460003", "0x0" for a znode of no session
	DataLength, NumChildren     int32
}

// ZnodeView is a watch of a client of this server.
type ZnodeView struct {
	Session string `json:"session"`
	Client  string `json:"client"` // its node, or "client"
	Kind    string `json:"kind"`   // data, children, persistent, recursive
}

// looker is the caller whom the trees' ACLs let in: whoever looks into a server stands beside it.
var looker = []tree.ID{{Scheme: "super", ID: "looker"}}

type lookEvent struct {
	path   string
	answer chan lookAnswer // holds one
}

type lookAnswer struct {
	look ZnodeLook
	code tree.Error
}

// LookAt tells of a znode: thing is "znode /controller". It leaves no trace and sets no watch.
func (s *Server) LookAt(ctx context.Context, thing string) (any, error) {
	kind, path, _ := strings.Cut(thing, " ")
	if kind != "znode" {
		return nil, sentence.Error(nil, "serverKnowsZnodes", "an ensemble server knows znodes, not a {kind}", kind)
	}
	e := lookEvent{path, make(chan lookAnswer, 1)}
	if !s.post(e) {
		return nil, sentence.Error(nil, "serverEnding", "the server is about to end")
	}
	select {
	case a := <-e.answer:
		if a.code != tree.OK {
			return nil, sentence.Error(nil, "znodeSays", "znode {path}: {error}", path, a.code.Error())
		}
		return a.look, nil
	case <-s.stopped:
		return nil, sentence.Error(nil, "serverEnded", "the server has ended")
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (e lookEvent) happen(o *owner) {
	a := lookAnswer{look: ZnodeLook{Path: e.path, ACL: []string{}, Watchers: []ZnodeView{}}}
	var stat tree.Stat
	if a.look.Data, stat, a.code = o.tree.Data(e.path, looker); a.code == tree.OK {
		a.look.Stat = shownStat(stat)
		a.look.Children, _, _ = o.tree.Children(e.path, looker)
		acl, _, _ := o.tree.ACL(e.path, looker)
		for _, entry := range acl {
			a.look.ACL = append(a.look.ACL, aclText([]tree.ACL{entry}))
		}
		a.look.Watchers = o.watchersOf(e.path)
	}
	if a.look.Children == nil {
		a.look.Children = []string{}
	}
	slices.Sort(a.look.Children)
	e.answer <- a
}

func shownStat(s tree.Stat) ZnodeStat {
	hex := func(n int64) string { return "0x" + strconv.FormatUint(uint64(n), 16) }
	date := func(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }
	return ZnodeStat{
		Czxid: hex(s.Czxid), Mzxid: hex(s.Mzxid), Pzxid: hex(s.Pzxid), Ctime: date(s.Ctime), Mtime: date(s.Mtime),
		Version: s.Version, Cversion: s.Cversion, Aversion: s.Aversion,
		EphemeralOwner: hex(s.EphemeralOwner), DataLength: s.DataLength, NumChildren: s.NumChildren,
	}
}

func (o *owner) watchersOf(path string) []ZnodeView {
	views := []ZnodeView{}
	kinds := []struct {
		kind tree.WatchKind
		name string
	}{{tree.DataWatch, "data"}, {tree.ChildWatch, "children"}, {tree.PersistentWatch, "persistent"}, {tree.RecursiveWatch, "recursive"}}
	for _, c := range o.clients {
		for _, k := range kinds {
			if o.watches.Has(k.kind, path, tree.Watcher(c.number)) {
				views = append(views, ZnodeView{Session: sessionName(c.session), Client: peerNode(c.conn), Kind: k.name})
			}
		}
	}
	slices.SortFunc(views, func(a, b ZnodeView) int { return strings.Compare(a.Client+a.Session+a.Kind, b.Client+b.Session+b.Kind) })
	return views
}
