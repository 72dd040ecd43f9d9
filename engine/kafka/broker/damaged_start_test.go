package broker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/disk"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/trace"
)

// synced makes all that is appended durable at once: what is damaged then is no torn tail, and nothing cuts it quietly.
var synced = map[string]string{"log.flush.interval.messages": "1"}

const firstSegment = "/00000000000000000000.log"

// fill produces twenty records with acks=all.
func (c *cluster) fill(topic string, partition int32) (values []string) {
	c.t.Helper()
	client := c.client()
	for i := range 20 {
		value := fmt.Sprintf("%s %d", topic, i)
		if _, err := produce(client, topic, partition, value); err != nil {
			c.t.Fatal(err)
		}
		values = append(values, value)
	}
	return values
}

// spoil turns a bit over in a record in the middle of a partition's log.
func (c *cluster) spoil(id int32, name trace.KafkaPartition) {
	c.t.Helper()
	node := c.nodes[id]
	file, err := node.faults.OpenFile(name.String()+firstSegment, os.O_RDONLY)
	if err != nil {
		c.t.Fatal(err)
	}
	defer file.Close()
	if err := node.faults.FlipBit(name.String()+firstSegment, c.middle(file)-1, 3); err != nil {
		c.t.Fatal(err)
	}
}

// middle is where a batch ends in the middle of a log.
func (c *cluster) middle(file disk.File) (end int64) {
	c.t.Helper()
	size, err := file.Size()
	if err != nil {
		c.t.Fatal(err)
	}
	bytes := make([]byte, size)
	if _, err := file.ReadAt(bytes, 0); err != nil {
		c.t.Fatal(err)
	}
	records.Each(bytes, func(_ records.Header, batch []byte) error {
		if end < size/2 {
			end += int64(len(batch))
		}
		return nil
	})
	return end
}

// sameLogs waits until all brokers are in the ISR with the same bytes, which are so many records or more. What it compares ends at the high
// watermarks, and a new leader learns its own from the followers' fetches.
func (c *cluster) sameLogs(atLeast int) (count int) {
	c.t.Helper()
	c.eventually("all replicas are in sync", func() bool {
		leader, isr := c.leader("orders", 0)
		return leader > 0 && len(isr) == len(c.nodes)
	})
	c.eventually("all logs hold the same", func() bool {
		first := c.wholeLog(1)
		for id := range c.nodes {
			if !bytes.Equal(c.wholeLog(id), first) {
				return false
			}
		}
		count = 0
		records.Each(first, func(h records.Header, _ []byte) error { count += int(h.Count); return nil })
		return count >= atLeast
	})
	return count
}

// damageTold checks that the trace names the damaged file, once.
func (c *cluster) damageTold(name trace.KafkaPartition) {
	c.t.Helper()
	found := events[trace.DamageFound](c)
	if len(found) != 1 || found[0].File != name.String()+firstSegment || found[0].Position <= 0 || found[0].Reason == "" {
		c.t.Errorf("the trace tells of %+v, not once of %s", found, name)
	}
}

// courses lists what was done about damaged replicas.
func (c *cluster) courses() (list []string) {
	for _, event := range events[trace.KafkaReplicaDamaged](c) {
		list = append(list, event.Course)
	}
	return list
}

var orders = trace.KafkaPartition{Topic: "orders"}

// A broker is killed whose disk holds damage. It comes up, and the damaged replica fetches from its leader what it cannot read, whether the
// cluster noticed that it was away or not.
func TestABrokerStartsWithADamagedLog(t *testing.T) {
	for name, away := range map[string]time.Duration{"away for long": 20 * time.Second, "back at once": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, 3, synced)
				c.createTopic("orders", 1, 3, nil)
				c.fill("orders", 0)
				leader, _ := c.leader("orders", 0)
				c.spoil(leader, orders)
				c.kill(leader)
				time.Sleep(away)
				c.await(c.start(leader))
				if count := c.sameLogs(20); count != 20 {
					t.Errorf("%d records are left of 20", count)
				}
				c.damageTold(orders)
				if courses := c.courses(); !slices.Contains(courses, "beginsAnew") {
					t.Errorf("the trace tells of %v", courses)
				}
				for id := range c.nodes { // whoever leads has it all
					if id != leader {
						c.kill(id)
					}
				}
				c.eventually("it leads alone", func() bool { now, _ := c.leader("orders", 0); return now == leader })
				if got := c.consume("orders", 0, 20); got[19] != "orders 19" {
					t.Errorf("it serves %q", got)
				}
			})
		})
	}
}

