package tree

// Command is one entry of the replicated log, decoded.
type Command struct {
	Origin Origin
	// TimeMS is the leader's clock when it ordered the command, in milliseconds since 1970.
	TimeMS int64
	// Session on whose behalf it runs, and the attachment through which the request came in (see [AttachSession]). Both are 0 for
	// what the ensemble does of its own accord.
	Session    int64
	Attachment int64
	Caller     []ID // the identities of the connection, for ACLs
	Operation  Operation
}

// Origin is the place of a command in its server's stream. A server sends its clients' commands to the leader as one stream, and
// after a change of leader it sends again all that it has not seen applied: the tree takes each exactly once and in order, whatever
// was sent twice or lost. Commands of Server 0 are outside any stream.
type Origin struct {
	Server      int32
	Incarnation int64 // of the server's process; a later process has a larger one
	Sequence    int64 // 1, 2, 3 …
}

type stream struct{ incarnation, sequence int64 }

// Operation is what a command does.
type Operation interface{ operation() }

// CreateNode makes a znode. ZooKeeper's create, create2, createContainer and createTTL are this.
type CreateNode struct {
	Path       string
	Data       []byte
	ACL        []ACL
	Mode       Mode
	Sequential bool
	TTL        int64 // milliseconds, Mode TTL only
	Invalid    Error // set when the request names a mode that does not exist, or one that is switched off
}

// DeleteNode removes a znode without children. Version -1 is any.
type DeleteNode struct {
	Path    string
	Version int32
}

// SetData replaces a znode's data. Version -1 is any.
type SetData struct {
	Path    string
	Data    []byte
	Version int32
}

// SetACL replaces a znode's ACL. Version is the aversion; -1 is any.
type SetACL struct {
	Path    string
	ACL     []ACL
	Version int32
}

// Check fails unless the znode has the version.
type Check struct {
	Path    string
	Version int32
}

// Multi does all of its operations or none.
type Multi struct{ Operations []Operation }

// CreateSession begins the session Command.Session.
type CreateSession struct {
	Password  [16]byte
	TimeoutMS int32
}

// AttachSession ties a session to a connection of the command's server, and cuts it off from the one it had before: what still comes
// in through that one fails with ErrSessionMoved.
type AttachSession struct {
	Password  [16]byte
	TimeoutMS int32
}

// CloseSession ends a session and deletes its ephemerals. Expired tells whose decision it was: the leader's or the client's.
type CloseSession struct{ Expired bool }

// RemoveIdle deletes a container or TTL node that nobody needs any more, unless it is in use again when its turn comes.
type RemoveIdle struct{ Path string }

// Barrier changes nothing. Its outcome tells its server that all commands ordered before are applied. One outside any stream is the leader's:
// a change of the members before it is settled.
type Barrier struct{}

func (*CreateNode) operation()    {}
func (*DeleteNode) operation()    {}
func (*SetData) operation()       {}
func (*SetACL) operation()        {}
func (*Check) operation()         {}
func (*Multi) operation()         {}
func (*CreateSession) operation() {}
func (*AttachSession) operation() {}
func (*CloseSession) operation()  {}
func (*RemoveIdle) operation()    {}
func (*Barrier) operation()       {}

// Outcome is what a command led to.
type Outcome struct {
	// Taken is false when the command was not its stream's next one: it was sent twice, or one before it is missing.
	Taken bool
	Zxid  int64 // of the transaction; the last one's when the command was none
	Result
	Multi []Result // of a multi, one an operation
	// Attachment of a session that was created or attached.
	Attachment int64
	TimeoutMS  int32
	Changes    []Change
}

// Result is one operation's.
type Result struct {
	Code Error
	Path string // of a create: with its sequence number
	Stat Stat   // of the znode afterwards; of a delete, nothing
}

// ChangeType tells what happened to a znode.
type ChangeType uint8

// The changes.
const (
	NodeCreated ChangeType = iota + 1
	NodeDeleted
	NodeDataChanged
)

// Change is something that happened to a znode. Watches are fired from it.
type Change struct {
	Type    ChangeType
	Path    string
	Data    []byte
	Mode    Mode
	Session int64 // owner of an ephemeral
	Version int32
	// ACL of the znode and of its parent: who may not read them is not told.
	ACL, ParentACL []ACL
}
