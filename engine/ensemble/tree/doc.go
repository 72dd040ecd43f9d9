// Package tree is ZooKeeper's data model as a pure state machine: znodes with versions, sequential names, ephemerals, containers,
// TTLs and ACLs; sessions; multi; and, beside it, the watches of one server ([Watches]) and the session clocks of the leader
// ([Expiry]).
//
// A [Tree] changes only through [Tree.Apply], which takes one [Command] from the replicated log and returns an [Outcome]: the answer
// for the client and the changes that watches are fired from. Two trees that were given the same commands are equal; nothing in here
// looks at a clock, a random source or the network. The time of a change comes with the command, from the leader that ordered it.
//
// The facts (which error comes first, what a Stat shows, which number a sequential name gets) are those of Apache ZooKeeper 3.8.
package tree
