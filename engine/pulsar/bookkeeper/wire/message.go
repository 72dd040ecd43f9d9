// Package wire is the BookKeeper protocol between bookies and their clients, in both versions that are in use: version 2 (fixed
// binary layout; what Pulsar's brokers speak) and version 3 (protobuf). A request of either version becomes the same [Request], so
// that a bookie has one code path; its answer goes back in the version of the request.
//
// Both versions share the frame:
//
//	0        4
//	+--------+---------------+
//	| length | packet        |   length: u32, big-endian, of the packet
//	+--------+---------------+
package wire

import "fmt"

// MaxFrame bounds a packet, in bytes: an entry of 5 MiB (Pulsar's largest message) with what surrounds it.
const MaxFrame = 5<<20 + 128<<10

// The versions of the protocol.
const (
	Version2 = 2
	Version3 = 3
)

// Operation is what a request asks for; the numbers are version 3's.
type Operation int

// The operations that a bookie knows. Version 2 has the first two and Auth.
const (
	ReadEntry     Operation = 1
	AddEntry      Operation = 2
	Auth          Operation = 5
	WriteLAC      Operation = 6
	ReadLAC       Operation = 7
	GetBookieInfo Operation = 8
	StartTLS      Operation = 9
	ForceLedger   Operation = 10
	ListEntries   Operation = 11
)

func (o Operation) String() string {
	switch o {
	case ReadEntry:
		return "READ_ENTRY"
	case AddEntry:
		return "ADD_ENTRY"
	case Auth:
		return "AUTH"
	case WriteLAC:
		return "WRITE_LAC"
	case ReadLAC:
		return "READ_LAC"
	case GetBookieInfo:
		return "GET_BOOKIE_INFO"
	case StartTLS:
		return "START_TLS"
	case ForceLedger:
		return "FORCE_LEDGER"
	case ListEntries:
		return "GET_LIST_OF_ENTRIES_OF_LEDGER"
	}
	return fmt.Sprintf("operation %d", int(o))
}

// Status is a bookie's answer; the numbers are version 3's.
type Status int

const (
	OK              Status = 0
	NoLedger        Status = 402
	NoEntry         Status = 403
	BadRequest      Status = 404
	IOError         Status = 501
	Unauthorized    Status = 502
	BadVersion      Status = 503
	Fenced          Status = 504
	ReadOnly        Status = 505
	TooManyRequests Status = 506
	UnknownState    Status = 507
)

func (s Status) String() string {
	switch s {
	case OK:
		return "ok"
	case NoLedger:
		return "no such ledger"
	case NoEntry:
		return "no such entry"
	case BadRequest:
		return "bad request"
	case IOError:
		return "I/O error"
	case Unauthorized:
		return "unauthorized"
	case BadVersion:
		return "bad version"
	case Fenced:
		return "fenced"
	case ReadOnly:
		return "read-only"
	case TooManyRequests:
		return "too many requests"
	case UnknownState:
		return "unknown ledger state"
	}
	return fmt.Sprintf("status %d", int(s))
}

// LastEntry is the entry id that asks for a ledger's last entry.
const LastEntry int64 = -1

// MasterKeySize is the size of a ledger's master key, in bytes.
const MasterKeySize = 20

// Request is one request. Byte slices share the frame that they were decoded from.
type Request struct {
	Version   int
	Operation Operation
	Txn       uint64 // version 3 only: the answer carries it
	Ledger    int64
	Entry     int64
	MasterKey []byte
	Body      []byte // AddEntry: the whole entry; WriteLAC: ledger, LAC and digest; Auth: the plugin's own bytes

	Fence        bool // ReadEntry: fence the ledger first
	Recovery     bool // AddEntry: by recovery, allowed although the ledger is fenced
	HighPriority bool

	// Long poll (ReadEntry, version 3): with Piggyback, wait until the LAC is beyond PreviousLAC or for TimeoutMS.
	Piggyback   bool
	PreviousLAC int64 // NoLAC: do not wait
	TimeoutMS   int64

	Requested  int64  // GetBookieInfo: bits, 1 total and 2 free disk space
	AuthPlugin string // Auth
}

// NoLAC stands for "no last add confirmed given".
const NoLAC int64 = -1 << 63

// Response is the answer to a Request.
type Response struct {
	Version   int
	Operation Operation
	Txn       uint64
	Ledger    int64
	Entry     int64
	Status    Status
	Body      []byte // ReadEntry: the whole entry; ReadLAC: the last entry; Auth: the plugin's bytes; ListEntries: the encoded list

	ExplicitLAC []byte // ReadLAC: what WriteLAC stored last
	MaxLAC      int64  // ReadEntry, version 3: the bookie's newest LAC, NoLAC when it has none
	TotalDisk   int64  // GetBookieInfo
	FreeDisk    int64
	AuthPlugin  string
}

// Correlation names the request among those that are under way on its connection: the transaction of version 3; in version 2, which
// has none, what the answer is matched by.
func (r *Request) Correlation() int64 {
	return correlation(r.Version, r.Txn, r.Operation, r.Ledger, r.Entry)
}

// Correlation is that of the request that is answered.
func (r *Response) Correlation() int64 {
	return correlation(r.Version, r.Txn, r.Operation, r.Ledger, r.Entry)
}

// correlation fits in 53 bits, which is as far as a browser counts exactly:
//
//	version 3:  the transaction's lowest 53 bits
//	version 2:  | operation 5 bits | ledger 20 | entry 28 |
func correlation(version int, txn uint64, operation Operation, ledger, entry int64) int64 {
	if version == Version3 {
		return int64(txn & (1<<53 - 1))
	}
	return int64(operation)&0x1f<<48 | ledger&(1<<20-1)<<28 | entry&(1<<28-1)
}

// Answer is the response to a request with a status and nothing else.
func (r *Request) Answer(status Status) *Response {
	return &Response{
		Version: r.Version, Operation: r.Operation, Txn: r.Txn, Ledger: r.Ledger, Entry: r.Entry, Status: status, MaxLAC: NoLAC,
	}
}
