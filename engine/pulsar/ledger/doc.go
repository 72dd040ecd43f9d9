// Package ledger is BookKeeper's replication as plain rules: which bookies hold an entry, when an add is acknowledged, what happens
// when a bookie fails, and how the last entry of a dead writer's ledger is found. Nothing here waits, sends or reads a clock: every
// call takes what happened and returns what is to be done, package bookkeeper does it.
//
// A ledger is striped. With an ensemble of 3, a write quorum of 2 and an ack quorum of 2, entries lie like this:
//
//	          entry 0  entry 1  entry 2  entry 3
//	bookie A     x                 x        x
//	bookie B     x        x                 x
//	bookie C              x        x
//
// Three promises, kept by any number of crashes that leaves each write set with an ack quorum's complement alive:
//
//   - an acknowledged entry is never lost;
//   - a ledger is closed once, at one last entry, whoever closes it;
//   - once it is fenced, its old writer gets no acknowledgement any more.
package ledger
