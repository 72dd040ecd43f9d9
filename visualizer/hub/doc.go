// Package hub gathers the traces of all nodes into one ordered stream. It gives each record its place n, finds the sending that each
// received message belongs to, folds the records into the state of the classroom, keeps a bounded window of them, and feeds the
// browsers that are connected.
//
// One goroutine owns all of that; everything else asks it. A browser that cannot keep up is never waited for: what was meant for it is
// thrown away and a new snapshot takes its place.
package hub
