package world

import (
	"slices"
	"strings"

	"twinlog/engine/trace"
)

// applyEnsembleServer takes what a server says about itself and about the connections that it serves.
func (s *State) applyEnsembleServer(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.EnsembleRoleChanged:
		s.ensembleRoleChanged(node, event)
	case trace.EnsembleVoteCast:
		server := s.ensembleServer(node)
		server.VotedFor, server.VoteTerm = event.For, event.Term
	case trace.EnsembleCommitAdvanced:
		server := s.ensembleServer(node)
		server.Term, server.CommitIndex, server.Zxid = event.Term, event.Index, event.Zxid
	case trace.EnsembleLogAppended:
		s.ensembleServer(node).appended(event)
	case trace.SessionConnected:
		if session := s.Ensemble.Sessions[event.Session]; session != nil {
			session.Client, session.Address, session.Server = event.Client, event.Address, node
		}
	case trace.SessionDisconnected:
		if session := s.Ensemble.Sessions[event.Session]; session != nil && session.Server == node {
			session.disconnect()
		}
	case trace.WatchSet:
		if session := s.Ensemble.Sessions[event.Session]; session != nil {
			session.watch(event.Path, event.Type)
		}
	case trace.WatchFired:
		if session := s.Ensemble.Sessions[event.Session]; session != nil {
			session.watchFired(event.Path, event.Event)
			s.Ensemble.Fired = keepLast(s.Ensemble.Fired, FiredWatch{Server: node, Session: event.Session, Client: session.Client, Path: event.Path,
				Event: event.Event, Zxid: event.Zxid}, keptFired)
		}
	}
}

// What the state remembers of what is over.
const (
	keptFired      = 12
	keptEnded      = 6
	keptEphemerals = 16
	keptTerms      = 8
)

// appended: entries that were there from the first one on are overwritten, and with them the terms that began there.
func (server *EnsembleServer) appended(event trace.EnsembleLogAppended) {
	server.LastIndex = event.LastIndex
	terms := slices.DeleteFunc(slices.Clone(server.Terms), func(one TermStart) bool { return one.Index >= event.FirstIndex && one.Term != event.Term })
	if len(terms) == 0 || terms[len(terms)-1].Term != event.Term {
		terms = keepLast(terms, TermStart{Term: event.Term, Index: event.FirstIndex}, keptTerms)
	}
	server.Terms = terms
}

func (s *State) ensembleServer(node string) *EnsembleServer {
	server := s.Ensemble.Servers[node]
	if server == nil {
		server = &EnsembleServer{Terms: []TermStart{}}
		s.Ensemble.Servers[node] = server
	}
	return server
}

// ensembleRoleChanged: the leader of the highest term is the leader. A server that is cut off may still believe in the one before.
func (s *State) ensembleRoleChanged(node string, event trace.EnsembleRoleChanged) {
	server := s.ensembleServer(node)
	server.Role, server.Term, server.Leader = event.Role, event.Term, event.Leader
	leader := event.Leader
	if event.Role == "leader" {
		leader = node
		server.Leader = node
	}
	switch ensemble := &s.Ensemble; {
	case leader != "" && event.Term >= ensemble.Term:
		ensemble.Leader, ensemble.Term = leader, event.Term
	case ensemble.Leader == node && event.Role != "leader" && event.Term >= ensemble.Term:
		ensemble.Leader = "" // it stepped down
	}
}

func (s *State) forgetEnsembleServer(node string) {
	server := s.Ensemble.Servers[node]
	if server == nil {
		return
	}
	server.Role, server.Leader = "", ""
	server.Reported = Change{} // it will report again what it applies again
	if s.Ensemble.Leader == node {
		s.Ensemble.Leader = ""
	}
	for _, session := range s.Ensemble.Sessions {
		if session.Server == node {
			session.disconnect()
		}
	}
}

// disconnect: a server drops the watches of a connection that ends; the client sets them again where it connects next.
func (session *Session) disconnect() {
	session.Server = ""
	session.Watches = map[string][]string{}
}

func (session *Session) watch(path, watchType string) {
	types := session.Watches[path]
	if at, found := slices.BinarySearch(types, watchType); !found {
		session.Watches[path] = slices.Insert(types, at, watchType)
	}
}

