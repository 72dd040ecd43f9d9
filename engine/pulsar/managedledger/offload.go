package managedledger

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "twinlog/engine/pulsar/bookkeeperpb"
	"twinlog/engine/pulsar/offloaded"
)

// Offloading of sealed ledgers (PIP-17). What a ledger's metadata says of it goes through these states, each step a change of the managed
// ledger's znode that only its owner can make. A broker may die between any two:
//
//	              prepare                    complete                     deletion lag is over
//	in bookies ───────────► uid, incomplete ───────────► complete ───────────────────────────────► deleted from bookies
//	    ▲      a new uid            │     the upload is    read from the    the upload is read      read from the medium
//	    │                           │     whole            medium, else     through, then bookies
//	    └───────────────────────────┘                      from bookies     drop theirs
//	     it broke off: what the uid names is removed,
//	     by the next owner if this one is dead
//
// So whatever the metadata points to is whole, and objects that it does not point to are known by the uid that it still has. But a ledger
// that is trimmed leaves the list before its objects are removed, as in Pulsar: a broker that dies in between leaves objects that nobody
// knows.

// Offload is what the metadata says of a ledger that was offloaded or is being (Pulsar's OffloadContext). It never changes; another state
// is another Offload.
type Offload struct {
	UID                offloaded.UID
	Complete           bool
	DeletedFromBookies bool
	At                 time.Time // of completion
	Driver             string    // of the medium, as Pulsar names it: filesystem, S3
	properties         []*pb.KeyValue
}

// Offloaded tells whether the ledger is whole on the medium.
func (i LedgerInfo) Offloaded() bool { return i.Offload != nil && i.Offload.Complete }

func (o *Offload) encode() *pb.OffloadContext {
	if o == nil {
		return nil
	}
	context := &pb.OffloadContext{
		UidMsb: proto.Int64(o.UID.High), UidLsb: proto.Int64(o.UID.Low),
		Complete: proto.Bool(o.Complete), BookkeeperDeleted: proto.Bool(o.DeletedFromBookies),
		DriverMetadata: &pb.OffloadDriverMetadata{Name: proto.String(o.Driver), Properties: o.properties},
	}
	if !o.At.IsZero() {
		context.Timestamp = proto.Int64(o.At.UnixMilli())
	}
	return context
}

// decodeOffload: Pulsar writes an empty context for a ledger that was never offloaded.
func decodeOffload(context *pb.OffloadContext) *Offload {
	if context == nil || context.UidMsb == nil && context.UidLsb == nil {
		return nil
	}
	o := &Offload{
		UID:      offloaded.UID{High: context.GetUidMsb(), Low: context.GetUidLsb()},
		Complete: context.GetComplete(), DeletedFromBookies: context.GetBookkeeperDeleted(),
		Driver: context.GetDriverMetadata().GetName(), properties: context.GetDriverMetadata().GetProperties(),
	}
	if context.GetTimestamp() > 0 {
		o.At = time.UnixMilli(context.GetTimestamp())
	}
	return o
}

// OffloadPolicy says when ledgers are offloaded without being asked for, and when bookies drop those that are.
type OffloadPolicy struct {
	// Size: the oldest ledgers are offloaded while the managed ledger has more bytes than this in bookies alone; 0: as soon as they are
	// sealed; negative: not for this reason (managedLedgerOffloadAutoTriggerSizeThresholdBytes).
	Size int64
	// Age: ledgers are offloaded that were sealed at least so long ago; negative: not for this reason.
	Age time.Duration
	// DeletionLag: bookies keep an offloaded ledger for so long; negative: for ever (managedLedgerOffloadDeletionLagMs).
	DeletionLag time.Duration
}

// DefaultOffloadPolicy is Pulsar's: offload when asked, delete from bookies after 4 hours.
var DefaultOffloadPolicy = OffloadPolicy{Size: -1, Age: -1, DeletionLag: 4 * time.Hour}

// offloadable are the ledgers before a ledger that can be offloaded, oldest first. The last one of a list takes the adds, or has the last
// position of a terminated managed ledger: it stays.
func (l ledgerList) offloadable(before int64) (chosen []LedgerInfo) {
	for i, info := range l {
		if i == len(l)-1 || info.Ledger >= before {
			break
		}
		if !info.Closed.IsZero() && info.Entries > 0 && !info.Offloaded() {
			chosen = append(chosen, info)
		}
	}
	return chosen
}

// due are the ledgers that the policy offloads now, oldest first.
func (l ledgerList) due(policy OffloadPolicy, now time.Time) (chosen []LedgerInfo) {
	var inBookies int64 // bytes, from the newest ledger on, that are nowhere else
	before := int64(-1)
	for _, info := range slices.Backward(l) {
		if !info.Offloaded() {
			inBookies += info.Bytes
		}
		tooMuch := policy.Size >= 0 && inBookies > policy.Size
		tooOld := policy.Age >= 0 && !info.Closed.IsZero() && now.Sub(info.Closed) >= policy.Age
		if tooMuch || tooOld {
			before = info.Ledger + 1
			break
		}
	}
	return l.offloadable(before)
}

// leavingBookies are the ledgers that bookies need not keep any longer.
func (l ledgerList) leavingBookies(lag time.Duration, now time.Time) (chosen []LedgerInfo) {
	if lag < 0 {
		return nil
	}
	for _, info := range l {
		if info.Offloaded() && !info.Offload.DeletedFromBookies && now.Sub(info.Offload.At) >= lag {
			chosen = append(chosen, info)
		}
	}
	return chosen
}

// brokenOff are the ledgers whose offloading somebody began and did not complete.
func (l ledgerList) brokenOff() (chosen []LedgerInfo) {
	for _, info := range l {
		if info.Offload != nil && !info.Offload.Complete {
			chosen = append(chosen, info)
		}
	}
	return chosen
}

// firstInBookies is the first position that is not offloaded.
func (l ledgerList) firstInBookies() Position {
	for _, info := range l {
		if !info.Offloaded() {
			return Position{Ledger: info.Ledger, Entry: 0}
		}
	}
	return l.valid(l.last())
}
