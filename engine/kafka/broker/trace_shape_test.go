package broker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/trace"
)

// What the page draws of a log and of a refused record: segments, leader epochs, and why a producer was told no.
func TestTraceOfSegmentsEpochsAndRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, map[string]string{"segment.bytes": "1024", "min.insync.replicas": "3"})
		client := c.client()
		for range 8 {
			if _, err := produce(client, "orders", 0, string(make([]byte, 400))); err != nil {
				t.Fatal(err)
			}
		}
		shapes := events[trace.KafkaLogShapeChanged](c)
		last := shapes[len(shapes)-1]
		if last.SegmentCount < 2 || len(last.Segments) != last.SegmentCount || last.Segments[0].Base != 0 || last.Segments[1].Base <= 0 || len(last.Epochs) == 0 {
			t.Errorf("the log's shape is told as %+v", last)
		}
		leader, _ := c.leader("orders", 0)
		follower := leader%3 + 1
		c.kill(follower)
		time.Sleep(time.Minute) // longer than replica.lag.time.max.ms
		if _, err := produce(client, "orders", 0, "refused"); err == nil {
			t.Fatal("a record is taken with two of three replicas in sync")
		}
		refused := events[trace.KafkaProduceRefused](c)
		if len(refused) == 0 {
			t.Fatal("the refusal is not told")
		}
		e := refused[len(refused)-1]
		if e.Error != kerr.NotEnoughReplicas.Message || e.ISR != 2 || e.MinISR != 3 || e.Acks != -1 || e.Partition != 0 || e.Appended {
			t.Errorf("the refusal is told as %+v", e)
		}
	})
}
