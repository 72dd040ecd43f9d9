package broker_test

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/trace"
)

// TestADamagedBatchIsNeverServed turns a bit over in the leader's file, behind the back of a running broker that wrote the file itself. No
// consumer and no follower gets the batch, both are told; what lies before and after it is served; the trace names the place, once.
func TestADamagedBatchIsNeverServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2, nil)
		c.createTopic("orders", 1, 2, nil)
		leader, _ := c.leader("orders", 0)
		follower := 3 - leader
		c.stop(follower)
		c.eventually("the leader is alone", func() bool { _, isr := c.leader("orders", 0); return len(isr) == 1 })
		var sizes []int64
		for i := range 5 {
			batch := batchOf(1000+int64(i), fmt.Sprintf("value %d", i))
			sizes = append(sizes, int64(len(batch)))
			wantError(t, "produce", c.produceRaw(leader, produceRequest(9, -1, batch)).ErrorCode, nil)
		}
		const file = "orders-0/00000000000000000000.log"
		position := sizes[0] + sizes[1]
		flip := func(at int64) {
			if err := c.nodes[leader].faults.FlipBit(file, position+at, 3); err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []int64{0, 7, 8, 11, 16, 17, 22, 26, 34, 42, 60, records.HeaderSize, sizes[2] - 1} {
			flip(at)
			c.checkRefusal(leader, follower, position, fmt.Sprintf("byte %d of the batch", at))
			flip(at)
		}
		if part := c.fetchRaw(leader, fetchRequest(11, 2)); part.ErrorCode != 0 || int64(len(part.RecordBatches)) != sizes[2]+sizes[3]+sizes[4] {
			t.Errorf("healed, and still: %d bytes, %v", len(part.RecordBatches), kerr.ErrorForCode(part.ErrorCode))
		}
		flip(sizes[2] - 1)
		found := events[trace.DamageFound](c)
		if len(found) != 1 || found[0].File != file || found[0].Position != position || found[0].Reason == "" {
			t.Errorf("the trace tells of %+v, not once of %s at %d", found, file, position)
		}
		// A follower gets what lies before the damage, and waits there.
		c.await(c.start(follower))
		c.eventually("the follower has what is whole", func() bool {
			for _, event := range events[trace.KafkaAppended](c) {
				if event.Role == "follower" && event.LEO == 2 {
					return true
				}
			}
			return false
		})
		for _, event := range events[trace.KafkaAppended](c) {
			if event.Role == "follower" && event.LEO > 2 {
				t.Errorf("the follower took damaged records: %+v", event)
			}
		}
	})
}

// checkRefusal fetches around the third batch, which is damaged, as consumers of all ages and as a follower.
func (c *cluster) checkRefusal(leader, follower int32, position int64, what string) {
	c.t.Helper()
	for _, version := range []int16{4, 11, 12} {
		for _, minBytes := range []int32{0, 1, 100} {
			request := fetchRequest(version, 2)
			request.MinBytes, request.MaxWaitMillis = minBytes, 100
			part := c.fetchRaw(leader, request)
			wantError(c.t, what, part.ErrorCode, kerr.CorruptMessage)
			if len(part.RecordBatches) > 0 {
				c.t.Errorf("%s: %d bytes were served", what, len(part.RecordBatches))
			}
		}
		request := fetchRequest(version, 2)
		request.ReplicaID = follower
		part := c.fetchRaw(leader, request)
		wantError(c.t, what+", a follower", part.ErrorCode, kerr.CorruptMessage)
	}
	before, after := c.fetchRaw(leader, fetchRequest(11, 0)), c.fetchRaw(leader, fetchRequest(11, 3))
	if before.ErrorCode != 0 || int64(len(before.RecordBatches)) != position || !bytes.Contains(before.RecordBatches, []byte("value 1")) {
		c.t.Errorf("%s: before it: %v, %d bytes", what, kerr.ErrorForCode(before.ErrorCode), len(before.RecordBatches))
	}
	if after.ErrorCode == 0 && !bytes.Contains(after.RecordBatches, []byte("value 4")) {
		c.t.Errorf("%s: after it: %d bytes", what, len(after.RecordBatches))
	}
	wantError(c.t, what+", by time", c.listOffset(leader, 7, 1002).ErrorCode, kerr.CorruptMessage)
}