// Nobody else has what is damaged: the partition is offline, with an error that says why, and the rest of the broker serves. The topic can
// be deleted.
func TestADamagedLogThatNobodyElseHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, synced)
		c.createTopic("orders", 1, 1, nil)
		c.createTopic("other", 2, 1, nil)
		c.fill("orders", 0)
		id, _ := c.leader("orders", 0)
		beside := int32(0) // a partition that the same broker leads
		if leader, _ := c.leader("other", 0); leader != id {
			beside = 1
		}
		c.fill("other", beside)
		c.spoil(id, orders)
		c.kill(id)
		c.await(c.start(id))
		c.eventually("the partition has no leader", func() bool {
			return c.produceRaw(id, produceRequest(9, 1, batchOf(1, "x"))).ErrorCode == kerr.KafkaStorageError.Code
		})
		wantError(t, "fetch", c.fetchRaw(id, fetchRequest(11, 0)).ErrorCode, kerr.KafkaStorageError)
		if leader, _ := c.leader("orders", 0); leader != -1 {
			t.Errorf("broker %d leads it", leader)
		}
		if got := c.consume("other", beside, 20); got[0] != "other 0" {
			t.Errorf("beside it: %q", got)
		}
		c.damageTold(orders)
		if courses := c.courses(); !slices.Equal(courses, []string{"stepsAside"}) {
			t.Errorf("the trace tells of %v", courses)
		}
		response, err := kadm.NewClient(c.client()).DeleteTopic(context.Background(), "orders")
		if err != nil || response.Err != nil {
			t.Fatal(err, response.Err)
		}
		c.eventually("its files are gone", func() bool { _, err := c.nodes[id].faults.Stat(orders.String()); return err != nil })
		c.createTopic("orders", 1, 1, nil)
		if got := c.fill("orders", 0); len(got) != 20 {
			t.Error(got)
		}
	})
}

// A broker that runs finds damage in a log that it leads: another member of the ISR takes over, consumers get everything from it, and the
// damaged replica fetches what it cannot read.
func TestALeaderWithDamageStepsAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, synced)
		c.createTopic("orders", 1, 3, nil)
		want := c.fill("orders", 0)
		leader, _ := c.leader("orders", 0)
		c.spoil(leader, orders)
		if got := c.consume("orders", 0, 20); !slices.Equal(got, want) {
			t.Errorf("consumed %q", got)
		}
		c.eventually("another broker leads", func() bool { now, _ := c.leader("orders", 0); return now > 0 && now != leader })
		if count := c.sameLogs(20); count != 20 {
			t.Errorf("%d records are left of 20", count)
		}
		c.damageTold(orders)
		if courses := c.courses(); !slices.Equal(courses, []string{"stepsAside", "beginsAnew"}) {
			t.Errorf("the trace tells of %v", courses)
		}
		if truncated := events[trace.KafkaTruncated](c); len(truncated) != 1 || truncated[0].From != 20 || truncated[0].To <= 0 {
			t.Errorf("the trace tells of %+v, not of one cut in the middle", truncated)
		}
	})
}

