package admin_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
)

func TestTopics(t *testing.T) {
	c := newCluster(t)
	c.expect("PUT", topics+"/plain", "null", 204, "")
	c.expect("PUT", topics+"/plain", "null", 409, "already exists")
	c.expect("PUT", topics+"/plain/partitions", "3", 409, "already exists")
	c.expect("PUT", topics+"/many/partitions", "0", 400, "Number of partitions")
	c.expect("PUT", topics+"/many/partitions", "3", 204, "")
	c.expect("PUT", topics+"/many/partitions", "3", 409, "already exists")
	c.expect("GET", topics+"/many/partitions", "", 200, `"partitions":3`)
	c.expect("GET", topics+"/plain/partitions", "", 200, `"partitions":0`)
	c.expect("POST", topics+"/many/partitions", "2", 412, "more than")
	c.expect("POST", topics+"/many/partitions", "5", 204, "")
	c.expect("PUT", topics+"/a%2Fb%20c", "", 204, "")
	c.expect("GET", topics, "", 200, `"persistent://public/default/a/b c"`)
	c.expect("GET", topics, "", 200, `"persistent://public/default/many-partition-4"`)
	c.expect("GET", topics+"/partitioned", "", 200, `["persistent://public/default/many"]`)
	c.expect("GET", "/admin/v2/namespaces/public/default/topics?mode=ALL", "", 200, "plain")
	c.expect("GET", "/admin/v2/namespaces/public/nowhere/topics", "", 404, "Namespace does not exist")
	c.expect("GET", topics+"/nope/stats", "", 404, "Topic not found")
	c.expect("GET", topics+"/many/partitioned-stats?perPartition=true", "", 200, `"persistent://public/default/many-partition-4":{`)
	c.expect("DELETE", topics+"/many", "", 412, "partitioned topic")
	c.expect("DELETE", topics+"/many/partitions", "", 204, "")
	c.expect("GET", topics+"/many/partitions", "", 200, `"partitions":0`)
	c.expect("DELETE", topics+"/plain", "", 204, "")
	c.expect("DELETE", topics+"/plain", "", 404, "Topic not found")
}

// A partitioned topic that is deleted under its producers stays deleted.
func TestDeletedPartitionsStayDeleted(t *testing.T) {
	c := newCluster(t)
	c.expect("PUT", topics+"/gone/partitions", "4", 204, "")
	client := c.client()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: "gone", SendTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for range 8 {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte("m")}); err != nil {
			t.Fatal(err)
		}
	}
	c.expect("DELETE", topics+"/gone/partitions", "", 412, "active producers")
	c.expect("DELETE", topics+"/gone/partitions?force=true", "", 204, "")
	c.expect("GET", topics+"/gone/partitions", "", 200, `"partitions":0`)
	if _, answer := c.do("GET", topics, ""); strings.Contains(answer, "gone") {
		t.Errorf("partitions came back: %s", answer)
	}
	c.expect("PUT", topics+"/gone/partitions", "2", 204, "")
}

func TestSubscriptions(t *testing.T) {
	c := newCluster(t)
	client := c.client()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: "subs", DisableBatching: true})
	if err != nil {
		t.Fatal(err)
	}
	c.expect("PUT", topics+"/subs/subscription/audit", "", 204, "")
	c.expect("PUT", topics+"/subs/subscription/audit", "", 409, "already exists")
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for i := range 10 {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: fmt.Appendf(nil, "m%d", i), Properties: map[string]string{"n": fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	backlog := func(want int) {
		t.Helper()
		c.expect("GET", topics+"/subs/stats", "", 200, fmt.Sprintf(`"msgBacklog":%d,`, want))
	}
	c.expect("GET", topics+"/subs/subscriptions", "", 200, `["audit"]`)
	backlog(10)
	c.expect("GET", topics+"/subs/subscription/audit/position/2", "", 200, "m1")
	c.expect("GET", topics+"/subs/subscription/audit/position/99", "", 404, "Message not found")
	c.expect("POST", topics+"/subs/subscription/audit/skip/3", "", 204, "")
	backlog(7)
	c.expect("POST", topics+"/subs/subscription/audit/skip_all", "", 204, "")
	backlog(0)
	c.expect("POST", topics+"/subs/subscription/audit/resetcursor/0", "", 204, "")
	backlog(10)
	last := c.expect("GET", topics+"/subs/lastMessageId", "", 200, `"entryId":9`)
	c.expect("POST", topics+"/subs/subscription/audit/resetcursor", last, 204, "")
	backlog(1)
	c.expect("POST", topics+"/subs/subscription/nobody/skip_all", "", 404, "not found")
	c.expect("DELETE", topics+"/subs", "", 412, "active producers/subscriptions")
	c.expect("DELETE", topics+"/subs/subscription/audit", "", 204, "")
	c.expect("DELETE", topics+"/subs/subscription/audit", "", 404, "not found")
	c.expect("POST", topics+"/subs/terminate", "", 200, `"entryId":9`)
	if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte("late")}); err == nil {
		t.Error("a terminated topic took a message")
	}
	c.expect("GET", topics+"/subs/internalStats", "", 200, `"state":"Terminated"`)
	c.expect("DELETE", topics+"/subs?force=true", "", 204, "")
}
