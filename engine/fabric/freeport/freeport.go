// Package freeport finds ports for tests whose servers must know each other's addresses before they listen, or must come back at the
// same one. Servers that can tell where they listen ask the system instead, with port 0.
package freeport

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
)

// The ports lie below the range from which systems give ports to those who dial (32768-60999 on Linux, 49152-65535 elsewhere): a port
// that port 0 gave and that was closed again is soon some connection's own, and the server that was to have it cannot listen.
const lowest, highest = 10000, 30000

// Its server may not listen yet, or be down for a while: so a port that was given is given to nobody else, neither in this process nor in
// another one whose tests run at the same time. The mark for these is a UDP socket of that port on an address that nothing else uses, which the
// system takes away with the process.
var (
	mu    sync.Mutex
	given = map[int]net.PacketConn{}
)

const markHost = "127.0.0.77"

// take marks a port at which nobody listens. The caller holds mu.
func take(host string, port int) bool {
	if _, taken := given[port]; taken {
		return false
	}
	mark, err := net.ListenPacket("udp", fmt.Sprintf("%s:%d", markHost, port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return false
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port))
	if err != nil {
		release(mark)
		return false
	}
	listener.Close()
	given[port] = mark // nil where the system has no such address
	return true
}

func release(mark net.PacketConn) {
	if mark != nil {
		mark.Close()
	}
}

// Take takes all of some addresses, with their hosts as numbers, or none when one of them is not free.
func Take(addresses ...string) bool {
	mu.Lock()
	defer mu.Unlock()
	var taken []int
	for _, address := range addresses {
		host, text, _ := net.SplitHostPort(address)
		port, err := strconv.Atoi(text)
		if err == nil && take(host, port) {
			taken = append(taken, port)
			continue
		}
		for _, port := range taken {
			release(given[port])
			delete(given, port)
		}
		return false
	}
	return true
}

// Addresses gives so many addresses on 127.0.0.1 at which nobody listens.
func Addresses(t testing.TB, count int) []string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	var found []string
	for range 100 * count {
		port := lowest + rand.IntN(highest-lowest)
		if !take("127.0.0.1", port) {
			continue
		}
		if found = append(found, fmt.Sprintf("127.0.0.1:%d", port)); len(found) == count {
			return found
		}
	}
	t.Fatalf("%d free ports were not found between %d and %d", count, lowest, highest)
	return nil
}

// Address gives one.
func Address(t testing.TB) string {
	t.Helper()
	return Addresses(t, 1)[0]
}
