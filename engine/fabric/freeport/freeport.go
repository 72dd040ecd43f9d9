// Package freeport finds ports for tests whose servers must know each other's addresses before they listen, or must come back at the
// same one. Servers that can tell where they listen ask the system instead, with port 0.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
)

// The ports lie below the range from which systems give ports to those who dial (32768-60999 on Linux, 49152-65535 elsewhere): a port
// that port 0 gave and that was closed again is soon some connection's own, and the server that was to have it cannot listen.
const lowest, highest = 10000, 30000

var (
	mu    sync.Mutex
	given = map[int]bool{} // to this process's tests: none is given twice, as its server may not listen yet or be down for a while
)

// Addresses gives so many addresses on 127.0.0.1 at which nobody listens.
func Addresses(t testing.TB, count int) []string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	var found []string
	for range 100 * count {
		port := lowest + rand.IntN(highest-lowest)
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if given[port] {
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		listener.Close()
		given[port] = true
		if found = append(found, address); len(found) == count {
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
