// Package managedledger makes one endless log out of many BookKeeper ledgers: Pulsar's storage of one topic. A ledger has one
// writer and, once closed, never changes; a managed ledger appends to its last ledger, opens a new one when that is full or fails,
// and drops whole ledgers from the front once nobody needs them. Cursors remember, in ledgers of their own, what a subscription has
// acknowledged.
//
// Ownership. [Factory.Open] recovers the last ledger with fencing before it opens a new one: from then on an older owner's adds
// fail with [ErrFenced]. This, not ZooKeeper, is what keeps two brokers from writing the same topic. The list of ledgers is one
// znode that is changed by compare and set only; who loses that race is fenced too.
//
// znodes (values are Pulsar's protobuf messages, see bookkeeperpb):
//
//	/managed-ledgers/{tenant}/{namespace}/persistent/{topic}             ManagedLedgerInfo
//	/managed-ledgers/{tenant}/{namespace}/persistent/{topic}/{cursor}    ManagedCursorInfo
//
// Concurrency. Every method may be called from any goroutine. Callbacks run on a goroutine of the managed ledger, one at a time and
// in order; they must not block.
package managedledger
