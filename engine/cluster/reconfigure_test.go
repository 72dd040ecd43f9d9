package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
)

// breaking is a node that breaks as soon as it serves.
type breaking struct{ cluster.Runnable }

func (breaking) Ready() <-chan struct{} { return nil }

func (b breaking) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- b.Runnable.Run(ctx) }()
	select {
	case <-b.Runnable.Ready():
		cancel()
		return errors.Join(errors.New("its disk broke"), <-ended)
	case err := <-ended:
		return err
	}
}

// TestAnEnsembleServerThatBreaksWhileItIsAddedHasNoVote: otherwise the ensemble of three would need three of four from then on.
func TestAnEnsembleServerThatBreaksWhileItIsAddedHasNoVote(t *testing.T) {
	layout := cluster.Layout{Host: "127.0.0.1", Ensemble: 3, Pace: node.Classroom, Secret: "secret"}
	network := fabric.NewMemory()
	var discarded []string
	c := runCluster(t, network, layout, func(config node.Config, surroundings node.Surroundings) (cluster.Runnable, error) {
		made, err := cluster.MakeNode(config, surroundings)
		if config.ID == 4 && err == nil {
			return breaking{made}, nil
		}
		return made, err
	}, func(name string) error { discarded = append(discarded, name); return nil })
	adding, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	if _, err := c.Add(adding, node.RoleEnsemble); err == nil || !strings.Contains(err.Error(), "its disk broke") {
		t.Errorf("added: %v", err)
	}
	if !slices.Equal(discarded, []string{"ensemble-4"}) || len(c.Nodes()) != 3 {
		t.Errorf("discarded %v, and there are %+v", discarded, c.Nodes())
	}
	if members := ensembleMembers(t, network); strings.Contains(members, "server.4=") || !strings.Contains(members, "server.3=") {
		t.Errorf("the ensemble's members are\n%s", members)
	}
}

// ensembleMembers is what the ensemble says of itself.
func ensembleMembers(t *testing.T, network *fabric.Fabric) string {
	t.Helper()
	view := network.Of(fabric.Client)
	defer view.Sever()
	conn, _, err := zk.Connect([]string{"127.0.0.1:2181"}, 10*time.Second, zk.WithLogInfo(false),
		zk.WithDialer(func(_, address string, patience time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			return view.Dial(ctx, address)
		}))
	check(t, err)
	defer conn.Close()
	text, _, err := conn.Get("/zookeeper/config")
	if err != nil {
		t.Fatal(fmt.Errorf("asking the ensemble for its members: %w", err))
	}
	return string(text)
}
