package broker_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/interbroker"
	"twinlog/engine/trace"
)

func TestProduceAndConsume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 2, 3, nil)
		client := c.client()
		for i := range 10 {
			offset, err := produce(client, "orders", int32(i%2), fmt.Sprint(i))
			if err != nil || offset != int64(i/2) {
				t.Fatalf("record %d: offset %d, %v", i, offset, err)
			}
		}
		if got := c.consume("orders", 1, 5); !slices.Equal(got, []string{"1", "3", "5", "7", "9"}) {
			t.Errorf("partition 1 holds %q", got)
		}
		c.eventually("every follower has appended all of both partitions", func() bool {
			ends := map[string]int64{}
			for _, e := range events[trace.KafkaAppended](c) {
				if e.Role == "follower" {
					ends[e.String()] = max(ends[e.String()], e.LEO)
				}
			}
			return ends["orders-0"] == 5 && ends["orders-1"] == 5
		})
	})
}

// The central promise: what was acknowledged with acks=all survives any one broker.
func TestLeaderCrashLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, map[string]string{"min.insync.replicas": "2"})
		client := c.client()
		if _, err := produce(client, "orders", 0, "first"); err != nil { // in peace: see chaos
			t.Fatal(err)
		}
		acknowledged := make(chan int, 10_000)
		stop := make(chan struct{})
		var producing sync.WaitGroup
		producing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
				client.Produce(context.Background(), &kgo.Record{Topic: "orders", Value: []byte(fmt.Sprint(i))}, func(_ *kgo.Record, err error) {
					if err != nil {
						t.Errorf("record %d: %v", i, err)
						return
					}
					acknowledged <- i
				})
			}
		})
		for range 3 {
			time.Sleep(2 * time.Second)
			leader, _ := c.leader("orders", 0)
			c.kill(leader)
			c.eventually("another broker leads", func() bool { l, _ := c.leader("orders", 0); return l > 0 && l != leader })
			c.await(c.start(leader))
			c.eventually("all replicas are in sync again", func() bool { _, isr := c.leader("orders", 0); return len(isr) == 3 })
		}
		close(stop)
		producing.Wait()
		if err := client.Flush(context.Background()); err != nil {
			t.Fatal(err)
		}
		close(acknowledged)
		count := len(acknowledged)
		got := map[string]int{}
		for _, value := range c.consume("orders", 0, count+1) {
			got[value]++
		}
		for i := range acknowledged {
			if n := got[fmt.Sprint(i)]; n != 1 {
				t.Errorf("record %d, which was acknowledged, is there %d times", i, n)
			}
		}
	})
}

// A follower that does not fetch leaves the ISR after the lag time, and comes back when it has caught up.
func TestISRShrinksAndExpands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, map[string]string{"min.insync.replicas": "3"})
		client := c.client()
		if _, err := produce(client, "orders", 0, "first"); err != nil {
			t.Fatal(err)
		}
		leader, _ := c.leader("orders", 0)
		question := kmsg.NewPtrMetadataRequest()
		question.Version = 1
		controller := c.ask(leader, question).(*kmsg.MetadataResponse)
		var lagging int32 = 1
		for lagging == leader || lagging == controller.ControllerID { // whom the leader must be able to ask
			lagging++
		}
		cut := func(rule fabric.Link) {
			c.fabric.SetLink(interbroker.NodeName(lagging), interbroker.NodeName(leader), rule)
		}
		began := time.Now()
		cut(fabric.Link{Cut: true})
		time.Sleep(time.Second) // a fetch that was under way has ended
		// A follower that has all there is never lags, however long it is silent.
		if _, err := produce(c.client(kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite()), "orders", 0, "second"); err != nil {
			t.Fatal(err)
		}
		c.eventually("the leader knows that the follower left the ISR", func() bool { return len(events[trace.KafkaISRChanged](c)) == 1 })
		if took := time.Since(began); took < 29*time.Second || took > 46*time.Second {
			t.Errorf("it took %v; the lag time is 30 s and the check comes every 15 s", took)
		}
		wantError(t, "two replicas where three are demanded", c.produceRaw(leader, produceRequest(9, -1, batchOf(1, "refused"))).ErrorCode, kerr.NotEnoughReplicas)
		cut(fabric.Link{})
		c.eventually("the follower is back", func() bool { _, isr := c.leader("orders", 0); return len(isr) == 3 })
		if _, err := produce(client, "orders", 0, "last"); err != nil {
			t.Error(err)
		}
		changes := events[trace.KafkaISRChanged](c)
		if len(changes) != 2 || !slices.Equal(changes[0].Removed, []int32{lagging}) || !slices.Equal(changes[1].Added, []int32{lagging}) {
			t.Errorf("the trace tells of %+v", changes)
		}
		for _, role := range events[trace.KafkaReplicaRoleChanged](c) {
			if role.LeaderEpoch > 0 {
				t.Errorf("an ISR change must not begin a leader epoch: %+v", role)
			}
		}
	})
}

