package server_test

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
)

// TestStrangersDoNotKeepPeersOut: who opens connections to the peers' address and does not say who it is takes all places there, but only
// for as long as a peer may take to introduce itself.
func TestStrangersDoNotKeepPeersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &simulation{
			t: t, random: rand.New(rand.NewPCG(1, 1)), fabric: fabric.NewMemory(), disks: map[int]*disk.Memory{}, lives: map[int]*life{},
			members: []int{1, 2, 3}, happened: counts{}, began: time.Now(),
		}
		defer func() {
			for id := range s.lives {
				s.kill(id)
			}
		}()
		s.start(1)
		synctest.Wait()
		const places = 256
		var strangers []net.Conn
		for i := range places {
			conn, err := s.fabric.Of("stranger").Dial(context.Background(), simulatedPeer(1))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if i%2 == 0 { // half of them say a little
				if _, err := conn.Write([]byte{0, 0}); err != nil {
					t.Fatal(err)
				}
			}
			strangers = append(strangers, conn)
		}
		s.start(2)
		s.start(3)
		for _, conn := range strangers {
			if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(conn); err != nil {
				t.Fatalf("a stranger's connection is still open after a minute: %v", err)
			}
		}
		if took := time.Since(s.began); took > 6*time.Second {
			t.Errorf("the strangers' connections were closed after %v", took)
		}
		for id := range s.lives {
			s.awaitReady(id, "after the strangers' connections were closed")
		}
	})
}
