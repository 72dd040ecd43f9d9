// Package fabric is a node's network: it listens and dials, and the rules of each directed link between two named nodes can be
// changed while streams run over it. Streams never lose bytes in the middle: a cut link stalls or resets them, as TCP would. A
// caller that is no node (a student's own program) is the node [Client].
package fabric

import (
	"context"
	"net"
	"time"
)

// Client is the node name of every caller that is no node of the classroom.
const Client = "client"

// Network is one node's view of the fabric.
type Network interface {
	// Node is the name of the node that this view belongs to.
	Node() string
	// Listen opens a TCP address ("127.0.0.1:9092"); port 0 picks a free one.
	Listen(address string) (net.Listener, error)
	// Dial opens a stream. It fails when the context ends first, as it does over a cut link.
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// Link is the rule of one direction between two nodes. The zero Link is a healthy one.
type Link struct {
	Cut            bool
	Delay          time.Duration
	Jitter         time.Duration // up to this much more delay, drawn per write
	BytesPerSecond int64         // 0: no limit
}

// PeerNamer is what every connection of a fabric also is.
type PeerNamer interface {
	// PeerNode is the node at the other end; [Client] when it is none of ours. For an accepted connection it is known once the first
	// bytes arrived.
	PeerNode() string
}