// Two leaders' writes: the one that nobody knew about any more is cut away, and the log is the new leader's.
func TestOldLeaderTruncates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, map[string]string{"replica.lag.time.max.ms": "600000"})
		c.createTopic("orders", 1, 3, nil)
		client := c.client()
		if _, err := produce(client, "orders", 0, "kept"); err != nil {
			t.Fatal(err)
		}
		old, _ := c.leader("orders", 0)
		for id := range c.nodes { // the others no longer fetch from it, and it does not know
			if id != old {
				c.fabric.SetLink(interbroker.NodeName(id), interbroker.NodeName(old), fabric.Link{Cut: true})
			}
		}
		time.Sleep(2 * time.Second) // fetches that were under way have ended
		eager := c.client(kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
		for _, value := range []string{"lost 1", "lost 2", "lost 3"} {
			if _, err := produce(eager, "orders", 0, value); err != nil {
				t.Fatal(err)
			}
		}
		c.kill(old)
		for id := range c.nodes {
			c.fabric.SetLink(interbroker.NodeName(id), interbroker.NodeName(old), fabric.Link{})
		}
		c.eventually("another broker leads", func() bool { l, _ := c.leader("orders", 0); return l > 0 && l != old })
		if _, err := produce(client, "orders", 0, "after"); err != nil {
			t.Fatal(err)
		}
		c.await(c.start(old))
		c.eventually("all replicas are in sync again", func() bool { _, isr := c.leader("orders", 0); return len(isr) == 3 })
		truncated := events[trace.KafkaTruncated](c)
		if len(truncated) != 1 || truncated[0].From != 4 || truncated[0].To != 1 {
			t.Errorf("the trace tells of %+v, not of one cut from 4 to 1", truncated)
		}
		for id := range c.nodes { // whoever leads, the log is the same
			if id == old {
				continue
			}
			c.kill(id)
			break
		}
		c.eventually("there is a leader", func() bool { l, _ := c.leader("orders", 0); return l > 0 })
		if got := c.consume("orders", 0, 2); !slices.Equal(got, []string{"kept", "after"}) {
			t.Errorf("the log holds %q", got)
		}
	})
}

// An orderly stop moves leadership first, and everything is read back after the whole cluster was down.
func TestStopAndStartAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 3, 3, nil)
		client := c.client()
		for i := range 30 {
			if _, err := produce(client, "orders", int32(i%3), fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		c.stop(1)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("an orderly stop took %v", took)
		}
		for partition := range int32(3) {
			c.eventually("another broker leads the partition", func() bool { leader, _ := c.leader("orders", partition); return leader > 1 })
		}
		c.kill(2)
		c.kill(3)
		for id := range int32(3) {
			c.start(id + 1)
		}
		for _, node := range c.nodes {
			c.await(node)
		}
		for partition := range int32(3) {
			if got := c.consume("orders", partition, 10); len(got) != 10 {
				t.Errorf("partition %d holds %q", partition, got)
			}
		}
	})
}
