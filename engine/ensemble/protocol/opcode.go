// Package protocol is ZooKeeper's wire protocol as records: what a client asks, what a server answers, and the commands that servers
// put into their log, all in jute. It does no I/O.
package protocol

import "strconv"

// Op is a request's type.
type Op int32

// The request types of clients.
const (
	OpCreate               Op = 1
	OpDelete               Op = 2
	OpExists               Op = 3
	OpGetData              Op = 4
	OpSetData              Op = 5
	OpGetACL               Op = 6
	OpSetACL               Op = 7
	OpGetChildren          Op = 8
	OpSync                 Op = 9
	OpPing                 Op = 11
	OpGetChildren2         Op = 12
	OpCheck                Op = 13
	OpMulti                Op = 14
	OpCreate2              Op = 15
	OpReconfig             Op = 16
	OpCheckWatches         Op = 17
	OpRemoveWatches        Op = 18
	OpCreateContainer      Op = 19
	OpDeleteContainer      Op = 20 // the leader's own
	OpCreateTTL            Op = 21
	OpMultiRead            Op = 22
	OpAuth                 Op = 100
	OpSetWatches           Op = 101
	OpGetEphemerals        Op = 103
	OpGetAllChildrenNumber Op = 104
	OpSetWatches2          Op = 105
	OpAddWatch             Op = 106
	OpWhoAmI               Op = 107
	OpCreateSession        Op = -10 // in the log only
	OpCloseSession         Op = -11
	opEnd                  Op = -1 // in multi only
)

// In the log only, and ours alone.
const (
	opExpireSession Op = -1001
	opAttachSession Op = -1002
	opBarrier       Op = -1003
	opMembership    Op = -1004
)

var opNames = map[Op]string{
	OpCreate: "create", OpDelete: "delete", OpExists: "exists", OpGetData: "getData", OpSetData: "setData", OpGetACL: "getACL",
	OpSetACL: "setACL", OpGetChildren: "getChildren", OpSync: "sync", OpPing: "ping", OpGetChildren2: "getChildren2", OpCheck: "check",
	OpMulti: "multi", OpCreate2: "create2", OpReconfig: "reconfig", OpCheckWatches: "checkWatches", OpRemoveWatches: "removeWatches",
	OpCreateContainer: "createContainer", OpDeleteContainer: "deleteContainer", OpCreateTTL: "createTTL", OpMultiRead: "multiRead",
	OpAuth: "auth", OpSetWatches: "setWatches", OpGetEphemerals: "getEphemerals", OpGetAllChildrenNumber: "getAllChildrenNumber",
	OpSetWatches2: "setWatches2", OpAddWatch: "addWatch", OpWhoAmI: "whoAmI", OpCreateSession: "createSession",
	OpCloseSession: "closeSession", opExpireSession: "expireSession", opAttachSession: "attachSession", opBarrier: "barrier",
	opMembership: "membership",
}

func (o Op) String() string {
	if name, known := opNames[o]; known {
		return name
	}
	return "op " + strconv.Itoa(int(o))
}

// IsWrite tells the requests that change the tree. They go through the log.
func (o Op) IsWrite() bool {
	switch o {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, OpSetData, OpSetACL, OpCheck, OpMulti, OpCloseSession:
		return true
	}
	return false
}

// Xids that are no request numbers.
const (
	XidNotification int32 = -1
	XidPing         int32 = -2
)
