package workload

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestConsumersComeAndGo changes the number of consumers while a workload runs, and looks at the group.
func TestConsumersComeAndGo(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	manager := NewManager(Config{Now: func() Config { return Config{Kafka: fake.ListenAddrs()} }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Run(ctx) }()
	client, err := kgo.NewClient(kgo.SeedBrokers(fake.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := manager.Start(ctx, Spec{Engine: EngineKafka, MessagesPerSecond: 100, Strategy: "range", Group: "team"}); err != nil {
		t.Fatal(err)
	}
	for _, consumers := range []int{3, 1} {
		status, err := manager.Change(ctx, "1", Change{Consumers: consumers})
		if err != nil || status.Spec.Consumers != consumers {
			t.Fatalf("%+v %v", status, err)
		}
		var group kadm.DescribedGroup
		for deadline := time.Now().Add(2 * time.Minute); group.State != "Stable" || len(group.Members) != consumers; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d members are wanted: %+v", consumers, group)
			}
			described, err := admin.DescribeGroups(ctx, "team")
			if err == nil {
				group = described["team"]
			}
		}
		if group.Protocol != "range" {
			t.Errorf("the strategy is %s", group.Protocol)
		}
	}
	for _, change := range []Change{{Consumers: -1}, {Consumers: 17}} {
		if _, err := manager.Change(ctx, "1", change); err == nil {
			t.Errorf("%+v is taken", change)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
