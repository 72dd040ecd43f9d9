package visualizer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
	"twinlog/visualizer/wire"
)

func (c *classroom) Crash(_ context.Context, node string) error {
	return c.change(node, cluster.StateKilled, trace.NodeStopped{Reason: "killed"}, cluster.StateRunning, cluster.StatePaused)
}

func (c *classroom) Disks() (rules []cluster.DiskRule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for node, fault := range c.disks {
		rules = append(rules, cluster.DiskRule{Node: node, Fault: fault})
	}
	return rules
}

func (c *classroom) knows(node string) error {
	for _, status := range c.Nodes() {
		if status.Name == node {
			return nil
		}
	}
	return sentence.Error(cluster.ErrUnknownNode, "test", `there is no node "{node}"`, node)
}

func (c *classroom) SetDisk(_ context.Context, node string, fault disk.Fault) error {
	if err := c.knows(node); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.disks == nil {
		c.disks = map[string]disk.Fault{}
	}
	c.disks[node] = fault
	if fault == (disk.Fault{}) {
		delete(c.disks, node)
	}
	return nil
}

func (c *classroom) Files(_ context.Context, node string) ([]cluster.StoredFile, error) {
	c.mu.Lock()
	own, has := c.files[node]
	c.mu.Unlock()
	if has {
		return own, nil
	}
	return []cluster.StoredFile{
		{Name: "orders-0/00000000000000000012.log", Bytes: 100}, {Name: "orders-0/00000000000000000012.index", Bytes: 8},
		{Name: "orders-1/00000000000000000000.log", Bytes: 50},
	}, c.knows(node)
}

func (c *classroom) Corrupt(_ context.Context, corruption cluster.Corruption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.corrupted = corruption
	return nil
}

