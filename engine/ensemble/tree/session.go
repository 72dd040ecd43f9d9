package tree

import (
	"maps"
	"slices"
	"strings"
)

// session lives in the replicated state, not on a server: its client may go on with it anywhere.
type session struct {
	password   [16]byte
	timeoutMS  int32
	attachment int64 // the connection it is tied to now; see AttachSession
	server     int32 // whose connection that is
	ephemerals map[string]struct{}
}

// Session is what is known about a session.
type Session struct {
	ID         int64
	TimeoutMS  int32
	Server     int32
	Attachment int64
	Ephemerals int
}

// Sessions lists all sessions, by id.
func (t *Tree) Sessions() []Session {
	sessions := make([]Session, 0, len(t.sessions))
	for _, id := range slices.Sorted(maps.Keys(t.sessions)) {
		s := t.sessions[id]
		sessions = append(sessions, Session{ID: id, TimeoutMS: s.timeoutMS, Server: s.server, Attachment: s.attachment, Ephemerals: len(s.ephemerals)})
	}
	return sessions
}

// SessionEphemerals lists the ephemerals of a session below a prefix, sorted.
func (t *Tree) SessionEphemerals(id int64, prefix string) []string {
	paths := []string{}
	if s, found := t.sessions[id]; found {
		for _, path := range slices.Sorted(maps.Keys(s.ephemerals)) {
			if strings.HasPrefix(path, prefix) {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// checkSession refuses what comes from a session that is gone, or through a connection that it has left.
func (t *Tree) checkSession(command *Command) Error {
	s, alive := t.sessions[command.Session]
	switch {
	case !alive:
		return ErrSessionExpired
	case command.Attachment != s.attachment:
		return ErrSessionMoved
	}
	return OK
}

func (t *Tree) createSession(command *Command, operation *CreateSession) Outcome {
	if _, exists := t.sessions[command.Session]; exists || command.Session == 0 {
		return Outcome{Result: Result{Code: ErrSessionExpired}}
	}
	t.attachments++
	t.sessions[command.Session] = &session{
		password: operation.Password, timeoutMS: operation.TimeoutMS,
		attachment: t.attachments, server: command.Origin.Server, ephemerals: map[string]struct{}{},
	}
	return Outcome{Attachment: t.attachments, TimeoutMS: operation.TimeoutMS}
}

// attachSession is no transaction: it uses no zxid. The password is compared before anything changes, so that knowing a session's id
// is not enough to cut it off.
func (t *Tree) attachSession(command *Command, operation *AttachSession) Outcome {
	outcome := Outcome{Taken: true, Zxid: t.zxid}
	s, alive := t.sessions[command.Session]
	if !alive || s.password != operation.Password {
		outcome.Code = ErrSessionExpired
		return outcome
	}
	t.attachments++
	s.attachment = t.attachments
	s.server = command.Origin.Server
	s.timeoutMS = operation.TimeoutMS
	outcome.Attachment = s.attachment
	outcome.TimeoutMS = s.timeoutMS
	return outcome
}

// closeSession deletes the ephemerals that the session has now, all in this one transaction. A create of the session that is ordered
// later fails.
func (t *Tree) closeSession(command *Command) Outcome {
	s, alive := t.sessions[command.Session]
	if !alive {
		return Outcome{Result: Result{Code: ErrSessionExpired}}
	}
	if command.Attachment != 0 && command.Attachment != s.attachment {
		return Outcome{Result: Result{Code: ErrSessionMoved}}
	}
	var outcome Outcome
	for _, path := range slices.Sorted(maps.Keys(s.ephemerals)) {
		outcome.Changes = append(outcome.Changes, t.deleteNode(path, t.nodes[path]))
	}
	delete(t.sessions, command.Session)
	return outcome
}

// SessionTimeout is a session's, in milliseconds.
func (t *Tree) SessionTimeout(id int64) (timeoutMS int32, alive bool) {
	s, alive := t.sessions[id]
	if !alive {
		return 0, false
	}
	return s.timeoutMS, true
}
