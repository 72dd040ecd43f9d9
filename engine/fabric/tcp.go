package fabric

import (
	"context"
	"net"
)

// NewTCP returns a fabric over the operating system's TCP, all links healthy.
func NewTCP() *Fabric { return newFabric(tcpTransport{}) }

type tcpTransport struct{}

func (tcpTransport) listen(address string) (net.Listener, error) { return net.Listen("tcp", address) }

func (tcpTransport) dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}
