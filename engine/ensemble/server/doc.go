// Package server is one server of the ensemble: the tree replicated by Raft, its log kept in commitlog, served in ZooKeeper's protocol.
//
// Who owns what. One goroutine, the owner, has the tree, the watches, the Raft node and the list of connections; it takes events from
// one inbox and never blocks on I/O. Around it:
//
//	client reader ─┐                       ┌─ client outbox → client writer
//	peer reader  ──┼─ inbox → owner (raft) ┼─ peer queue    → peer writer
//	storage      ──┘                       └─ storage queue → storage writer (append, sync; then the messages that had to wait for it)
//
// The way of a write. A client's request becomes a command of this server's stream. The server sends it to the leader, which stamps
// the time and appends it to the Raft log. When it is committed every server applies it; the one it came from answers. A server
// remembers what it sent until it has seen it applied and sends it again to a new leader; the tree takes each command once and in
// order (tree.Origin). So a change of leader costs clients some time, but neither their connection nor an unknown outcome.
//
// Reads are answered from the server's own tree, in the session's order: a read behind a write waits for the write. A server that
// knows no leader for a while closes its clients' connections and takes none.
package server
