package server

import (
	"fmt"
	"maps"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// version is what the four-letter words say, in the form of ZooKeeper 3.6: the last one that all clients can read. They want a date, too;
// it is the commit's that the program was built from.
var version = versionOf(debug.ReadBuildInfo())

func versionOf(build *debug.BuildInfo, known bool) string {
	committed := time.Unix(0, 0) // a program that was not built from a repository does not know it
	if known {
		for _, setting := range build.Settings {
			if at, err := time.Parse(time.RFC3339, setting.Value); setting.Key == "vcs.time" && err == nil {
				committed = at
			}
		}
	}
	return "3.8.0-twinlog, built on " + committed.UTC().Format("01/02/2006 15:04") + " GMT"
}

const notServing = "This ZooKeeper instance is not currently serving requests\n"

var words = map[string]func(*owner) string{
	"ruok": func(*owner) string { return "imok" },
	"isro": func(o *owner) string {
		if o.serving.on {
			return "rw"
		}
		return "null"
	},
	"srvr": whenServing(func(o *owner) string { return "Zookeeper version: " + version + "\n" + o.summary() }),
	"stat": whenServing(func(o *owner) string {
		return "Zookeeper version: " + version + "\nClients:\n" + o.clientLines(false) + "\n" + o.summary()
	}),
	"cons": whenServing(func(o *owner) string { return o.clientLines(true) + "\n" }),
	"mntr": whenServing((*owner).monitor),
	"wchs": whenServing(func(o *owner) string {
		return fmt.Sprintf("%d connections watching %d paths\nTotal watches:%d\n", o.watches.Watchers(), o.watches.Paths(), o.watches.Len())
	}),
	"conf": (*owner).configuration,
}

func whenServing(word func(*owner) string) func(*owner) string {
	return func(o *owner) string {
		if !o.serving.on {
			return notServing
		}
		return word(o)
	}
}

// isWord tells a four-letter word from the length of a first frame: as a length, its letters would be far too much.
func isWord(first string) bool {
	_, known := words[first]
	return known
}

// wordEvent: somebody asked for a four-letter word.
type wordEvent struct {
	word   string
	answer chan string
}

func (e wordEvent) happen(o *owner) { e.answer <- words[e.word](o) }

func (s *Server) answerWord(conn net.Conn, word string) {
	answer := make(chan string, 1)
	if !s.post(wordEvent{word, answer}) {
		return
	}
	select {
	case text := <-answer:
		_ = writeWithin(conn, []byte(text), helloDeadline)
	case <-s.stopped:
	}
}

func (o *owner) mode() string {
	switch {
	case len(o.members.GetVoters()) == 1 && len(o.members.GetLearners()) == 0:
		return "standalone"
	case o.role == raft.StateLeader:
		return "leader"
	}
	return "follower"
}

func (o *owner) summary() string {
	l := &o.numbers.latency
	return fmt.Sprintf("Latency min/avg/max: %d/%.1f/%d\nReceived: %d\nSent: %d\nConnections: %d\nOutstanding: %d\nZxid: 0x%x\nMode: %s\nNode count: %d\n",
		l.least.Milliseconds(), l.average(), l.most.Milliseconds(), o.numbers.received, o.numbers.sent, len(o.clients),
		o.numbers.outstanding, o.tree.Zxid(), o.mode(), o.tree.Len())
}

func (o *owner) clientLines(long bool) string {
	var lines strings.Builder
	for _, number := range slices.Sorted(maps.Keys(o.clients)) {
		c := o.clients[number]
		s := &c.statistics
		fmt.Fprintf(&lines, " /%s[1](queued=%d,recved=%d,sent=%d", c.conn.RemoteAddr(), len(c.queue), s.received, s.sent)
		if long {
			fmt.Fprintf(&lines, ",sid=%s,lop=%s,est=%d,to=%d,lcxid=0x%x,lzxid=0x%x,lresp=%d,llat=%d,minlat=%d,avglat=%d,maxlat=%d",
				sessionName(c.session), wordOp(s.lastOp.String()), s.established.UnixMilli(), c.timeoutMS, uint32(s.lastXid), uint64(s.lastZxid),
				max(0, s.lastAnswer.UnixMilli()), s.latency.latest.Milliseconds(), s.latency.least.Milliseconds(), int64(s.latency.average()),
				s.latency.most.Milliseconds())
		}
		lines.WriteString(")\n")
	}
	return lines.String()
}

// wordOp is an operation as ZooKeeper shortens it.
func wordOp(name string) string {
	if short, known := map[string]string{
		"ping": "PING", "create": "CREA", "delete": "DELE", "exists": "EXIS", "getData": "GETD", "setData": "SETD", "getChildren": "GETC",
		"getChildren2": "GETC", "op 0": "SESS",
	}[name]; known {
		return short
	}
	return name
}

func (o *owner) monitor() string {
	var lines strings.Builder
	line := func(key string, value any) { fmt.Fprintf(&lines, "zk_%s\t%v\n", key, value) }
	l := &o.numbers.latency
	line("version", version)
	line("server_state", o.mode())
	line("avg_latency", fmt.Sprintf("%.1f", l.average()))
	line("min_latency", l.least.Milliseconds())
	line("max_latency", l.most.Milliseconds())
	line("packets_received", o.numbers.received)
	line("packets_sent", o.numbers.sent)
	line("num_alive_connections", len(o.clients))
	line("outstanding_requests", o.numbers.outstanding)
	line("znode_count", o.tree.Len())
	line("watch_count", o.watches.Len())
	line("ephemerals_count", o.tree.Ephemerals())
	line("approximate_data_size", o.tree.Bytes())
	line("global_sessions", len(o.tree.Sessions()))
	line("raft_term", o.term)
	line("raft_applied_index", o.applied)
	line("raft_log_bytes", o.storage.log.Size())
	if o.role == raft.StateLeader {
		followers, synced := o.followers()
		line("followers", followers)
		line("synced_followers", synced)
	}
	return lines.String()
}

// followers counts those that the leader hears from, and those among them that get the log as it grows, without a gap.
func (o *owner) followers() (followers, synced int) {
	for id, progress := range o.raft.Status().Progress {
		if id == o.storage.raftID || !progress.RecentActive {
			continue
		}
		followers++
		if progress.State == tracker.StateReplicate {
			synced++
		}
	}
	return followers, synced
}

func (o *owner) configuration() string {
	c := o.config
	return fmt.Sprintf("clientPortAddress=%s\ntickTime=%d\nminSessionTimeout=%d\nmaxSessionTimeout=%d\nserverId=%d\n"+
		"heartbeatInterval=%d\nelectionTimeout=%d\nmembership:\n%s\n",
		c.ClientAddress, c.TickTime.Milliseconds(), c.MinSessionTimeout.Milliseconds(), c.MaxSessionTimeout.Milliseconds(), c.ID,
		c.HeartbeatInterval/time.Millisecond, c.ElectionTimeout/time.Millisecond, o.tree.Membership().Text())
}