func (c *classroom) Add(_ context.Context, role string) (cluster.NodeStatus, error) {
	if role != "kafka" {
		return cluster.NodeStatus{}, sentence.Error(cluster.ErrInvalid, "test", `there is no role "{role}"`, role)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	node := cluster.NodeStatus{Name: "kafka-5", Role: role, ID: 5, State: cluster.StateRunning}
	c.nodes = append(c.nodes, node)
	c.tracers[node.Name] = trace.NewTracer("run", node.Name, 1000)
	return node, nil
}

func (c *classroom) Remove(_ context.Context, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.nodes {
		if c.nodes[i].Name == node {
			c.nodes = append(c.nodes[:i], c.nodes[i+1:]...)
			return nil
		}
	}
	return cluster.ErrUnknownNode
}

func TestDisks(t *testing.T) {
	room := newClassroom()
	_, url := serving(t, Config{Control: room})
	status, _, body := ask(t, "PUT", url+"/api/v1/disks/kafka-2", `{"delayMS":20,"full":true}`)
	if got := decode[wire.Disk](t, body); status != 200 || got != (wire.Disk{Node: "kafka-2", DelayMS: 20, Full: true}) {
		t.Errorf("%d %s", status, body)
	}
	if _, _, body := ask(t, "GET", url+"/api/v1/disks", ""); len(decode[wire.Disks](t, body).Disks) != 4 || !strings.Contains(body, `"delayMS":20`) {
		t.Errorf("%s", body)
	}
	status, _, body = ask(t, "GET", url+"/api/v1/disks/kafka-2", "")
	if got := decode[wire.DiskFiles](t, body); status != 200 || !got.Disk.Full || len(got.Files) != 3 {
		t.Errorf("%d %s", status, body)
	}
	for body, want := range map[string]cluster.Corruption{
		``: {Node: "kafka-2", File: "orders-0/00000000000000000012.log", Offset: 50},
		`{"topic":"orders","partition":1,"bit":3}`:                {Node: "kafka-2", File: "orders-1/00000000000000000000.log", Offset: 25, Bit: 3},
		`{"file":"orders-0/00000000000000000012.log","offset":0}`: {Node: "kafka-2", File: "orders-0/00000000000000000012.log"},
	} {
		status, _, answer := ask(t, "POST", url+"/api/v1/disks/kafka-2/corrupt", body)
		if got := decode[cluster.Corruption](t, answer); status != 200 || got != want || room.corrupted != want {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	for _, refused := range []struct {
		method, path, body string
		status             int
		code               string
	}{
		{"PUT", "kafka-2", `{"delayMS":-1}`, 400, "badRequest"},
		{"PUT", "kafka-2", `{"delayMS":60001}`, 400, "badRequest"},
		{"PUT", "kafka-2", `{"slow":true}`, 400, "badRequest"},
		{"PUT", "moon-1", `{"full":true}`, 404, "unknownNode"},
		{"GET", "moon-1", "", 404, "unknownNode"},
		{"POST", "moon-1/corrupt", "", 404, "unknownNode"},
		{"POST", "kafka-2/corrupt", `{"file":"../../etc/passwd"}`, 400, "badRequest"},
		{"POST", "kafka-2/corrupt", `{"topic":"payments"}`, 400, "badRequest"},
	} {
		status, _, body := ask(t, refused.method, url+"/api/v1/disks/"+refused.path, refused.body)
		mustRefuse(t, status, body, refused.status, refused.code)
	}
}

func TestNodesAreAddedAndRemoved(t *testing.T) {
	room := newClassroom()
	room.serve()
	server, url := serving(t, Config{Control: room})
	status, _, body := ask(t, "POST", url+"/api/v1/nodes", `{"role":"kafka"}`)
	if node := decode[cluster.NodeStatus](t, body); status != 201 || node.Name != "kafka-5" || node.Addresses == nil {
		t.Errorf("%d %s", status, body)
	}
	status, _, body = ask(t, "POST", url+"/api/v1/nodes", `{"role":"teapot"}`)
	mustRefuse(t, status, body, 400, "badRequest")
	// A broker with replicas is not removed without force.
	room.tracers["kafka-2"].Emit(trace.KafkaTopicCreated{Topic: "orders", Replicas: [][]int32{{5, 2}}})
	mustSoon(t, func() bool {
		state, _, err := server.Hub().Observe(t.Context())
		return err == nil && state.Kafka.Topics["orders"] != nil
	})
	status, _, body = ask(t, "DELETE", url+"/api/v1/nodes/kafka-5", "")
	mustRefuse(t, status, body, 409, "holdsData")
	status, _, body = ask(t, "DELETE", url+"/api/v1/nodes/kafka-5?force=maybe", "")
	mustRefuse(t, status, body, 400, "badRequest")
	if status, _, body = ask(t, "DELETE", url+"/api/v1/nodes/kafka-5?force=true", ""); status != 200 || len(room.Nodes()) != 4 {
		t.Errorf("%d %s", status, body)
	}
	status, _, body = ask(t, "DELETE", url+"/api/v1/nodes/kafka-5", "")
	mustRefuse(t, status, body, 404, "unknownNode")
}

func TestHealPutsEverythingRight(t *testing.T) {
	room := newClassroom()
	room.serve()
	_, url := serving(t, Config{Control: room})
	ask(t, "PUT", url+"/api/v1/links", `{"from":"kafka-2","to":"kafka-3","cut":true}`)
	ask(t, "PUT", url+"/api/v1/disks/kafka-2", `{"full":true}`)
	ask(t, "POST", url+"/api/v1/nodes/kafka-2/crash", "")
	ask(t, "POST", url+"/api/v1/nodes/kafka-3/pause", "")
	status, _, body := ask(t, "POST", url+"/api/v1/heal", "")
	healed := decode[wire.Healed](t, body)
	if status != 200 || len(healed.Links) != 1 || fmt.Sprint(healed.Disks, healed.Resumed, healed.Started, healed.Failed) != "[kafka-2] [kafka-3] [kafka-2] []" {
		t.Errorf("%d %s", status, body)
	}
	for _, node := range room.Nodes() {
		if node.State != cluster.StateRunning {
			t.Errorf("%+v", node)
		}
	}
}

// administrator is an Administration that only remembers what it was asked for.
type administrator struct{ asked []string }

var errNotThere = fmt.Errorf("no such topic: %w", administration.ErrNotFound)

func (a *administrator) note(format string, args ...any) {
	a.asked = append(a.asked, fmt.Sprintf(format, args...))
}

func (a *administrator) CreateKafkaTopic(_ context.Context, topic administration.KafkaTopic) (administration.KafkaTopic, error) {
	a.note("create %+v", topic)
	return topic, nil
}
func (a *administrator) DeleteKafkaTopic(_ context.Context, topic string) error {
	if topic == "missing" {
		return errNotThere
	}
	a.note("delete %s", topic)
	return nil
}
func (a *administrator) GrowKafkaTopic(_ context.Context, topic string, partitions int) error {
	a.note("grow %s %d", topic, partitions)
	return nil
}
func (a *administrator) ConfigureKafkaTopic(_ context.Context, topic string, configs map[string]string) error {
	a.note("configure %s %v", topic, configs)
	return nil
}
func (a *administrator) Reassignments(context.Context) ([]administration.MovingPartition, error) {
	return []administration.MovingPartition{{Topic: "orders"}}, nil
}
func (a *administrator) Reassign(_ context.Context, wanted administration.Reassignment) ([]administration.MovingPartition, error) {
	a.note("reassign %+v", wanted)
	return []administration.MovingPartition{}, nil
}
func (a *administrator) Elect(_ context.Context, wanted administration.Election) ([]administration.Elected, error) {
	if wanted.Type == "" {
		return nil, fmt.Errorf("no type: %w", administration.ErrInvalid)
	}
	a.note("elect %s %d %s", wanted.Topic, *wanted.Partition, wanted.Type)
	return []administration.Elected{}, nil
}
func (a *administrator) ResetOffsets(_ context.Context, group string, wanted administration.OffsetReset) ([]administration.CommittedOffset, error) {
	a.note("reset %s on %s to %s", group, wanted.Topic, wanted.To)
	return []administration.CommittedOffset{}, nil
}
func (a *administrator) ResetCursor(_ context.Context, wanted administration.CursorReset) error {
	a.note("reset %s on %s to %s", wanted.Subscription, wanted.Topic, wanted.To)
	return nil
}
func (a *administrator) OffloadTopic(_ context.Context, wanted administration.Offload) (administration.Offloaded, error) {
	a.note("offload %+v", wanted)
	return administration.Offloaded{}, nil
}
func (a *administrator) CreatePulsarTopic(_ context.Context, topic administration.PulsarTopic) (administration.PulsarTopic, error) {
	a.note("create pulsar %+v", topic)
	return topic, nil
}
func (a *administrator) DeletePulsarTopic(_ context.Context, topic string) error {
	a.note("delete pulsar %s", topic)
	return nil
}
func (a *administrator) UnloadBundle(_ context.Context, wanted administration.PulsarBundle, destination string) error {
	a.note("unload %s to %q", wanted.Bundle, destination)
	return nil
}
func (a *administrator) SplitBundle(_ context.Context, wanted administration.PulsarBundle) error {
	if wanted.Bundle == "busy" {
		return errors.Join(administration.ErrConflict)
	}
	a.note("split %s", wanted.Bundle)
	return nil
}

func TestAdministration(t *testing.T) {
	admin := &administrator{}
	room := newClassroom()
	room.serve()
	server, url := serving(t, Config{Control: room, Administration: admin})
	room.tracers["pulsar-4"].Emit(trace.PulsarBrokerRegistered{Broker: "127.0.0.1:8083", URL: "pulsar://127.0.0.1:6653"})
	mustSoon(t, func() bool {
		state, _, err := server.Hub().Observe(t.Context())
		return err == nil && state.Pulsar.Brokers["pulsar-4"] != nil
	})
	for _, step := range []struct {
		method, path, body string
		status             int
		want               string // what was asked for, or the code of the refusal
	}{
		{"POST", "kafka/topics", `{"name":"orders","partitions":3,"replicationFactor":2}`, 201, "create {Name:orders Partitions:3 ReplicationFactor:2 Configs:map[]}"},
		{"PUT", "kafka/topics/orders", `{"partitions":6}`, 200, "grow orders 6"},
		{"PUT", "kafka/topics/orders", `{"configs":{"retention.ms":"1000"}}`, 200, "configure orders map[retention.ms:1000]"},
		{"PUT", "kafka/topics/orders", `{}`, 400, "badRequest"},
		{"DELETE", "kafka/topics/orders", "", 200, "delete orders"},
		{"DELETE", "kafka/topics/missing", "", 404, "notFound"},
		{"POST", "kafka/reassignments", `{"topic":"orders","partition":1,"replicas":[4,2]}`, 202, "reassign {Topic:orders Partition:1 Replicas:[4 2] Balance:[] Cancel:false}"},
		{"POST", "kafka/elections", `{"topic":"orders","partition":0,"type":"preferred"}`, 200, "elect orders 0 preferred"},
		{"POST", "kafka/elections", `{}`, 400, "badRequest"},
		{"PUT", "kafka/groups/billing/offsets", `{"topic":"orders","to":"earliest"}`, 200, "reset billing on orders to earliest"},
		{"PUT", "pulsar/cursors", `{"topic":"orders","subscription":"audit","to":"latest"}`, 200, "reset audit on orders to latest"},
		{"POST", "pulsar/offloads", `{"topic":"orders","keep":10}`, 200, "offload {Topic:orders Keep:10}"},
		{"POST", "pulsar/topics", `{"name":"orders"}`, 201, "create pulsar {Name:orders Partitions:0}"},
		{"DELETE", "pulsar/topics?name=orders", "", 200, "delete pulsar orders"},
		{"POST", "pulsar/bundles/unload", `{"bundle":"0x00000000_0x40000000","destination":"pulsar-4"}`, 200, `unload 0x00000000_0x40000000 to "127.0.0.1:8083"`},
		{"POST", "pulsar/bundles/unload", `{"bundle":"0x00000000_0x40000000","destination":"kafka-2"}`, 404, "unknownNode"},
		{"POST", "pulsar/bundles/split", `{"bundle":"0x00000000_0x40000000"}`, 200, "split 0x00000000_0x40000000"},
		{"POST", "pulsar/bundles/split", `{"bundle":"busy"}`, 409, "conflict"},
		{"POST", "pulsar/bundles/paint", `{}`, 404, "notFound"},
		{"POST", "kafka/topics", `{"name":`, 400, "badRequest"},
		{"POST", "kafka/topics", `{"name":"` + strings.Repeat("x", 70_000) + `"}`, 413, "tooLarge"},
	} {
		admin.asked = nil
		status, _, body := ask(t, step.method, url+"/api/v1/"+step.path, step.body)
		if step.status >= 300 {
			mustRefuse(t, status, body, step.status, step.want)
			continue
		}
		if status != step.status || len(admin.asked) != 1 || admin.asked[0] != step.want {
			t.Errorf("%s %s: %d %s, asked %v", step.method, step.path, status, body, admin.asked)
		}
	}
	_, without := serving(t, Config{})
	status, _, body := ask(t, "GET", without+"/api/v1/kafka/reassignments", "")
	mustRefuse(t, status, body, 501, "notAvailable")
}