// The end of a log was never synced, is damaged, and is cut when the broker starts, as a torn tail is. Nobody noticed that the broker was
// away: the controller was on it. It leads, by the znode, and lacks committed records: it must not lead.
func TestALogThatLostItsEndDoesNotLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, nil)
		c.createTopic("more", 3, 3, nil)
		c.fill("orders", 0)
		want := c.fill("more", 0)
		leader, _ := c.leader("orders", 0)
		c.moveController(leader)
		c.spoil(leader, orders)
		c.kill(leader)
		c.await(c.start(leader))
		if count := c.sameLogs(20); count != 20 {
			t.Errorf("%d records are left of 20", count)
		}
		if got := c.consume("more", 0, 20); !slices.Equal(got, want) {
			t.Errorf("another partition holds %q", got)
		}
		c.damageTold(orders)
	})
}

// A machine crashed, and what its broker had not synced is gone: its log ends with a whole batch, earlier than before. Nobody noticed that
// the broker was away: the controller was on it. It must not lead, and nothing that was acknowledged is lost.
func TestALogThatEndsEarlierDoesNotLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, nil)
		c.fill("orders", 0)
		leader, _ := c.leader("orders", 0)
		c.moveController(leader)
		c.kill(leader)
		file, err := c.disks[leader].OpenFile(orders.String()+firstSegment, os.O_RDWR)
		if err == nil {
			err = errors.Join(file.Truncate(c.middle(file)), file.Close(), c.disks[leader].Remove("replication-offset-checkpoint"))
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		c.await(c.start(leader))
		if count := c.sameLogs(20); count != 20 {
			t.Errorf("%d records are left of 20", count)
		}
	})
}

// moveController lets other brokers leave and come back until this one is the controller.
func (c *cluster) moveController(id int32) {
	c.t.Helper()
	for {
		question := kmsg.NewPtrMetadataRequest()
		question.Version = 1
		controller := c.ask(id, question).(*kmsg.MetadataResponse).ControllerID
		if controller == id {
			return
		}
		if controller > 0 {
			c.stop(controller)
			c.await(c.start(controller))
		}
		time.Sleep(time.Second)
	}
}

// All members of an ISR lost the end of their logs at once, as in a power cut: each asks the others to lead, and the last one serves what is
// there. The partition does not stay offline.
func TestAllLogsLostTheirEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, nil)
		c.createTopic("orders", 1, 3, nil)
		c.fill("orders", 0)
		for id := range int32(3) {
			c.spoil(id+1, orders)
		}
		for id := range int32(3) {
			c.kill(id + 1)
		}
		for id := range int32(3) {
			c.start(id + 1)
		}
		for id := range int32(3) {
			c.await(c.nodes[id+1])
		}
		if count := c.sameLogs(1); count >= 20 {
			t.Errorf("%d records are left of 20", count)
		}
		if _, err := produce(c.client(), "orders", 0, "goes on"); err != nil {
			t.Error(err)
		}
	})
}

// The groups' own topic is a topic like others: committed offsets survive damage on their coordinator's disk.
func TestOffsetsSurviveADamagedCoordinator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3, map[string]string{"log.flush.interval.messages": "1", "offsets.topic.num.partitions": "1"})
		c.createTopic("orders", 1, 3, nil)
		c.fill("orders", 0)
		admin := kadm.NewClient(c.client())
		for at := range int64(20) {
			var offsets kadm.Offsets
			offsets.AddOffset("orders", 0, at, -1)
			c.eventually("the offset is committed", func() bool { return admin.CommitAllOffsets(context.Background(), "readers", offsets) == nil })
		}
		name := trace.KafkaPartition{Topic: "__consumer_offsets"}
		coordinator, _ := c.leader(name.Topic, 0)
		c.spoil(coordinator, name)
		c.kill(coordinator)
		c.await(c.start(coordinator))
		c.eventually("the offset is told", func() bool {
			offsets, err := admin.FetchOffsets(context.Background(), "readers")
			at, known := offsets.Lookup("orders", 0)
			return err == nil && known && at.Err == nil && at.At == 19
		})
		c.eventually("the replica is back", func() bool { _, isr := c.leader(name.Topic, 0); return len(isr) == 3 })
		c.damageTold(name)
	})
}
