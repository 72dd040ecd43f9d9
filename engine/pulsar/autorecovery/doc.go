// Package autorecovery brings back the copies that a lost bookie had. A dead bookie stops nobody: writers replace it at once, from their
// next entry on. But what it already held has a copy too few from then on, until somebody makes another one. That is done here, in every
// bookie, by two parts that talk to each other through ZooKeeper alone:
//
//	auditor (one in the cluster)                    replication workers (one in each bookie)
//	watches /ledgers/available                      watch /ledgers/underreplication/ledgers
//	a bookie is away for too long:                  take a ledger's lock (ephemeral: it ends with its holder)
//	marks every ledger that                ──▶      read the lost entries from bookies that have them,
//	counted on it                                   add them to others, name those in the metadata,
//	                                                delete the mark, let go of the lock
//
// A worker trusts neither the mark nor what it knew before: it looks at the metadata and at the bookies that are there now. So a bookie
// that comes back in time costs nothing, a worker that dies half way leaves a ledger that the next one does again, and two that work on
// the same ledger do no harm: the metadata is written by compare-and-set, after the copies are there.
//
// The end of an open ledger belongs to its writer, who alone knows which entries are under way. When one of its bookies is lost, the writer
// gets some time to replace it; then the ledger is fenced and closed, as when a broker takes it over, and can be copied.
package autorecovery