// watchFired takes away the watches that fire once. Which ones an event fires is ZooKeeper's rule: a node that comes, goes or
// changes fires data and exists watches; children watches fire when a child comes or goes, or when the parent itself goes.
func (session *Session) watchFired(path, event string) {
	fired := []string{"data", "exists"}
	switch event {
	case "childrenChanged":
		fired = []string{"children"}
	case "deleted":
		fired = []string{"data", "exists", "children"}
	}
	left := slices.DeleteFunc(session.Watches[path], func(watchType string) bool { return slices.Contains(fired, watchType) })
	if len(left) == 0 {
		delete(session.Watches, path)
		return
	}
	session.Watches[path] = left
}

// applyReplicated takes a change that every server reports, once.
func (s *State) applyReplicated(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.SessionCreated:
		if s.firstReport(event.Zxid, node) {
			s.Ensemble.Sessions[event.Session] = &Session{TimeoutMS: event.TimeoutMS, Watches: map[string][]string{}}
		}
	case trace.SessionEnded:
		if s.firstReport(event.Zxid, node) {
			s.sessionEnded(event)
		}
	case trace.ZnodeCreated:
		if s.firstReport(event.Zxid, node) {
			s.Ensemble.Znodes[event.Path] = &Znode{Mode: event.Mode, Session: event.Session, Data: event.Data, Bytes: event.Bytes,
				Czxid: event.Zxid, Mzxid: event.Zxid}
		}
	case trace.ZnodeChanged:
		znode := s.Ensemble.Znodes[event.Path]
		if s.firstReport(event.Zxid, node) && znode != nil {
			znode.Data, znode.Bytes, znode.Version, znode.Mzxid = event.Data, event.Bytes, event.Version, event.Zxid
		}
	case trace.ZnodeDeleted:
		if s.firstReport(event.Zxid, node) {
			s.znodeDeleted(event.Path, event.Zxid)
		}
	}
}

// firstReport notes that a server reported a change and tells whether it is the first server to report it.
func (s *State) firstReport(zxid int64, node string) bool {
	reported := &s.ensembleServer(node).Reported
	if zxid == reported.Zxid {
		reported.Parts++
	} else {
		*reported = Change{Zxid: zxid, Parts: 1}
	}
	if !reported.after(s.Ensemble.Applied) {
		return false
	}
	s.Ensemble.Applied = *reported
	return true
}

func (c Change) after(other Change) bool {
	return c.Zxid > other.Zxid || c.Zxid == other.Zxid && c.Parts > other.Parts
}

func (s *State) sessionEnded(event trace.SessionEnded) {
	ended := EndedSession{Session: event.Session, Expired: event.Expired, Zxid: event.Zxid}
	if session := s.Ensemble.Sessions[event.Session]; session != nil {
		ended.Client = session.Client
	}
	delete(s.Ensemble.Sessions, event.Session)
	var owned []string
	for path, znode := range s.Ensemble.Znodes {
		if znode.Session == event.Session {
			owned = append(owned, path)
		}
	}
	slices.Sort(owned)
	ended.Ephemerals = append([]string{}, owned[:min(len(owned), keptEphemerals)]...)
	s.Ensemble.Ended = keepLast(s.Ensemble.Ended, ended, keptEnded)
	for _, path := range owned {
		s.znodeDeleted(path, event.Zxid)
	}
}

// znodeDeleted also ends what lives exactly as long as its ephemeral znode.
func (s *State) znodeDeleted(path string, zxid int64) {
	delete(s.Ensemble.Znodes, path)
	switch parent, name := split(path); parent {
	case "/":
		if name == "controller" {
			s.Kafka.Controller.Broker = -1
		}
	case "/brokers/ids":
		// The deletion of an old registration may be seen after the new one: the epoch is the znode's czxid.
		if broker := s.Kafka.Brokers[name]; broker != nil && zxid > broker.Epoch {
			s.kafkaBrokerUnregistered(name)
		}
	case "/loadbalance":
		if name == "leader" {
			s.Pulsar.Leader = ""
		}
	case "/loadbalance/brokers":
		for _, broker := range s.Pulsar.Brokers {
			if broker.Broker == name {
				broker.Registered = false
			}
		}
	case "/ledgers/available", "/ledgers/available/readonly":
		// A bookie that changes its mode makes its new znode before it deletes the old one.
		if bookie := s.Pulsar.Bookies[name]; bookie != nil && bookie.ReadOnly == (parent != "/ledgers/available") {
			bookie.Registered = false
		}
	default:
		s.pulsarZnodeDeleted(path)
	}
}

func split(path string) (parent, name string) {
	at := strings.LastIndexByte(path, '/')
	if at <= 0 {
		return "/", strings.TrimPrefix(path, "/")
	}
	return path[:at], path[at+1:]
}
