package tree

// Stat is what a client sees of a znode besides its data.
type Stat struct {
	Czxid          int64 // transaction that created it
	Mzxid          int64 // transaction that last set its data
	Ctime          int64 // milliseconds since 1970, the leader's clock
	Mtime          int64 // milliseconds since 1970, the leader's clock
	Version        int32 // times its data was set
	Cversion       int32 // children created and deleted
	Aversion       int32 // times its ACL was set
	EphemeralOwner int64 // session, for an ephemeral; else 0
	DataLength     int32
	NumChildren    int32
	Pzxid          int64 // transaction that last created or deleted a child
}

// Mode is how a znode was created.
type Mode uint8

// The modes. Whether the name was sequential leaves no trace in the znode.
const (
	Persistent Mode = iota
	Ephemeral       // gone with its session
	Container       // gone once it has had children and has none
	TTL             // gone when it has no children and was not changed for its time to live
)

var modeNames = [...]string{"persistent", "ephemeral", "container", "ttl"}

func (m Mode) String() string { return modeNames[m] }

// znode is one node. Its data and ACL slices are never changed in place, so that readers may keep them.
type znode struct {
	data     []byte // nil is kept: null data comes back null
	acl      []ACL
	children map[string]struct{}
	mode     Mode
	owner    int64 // session of an ephemeral
	ttl      int64 // milliseconds, of a TTL node

	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	// childrenCreated counts creations of children only. It is the number that the next sequential name gets; a Stat's Cversion is
	// made of it.
	childrenCreated int32
}

// stat is what a client sees. ZooKeeper keeps the number of creations alone, and shows creations plus deletions, which is twice the
// creations less the children that are left.
func (n *znode) stat() Stat {
	return Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Cversion: 2*n.childrenCreated - int32(len(n.children)), Aversion: n.aversion,
		EphemeralOwner: n.owner, DataLength: int32(len(n.data)), NumChildren: int32(len(n.children)), Pzxid: n.pzxid,
	}
}
