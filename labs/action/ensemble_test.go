package action

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/node"
	"twinlog/labs/lab"
)

// mute is a classroom whose only ensemble server says nothing, as one without a majority does.
type mute struct {
	twoNodes
	address string
}

func (m *mute) Nodes() []cluster.NodeStatus {
	return []cluster.NodeStatus{{Name: "ensemble-1", Role: node.RoleEnsemble, Addresses: map[string]string{node.PurposeZooKeeper: m.address}}}
}

// TestNobodyWaitsForAnEnsembleLongerThanHeWants: the helper of a task ends with its task, also when it is writing to an ensemble that has lost
// its majority.
func TestNobodyWaitsForAnEnsembleLongerThanHeWants(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ensemble := &mute{address: listener.Addr().String()}
	runner := NewRunner(Addresses{}, ensemble, ensemble)
	for name, action := range map[string]lab.Action{
		"set":    {EnsembleSet: &lab.EnsembleSet{Path: "/school/diary", Data: "x"}},
		"delete": {EnsembleDelete: &lab.EnsembleDelete{Path: "/school"}},
		"open":   {EnsembleOpen: &lab.EnsembleOpen{As: "reader", Watch: "/school"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- runner.Run(ctx, Start{}, []lab.Action{action}) }()
		conn, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(began); took > connectPatience/2 {
			t.Errorf("%s went on for %v", name, took)
		}
		conn.Close()
	}
}
