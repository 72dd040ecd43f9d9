package broker_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/interbroker"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/trace"
)

// Brokers crash, freeze, lose links and find damage on their disks at random while a client produces with acks=all. In the end every acknowledged record is there once,
// and the three logs are the same, byte for byte. KAFKA_CHAOS_SEED=100 runs the eight seeds from 100 on.
func TestChaos(t *testing.T) {
	first, _ := strconv.ParseUint(os.Getenv("KAFKA_CHAOS_SEED"), 10, 64)
	for seed := first; seed < first+8; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, rand.New(rand.NewPCG(seed, 7))) })
		})
	}
}

func chaos(t *testing.T, random *rand.Rand) {
	c := newCluster(t, 3, map[string]string{"replica.lag.time.max.ms": "5000"})
	c.createTopic("orders", 1, 3, map[string]string{"min.insync.replicas": "2"})
	client := c.client()
	// The client gets its producer id under a mutex, and a bubble's time stands still while somebody waits for one: it gets it in peace.
	if _, err := produce(client, "orders", 0, "first"); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var producing sync.WaitGroup
	producing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			value := fmt.Sprint(i)
			client.Produce(context.Background(), &kgo.Record{Topic: "orders", Value: []byte(value)}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Errorf("record %s: %v", value, err)
					return
				}
				mu.Lock()
				acknowledged[value] = true
				mu.Unlock()
			})
		}
	})
	for range 12 {
		c.disturb(random)
	}
	close(stop)
	producing.Wait()
	if err := client.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.eventually("all replicas are in sync", func() bool { _, isr := c.leader("orders", 0); return len(isr) == 3 })

	logs := map[int32][]byte{}
	c.eventually("all logs are of the same length", func() bool {
		for id := range c.nodes {
			logs[id] = c.wholeLog(id)
		}
		return len(logs[1]) == len(logs[2]) && len(logs[2]) == len(logs[3])
	})
	if !bytes.Equal(logs[1], logs[2]) || !bytes.Equal(logs[2], logs[3]) {
		t.Error("the replicas' logs are not the same")
	}
	times := map[string]int{}
	records.Each(logs[1], func(_ records.Header, batch []byte) error {
		return records.EachRecord(batch, func(r records.Record) bool { times[string(r.Value)]++; return true })
	})
	for value := range acknowledged {
		if times[value] != 1 {
			t.Errorf("record %s, which was acknowledged, is there %d times", value, times[value])
		}
	}
	if len(acknowledged) < 100 {
		t.Errorf("only %d records were acknowledged", len(acknowledged))
	}
	c.checkHighWatermarks()
}

// A broker that was frozen for longer than its session is another one when it thaws: it registers anew, learns that it no longer leads,
// and what it took meanwhile from a client that still believed in it is cut away.
func TestFrozenLeaderIsFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, nil)
		client := c.client()
		if _, err := produce(client, "orders", 0, "before"); err != nil {
			t.Fatal(err)
		}
		old, _ := c.leader("orders", 0)
		node := c.nodes[old]
		epochBefore := events[trace.KafkaBrokerRegistered](c)
		node.view.Freeze()
		node.faults.Freeze()
		delete(c.nodes, old) // it answers nobody
		c.eventually("another broker leads", func() bool { l, _ := c.leader("orders", 0); return l > 0 && l != old })
		if _, err := produce(client, "orders", 0, "meanwhile"); err != nil {
			t.Fatal(err)
		}
		node.view.Thaw()
		node.faults.Thaw()
		c.nodes[old] = node
		c.eventually("all three are in sync", func() bool { l, isr := c.leader("orders", 0); return l != old && len(isr) == 3 })
		if after := events[trace.KafkaBrokerRegistered](c); len(after) != len(epochBefore)+1 {
			t.Errorf("registrations: %d before, %d after", len(epochBefore), len(after))
		}
		wantError(t, "the old leader", c.produceRaw(old, produceRequest(9, 1, batchOf(1, "x"))).ErrorCode, kerr.NotLeaderForPartition)
		if got := c.consume("orders", 0, 2); got[0] != "before" || got[1] != "meanwhile" {
			t.Errorf("the log holds %q", got)
		}
	})
}

// disturb does one thing to the cluster and undoes it.
func (c *cluster) disturb(random *rand.Rand) {
	id := random.Int32N(3) + 1
	length := time.Duration(random.IntN(15_000)) * time.Millisecond
	switch random.IntN(5) {
	case 0:
		c.kill(id)
		time.Sleep(length)
		c.await(c.start(id))
	case 1:
		node := c.nodes[id]
		node.view.Freeze()
		node.faults.Freeze()
		time.Sleep(length)
		node.faults.Thaw()
		node.view.Thaw()
	case 2:
		other := id%3 + 1
		c.fabric.SetLink(interbroker.NodeName(id), interbroker.NodeName(other), fabric.Link{Cut: true})
		time.Sleep(length)
		c.fabric.SetLink(interbroker.NodeName(id), interbroker.NodeName(other), fabric.Link{})
	case 3:
		c.stop(id)
		time.Sleep(length / 4)
		c.await(c.start(id))
	case 4: // what nobody else had would be lost
		c.eventually("all replicas are in sync", func() bool { _, isr := c.leader("orders", 0); return len(isr) == 3 })
		c.spoil(id, orders)
		c.kill(id)
		c.await(c.start(id))
	}
	time.Sleep(time.Duration(random.IntN(4000)) * time.Millisecond)
}

// wholeLog reads a broker's replica of orders-0 up to its high watermark, whatever its role.
func (c *cluster) wholeLog(id int32) (log []byte) {
	for offset := int64(0); ; {
		part := c.fetchRaw(id, fetchRequest(11, offset))
		if part.ErrorCode != 0 || len(part.RecordBatches) == 0 {
			return log
		}
		records.Each(part.RecordBatches, func(h records.Header, batch []byte) error {
			log = append(log, batch...)
			offset = h.LastOffset() + 1
			return nil
		})
	}
}

// checkHighWatermarks: within one life of a leader in one epoch the high watermark only grows.
func (c *cluster) checkHighWatermarks() {
	c.t.Helper()
	events[trace.KafkaAppended](c) // collects
	last := map[string]int64{}
	for _, record := range c.records {
		switch e := record.Data.(type) {
		case trace.KafkaReplicaRoleChanged:
			delete(last, record.Node)
		case trace.KafkaHighWatermarkAdvanced:
			if e.Role == "leader" && e.HighWatermark < last[record.Node] {
				c.t.Errorf("%s: the leader's high watermark went from %d to %d", record.Node, last[record.Node], e.HighWatermark)
			}
			last[record.Node] = e.HighWatermark
		}
	}
}
