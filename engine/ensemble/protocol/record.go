package protocol

import (
	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/tree"
)

// ConnectRequest is the first frame on a connection; it has no header.
//
//	protocolVersion int, lastZxidSeen long, timeOut int, sessionId long, passwd buffer(16) [, readOnly bool]
type ConnectRequest struct {
	LastZxidSeen int64
	TimeoutMS    int32
	Session      int64 // 0 asks for a new one
	Password     [16]byte
	// HasReadOnly tells that the client sent the last field. Old clients and go-zookeeper do not, and do not expect it in the answer.
	HasReadOnly bool
	ReadOnly    bool
}

// DecodeConnectRequest reads the first frame.
func DecodeConnectRequest(frame []byte) (ConnectRequest, error) {
	d := jute.NewDecoder(frame)
	d.Int()
	request := ConnectRequest{LastZxidSeen: d.Long(), TimeoutMS: d.Int(), Session: d.Long()}
	copy(request.Password[:], d.Buffer())
	if request.HasReadOnly = len(d.Rest()) > 0; request.HasReadOnly {
		request.ReadOnly = d.Bool()
	}
	return request, d.Err()
}

// AppendConnectResponse answers. Timeout 0 and session 0 tell that the session is no more.
//
//	protocolVersion int, timeOut int, sessionId long, passwd buffer(16) [, readOnly bool]
func AppendConnectResponse(e *jute.Encoder, request ConnectRequest, timeoutMS int32, session int64, password [16]byte) {
	start := e.Frame()
	e.Int(0)
	e.Int(timeoutMS)
	e.Long(session)
	e.Buffer(password[:])
	if request.HasReadOnly {
		e.Bool(false)
	}
	e.EndFrame(start)
}

// Header begins every request after the first.
//
//	xid int, type int
type Header struct {
	Xid int32
	Op  Op
}

// DecodeHeader reads the header and returns the request's body.
func DecodeHeader(frame []byte) (Header, []byte, error) {
	d := jute.NewDecoder(frame)
	header := Header{Xid: d.Int(), Op: Op(d.Int())}
	return header, d.Rest(), d.Err()
}

// AppendReply answers a request. Body is left out when code is not OK.
//
//	xid int, zxid long, err int [, body]
func AppendReply(e *jute.Encoder, xid int32, zxid int64, code tree.Error, body func(*jute.Encoder)) {
	start := e.Frame()
	e.Int(xid)
	e.Long(zxid)
	e.Int(int32(code))
	if code == tree.OK && body != nil {
		body(e)
	}
	e.EndFrame(start)
}

// AppendNotification tells a watcher.
//
//	reply header (xid -1, zxid -1, err 0), type int, state int (3: connected), path ustring
func AppendNotification(e *jute.Encoder, event tree.EventType, path string) {
	AppendReply(e, XidNotification, -1, tree.OK, func(e *jute.Encoder) {
		e.Int(int32(event))
		e.Int(3)
		e.String(path)
	})
}

// AppendStat writes 80 bytes, in the order of [tree.Stat]'s fields.
func AppendStat(e *jute.Encoder, s tree.Stat) {
	e.Long(s.Czxid)
	e.Long(s.Mzxid)
	e.Long(s.Ctime)
	e.Long(s.Mtime)
	e.Int(s.Version)
	e.Int(s.Cversion)
	e.Int(s.Aversion)
	e.Long(s.EphemeralOwner)
	e.Int(s.DataLength)
	e.Int(s.NumChildren)
	e.Long(s.Pzxid)
}

// AppendIDs writes a vector of {scheme ustring, id ustring}.
func AppendIDs(e *jute.Encoder, ids []tree.ID) {
	e.Int(int32(len(ids)))
	for _, id := range ids {
		e.String(id.Scheme)
		e.String(id.ID)
	}
}

// DecodeIDs reads what AppendIDs wrote.
func DecodeIDs(d *jute.Decoder) []tree.ID {
	ids := make([]tree.ID, 0, d.Count(8))
	for range cap(ids) {
		ids = append(ids, tree.ID{Scheme: d.String(), ID: d.String()})
	}
	return ids
}

// AppendACL writes a vector of {perms int, scheme ustring, id ustring}.
func AppendACL(e *jute.Encoder, acl []tree.ACL) {
	e.Int(int32(len(acl)))
	for _, entry := range acl {
		e.Int(entry.Permissions)
		e.String(entry.ID.Scheme)
		e.String(entry.ID.ID)
	}
}

// DecodeACL reads what AppendACL wrote.
func DecodeACL(d *jute.Decoder) []tree.ACL {
	acl := make([]tree.ACL, 0, d.Count(12))
	for range cap(acl) {
		acl = append(acl, tree.ACL{Permissions: d.Int(), ID: tree.ID{Scheme: d.String(), ID: d.String()}})
	}
	return acl
}
