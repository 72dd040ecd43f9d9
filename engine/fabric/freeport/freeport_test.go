package freeport

import (
	"fmt"
	"net"
	"testing"
)

// TestWhatIsTakenIsNotGiven: neither what listens, nor what this process or another one was given and does not use yet.
func TestWhatIsTakenIsNotGiven(t *testing.T) {
	addresses := Addresses(t, 3)
	if Take(addresses[0]) {
		t.Errorf("%s was given twice", addresses[0])
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if Take(listener.Addr().String()) {
		t.Errorf("%s was given, and somebody listens there", listener.Addr())
	}
	mark, err := net.ListenPacket("udp", markHost+":0") // of another process
	if err != nil {
		t.Logf("this system has no %s, and no marks for other processes: %v", markHost, err)
		return
	}
	defer mark.Close()
	port := mark.LocalAddr().(*net.UDPAddr).Port
	if Take(fmt.Sprintf("127.0.0.1:%d", port)) {
		t.Errorf("port %d was given, and another process has it", port)
	}
	fresh := Addresses(t, 1)[0]
	mu.Lock()
	_, text, _ := net.SplitHostPort(fresh)
	for p, held := range given { // as if its process had ended
		if fmt.Sprint(p) == text {
			held.Close()
			delete(given, p)
		}
	}
	mu.Unlock()
	if Take(fresh, addresses[1]) {
		t.Error("an address that is taken was given with another one")
	}
	if !Take(fresh) {
		t.Errorf("%s is not free again", fresh)
	}
}
