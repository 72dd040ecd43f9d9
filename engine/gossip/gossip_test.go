package gossip_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/gossip"
)

type member struct {
	*gossip.Gossip
	stop func() error
}

func start(t *testing.T, name string, seeds ...string) *member {
	t.Helper()
	g, err := gossip.New(gossip.Config{
		Self: gossip.Process{Name: name, Run: "1", Role: "kafka", ID: 1, Control: name + ":7701"}, Bind: "127.0.0.1:0", Seeds: seeds, Quick: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- g.Run(ctx) }()
	return &member{Gossip: g, stop: func() error { cancel(); return <-ended }}
}

// see waits until a member sees exactly these processes.
func (m *member) see(t *testing.T, names ...string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		changed := m.Changed()
		var seen []string
		for _, process := range m.Processes() {
			seen = append(seen, process.Name)
		}
		if slices.Equal(seen, names) {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("sees %v, not %v", seen, names)
		}
	}
}

// verifyNoLeaks allows for a probe that is under way: memberlist lets it run into its timeout.
func verifyNoLeaks(t *testing.T) {
	t.Helper()
	goleak.VerifyNone(t, goleak.IgnoreTopFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"),
		goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).sendPingAndWaitForAck"))
}

func TestMembersFindEachOther(t *testing.T) {
	defer verifyNoLeaks(t)
	a := start(t, "a")
	b := start(t, "b", a.Address())
	c := start(t, "c", b.Address(), a.Address())
	for _, m := range []*member{a, b, c} {
		m.see(t, "a", "b", "c")
	}
	process := a.Processes()[2]
	if process.Control != "c:7701" || process.Role != "kafka" || process.Run != "1" || process.Host != "127.0.0.1" {
		t.Errorf("c is known as %+v", process)
	}
	if err := c.stop(); err != nil {
		t.Fatal(err)
	}
	a.see(t, "a", "b")
	// A crash says nothing: the others find out.
	b.Abandon()
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	a.see(t, "a")
	if err := a.stop(); err != nil {
		t.Fatal(err)
	}
}

// A seed that comes up later is found then.
func TestSeedThatIsLate(t *testing.T) {
	defer verifyNoLeaks(t)
	placeholder := start(t, "placeholder")
	address := placeholder.Address()
	if err := placeholder.stop(); err != nil {
		t.Fatal(err)
	}
	early := start(t, "early", address)
	early.see(t, "early")
	late, err := gossip.New(gossip.Config{Self: gossip.Process{Name: "late"}, Bind: address, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- late.Run(ctx) }()
	early.see(t, "early", "late")
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := early.stop(); err != nil {
		t.Fatal(err)
	}
}
