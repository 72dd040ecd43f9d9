package workload

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// TestKafkaSide runs the Kafka client programs against franz-go's fake cluster.
func TestKafkaSide(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(3))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	manager := NewManager(Config{Kafka: fake.ListenAddrs()})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Run(ctx) }()
	status, err := manager.Start(ctx, Spec{Engine: EngineKafka, MessagesPerSecond: 2000, MaxMessages: 1000, Producers: 2, Consumers: 2, Keys: 7, Acks: "all"})
	if err != nil {
		t.Fatal(err)
	}
	if status.ID != "1" || len(status.Sides) != 1 || status.Sides[0].State != StateStarting || status.Spec.Topic != "demo" {
		t.Errorf("at first: %+v", status)
	}
	var counts Counts
	deadline := time.Now().Add(2 * time.Minute)
	for counts.State != StateFinished || counts.Lag > 0 || counts.Consumed < 1000 {
		if time.Now().After(deadline) {
			t.Fatalf("still %+v", counts)
		}
		time.Sleep(20 * time.Millisecond)
		counts = manager.List()[0].Sides[0]
	}
	if counts.Produced != 1000 || counts.Acknowledged != 1000 || counts.Failed != 0 {
		t.Errorf("counts: %+v", counts)
	}
	stopped, err := manager.Stop(ctx, "1")
	if err != nil || stopped.Sides[0].State != StateStopped || len(manager.List()) != 0 {
		t.Errorf("stopped: %+v %v", stopped, err)
	}
	if _, err := manager.Stop(ctx, "1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("stopped twice: %v", err)
	}
	if _, err := manager.Start(ctx, Spec{Engine: EnginePulsar}); !errors.Is(err, ErrInvalid) {
		t.Errorf("an engine that is not there: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := manager.Start(context.Background(), Spec{Engine: EngineKafka}); err == nil {
		t.Error("a workload started after the end")
	}
}

func TestTooManyWorkloads(t *testing.T) {
	manager := NewManager(Config{Kafka: []string{"127.0.0.1:1"}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- manager.Run(ctx) }()
	for range maxWorkloads {
		if _, err := manager.Start(ctx, Spec{Engine: EngineKafka}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := manager.Start(ctx, Spec{Engine: EngineKafka}); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	cancel()
	<-ended
}

func TestPulsarTopicIsCreatedByAnyBrokerThatAnswers(t *testing.T) {
	var asked []string
	broker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.Path)
		if len(asked) == 1 {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.Error(w, "it exists", http.StatusConflict)
	}))
	defer broker.Close()
	spec, err := Spec{Topic: "orders", Partitions: 4}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	client := &pulsarClient{spec: spec, http: []string{"http://127.0.0.1:1", broker.URL}}
	for range 2 { // the second time it exists
		if err := client.prepare(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if len(asked) != 2 || asked[0] != "PUT /admin/v2/persistent/public/default/orders/partitions" {
		t.Errorf("asked %v", asked)
	}
	client.http = client.http[:1]
	if err := client.prepare(t.Context()); err == nil || !strings.Contains(err.Error(), "persistent://public/default/orders") {
		t.Errorf("no broker: %v", err)
	}
}
