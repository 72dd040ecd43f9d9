package fabric

import (
	"context"
	"net"
)

// TCP is the fabric over the operating system's TCP.
type TCP struct{}

// NewTCP returns a fabric whose links are all healthy.
func NewTCP() *TCP { return &TCP{} }

// Of returns a node's view.
func (t *TCP) Of(node string) Network { return tcpNetwork{node: node} }

type tcpNetwork struct{ node string }

func (n tcpNetwork) Node() string { return n.node }

func (n tcpNetwork) Listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func (n tcpNetwork) Dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}
