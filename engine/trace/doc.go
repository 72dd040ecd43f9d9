// Package trace is the record of everything that can be seen in a classroom: which node did what, when, and what led to it.
//
// A node owns one [Tracer]. The goroutine that owns a piece of state emits an [Event] about it, and nobody else does; the tracer
// puts the node's name, its own sequence number and the time on it. Readers (the page, a lab's checker, a file) never sit in the
// way: Emit appends to a bounded buffer and returns, a collector drains the buffer. What does not fit is counted and the count is
// itself a record, so that a reader knows that the picture has a hole.
//
// Order. Within a node, Seq is the order in which things happened. Between nodes there is no global order, only cause: a record
// may name the record that led to it. A message is recorded twice, [MessageSent] by the sender and [MessageReceived] by the
// receiver; the reader joins the two by their Exchange, which both ends know without talking about it (it is made of the
// connection's two addresses and the protocol's own correlation number).
//
// All event types live here, one file an area, as structs of plain values with JSON names: the page's TypeScript is generated from
// them.
package trace
