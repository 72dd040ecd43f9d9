package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"

	"twinlog/engine/media"
	"twinlog/engine/pulsar/broker"
)

// What pulsar-admin topics offload and offload-status ask, and the namespace's policies.
func TestOffload(t *testing.T) {
	medium := media.NewMemory()
	c := newClusterOf(t, func(config *broker.Config) {
		config.Medium = medium
		config.LedgerEntries, config.LedgerRollover, config.MaintenanceEvery = 10, -1, 100*time.Millisecond
	})
	client := c.client()
	producer, err := client.CreateProducer(pulsar.ProducerOptions{Topic: "archive", DisableBatching: true})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c.expect("PUT", topics+"/archive/subscription/audit", `"earliest"`, 204, "")
	for range 25 {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte("message")}); err != nil {
			t.Fatal(err)
		}
	}
	c.expect("GET", topics+"/archive/offload", "", 200, `{"status":"NOT_RUN","lastError":""}`)
	c.expect("PUT", topics+"/archive/offload", "", 400, "messageId is null")
	c.expect("PUT", topics+"/archive/offload", `{"ledgerId":100000,"entryId":0}`, 412, "invalid position")
	c.expect("PUT", topics+"/nope/offload", `{"ledgerId":1,"entryId":0}`, 404, "Topic not found")
	var internal struct {
		Ledgers []struct {
			ID        int64 `json:"ledgerId"`
			Offloaded bool  `json:"offloaded"`
		} `json:"ledgers"`
	}
	ledgers := func() int {
		if err := json.Unmarshal([]byte(c.expect("GET", topics+"/archive/internalStats", "", 200, "")), &internal); err != nil {
			t.Fatal(err)
		}
		return len(internal.Ledgers)
	}
	c.until("three ledgers", func() bool { return ledgers() == 3 })
	current := internal.Ledgers[2].ID
	c.expect("PUT", topics+"/archive/offload", fmt.Sprintf(`{"ledgerId":%d,"entryId":0,"partitionIndex":-1}`, internal.Ledgers[1].ID), 204, "")
	c.until("an offload that has ended", func() bool {
		_, answer := c.do("GET", topics+"/archive/offload", "")
		return strings.Contains(answer, `"status":"SUCCESS"`)
	})
	c.expect("GET", topics+"/archive/offload", "", 200, fmt.Sprintf(`"firstUnoffloadedMessage":{"ledgerId":%d,"entryId":0,`, internal.Ledgers[1].ID))
	if ledgers(); !internal.Ledgers[0].Offloaded || internal.Ledgers[1].Offloaded {
		t.Errorf("offloaded are %+v", internal.Ledgers)
	}
	namespace := "/admin/v2/namespaces/public/default"
	c.expect("PUT", namespace+"/offloadThreshold", "0", 204, "")
	c.expect("GET", namespace+"/offloadThreshold", "", 200, "0")
	c.expect("PUT", namespace+"/offloadDeletionLagMs", "3600000", 204, "")
	c.until("the policy offloads the other one", func() bool { ledgers(); return internal.Ledgers[1].Offloaded })
	if internal.Ledgers[2].ID != current || internal.Ledgers[2].Offloaded {
		t.Errorf("the current ledger %d is said to be %+v", current, internal.Ledgers[2])
	}
	c.expect("DELETE", namespace+"/offloadThreshold", "", 204, "")
	c.expect("GET", namespace+"/offloadThreshold", "", 204, "")
	c.expect("GET", "/admin/v2/brokers/configuration/runtime", "", 200, `"managedLedgerOffloadDriver":"filesystem"`)
}
