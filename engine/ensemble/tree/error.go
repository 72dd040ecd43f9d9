package tree

import "strconv"

// Error is a ZooKeeper error code as it goes over the wire. 0 is success.
type Error int32

// The codes that a server answers with.
const (
	OK                      Error = 0
	ErrRuntimeInconsistency Error = -2 // an operation of a failed multi that was not tried
	ErrMarshalling          Error = -5
	ErrUnimplemented        Error = -6
	ErrBadArguments         Error = -8
	ErrNewConfigNoQuorum    Error = -13
	ErrReconfigInProgress   Error = -14
	ErrNoNode               Error = -101
	ErrNoAuth               Error = -102
	ErrBadVersion           Error = -103
	ErrNoChildrenForEph     Error = -108
	ErrNodeExists           Error = -110
	ErrNotEmpty             Error = -111
	ErrSessionExpired       Error = -112
	ErrInvalidACL           Error = -114
	ErrAuthFailed           Error = -115
	ErrSessionMoved         Error = -118
	ErrNoWatcher            Error = -121
	ErrReconfigDisabled     Error = -123
)

var errorTexts = map[Error]string{
	OK:                      "ok",
	ErrRuntimeInconsistency: "an earlier operation of the multi failed",
	ErrMarshalling:          "the request could not be decoded",
	ErrUnimplemented:        "the operation is not implemented, or is switched off",
	ErrBadArguments:         "bad arguments",
	ErrNewConfigNoQuorum:    "no quorum of the new configuration is connected to the leader",
	ErrReconfigInProgress:   "another reconfiguration is in progress, or this one is out of date",
	ErrNoNode:               "no such znode",
	ErrNoAuth:               "not permitted by the znode's ACL",
	ErrBadVersion:           "the znode has another version",
	ErrNoChildrenForEph:     "an ephemeral znode cannot have children",
	ErrNodeExists:           "the znode exists",
	ErrNotEmpty:             "the znode has children",
	ErrSessionExpired:       "the session has expired",
	ErrInvalidACL:           "invalid ACL",
	ErrAuthFailed:           "authentication failed",
	ErrSessionMoved:         "the session has moved to another connection",
	ErrNoWatcher:            "no such watch",
	ErrReconfigDisabled:     "reconfiguration is switched off",
}

func (e Error) Error() string {
	if text, known := errorTexts[e]; known {
		return text
	}
	return "ZooKeeper error " + strconv.Itoa(int(e))
}
