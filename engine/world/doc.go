// Package world is the whole classroom at one instant, as its trace tells it: which nodes run, who leads, where every log ends, who
// owns which bundle, which bookies hold which ledger.
//
// [State] is plain data with JSON names. [State.Apply] folds one trace record into it and is the only thing that changes it: the
// state after n records is a pure function of these records, so that the same instant can be reached again (rewind), by another
// reader (the page has the same reducer in TypeScript, tested against the same recorded runs) and by a lab's checker.
//
// Three rules make that work although records come from many nodes:
//
//   - What several nodes report is taken once. The ensemble's servers all report each change as they apply it; the first report of a
//     change counts (see [Change]).
//   - A later epoch wins over a later arrival. A partition's state carries leader and partition epochs, a controller its epoch; a
//     record of an older epoch changes nothing.
//   - A node speaks for itself only. What a dead node held in memory (roles, connections, topics served) ends with it; what it left
//     behind in the ensemble (registrations, ownership) ends when its session does, as in the real systems.
//
// The state is bounded by what exists: a deleted topic, ledger, group or session leaves nothing behind.
package world
