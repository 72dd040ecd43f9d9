package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/situation"
	"twinlog/engine/workload"
	"twinlog/visualizer/wire"
)

// api asks a classroom's page.
type api struct {
	t    *testing.T
	base string
}

func (a api) ask(method, path, body string) (int, []byte) {
	a.t.Helper()
	request, err := http.NewRequest(method, a.base+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	response, err := client.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return response.StatusCode, text
}

// must does what has to succeed.
func must[T any](a api, method, path, body string) (answer T) {
	a.t.Helper()
	status, text := a.ask(method, path, body)
	if status >= 300 {
		a.t.Fatalf("%s %s %s: %d %s", method, path, body, status, text)
	}
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&answer); err != nil {
		a.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	return answer
}

func (a api) soon(what string, holds func() bool) {
	a.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.t.Fatalf("still waiting until %s", what)
		}
	}
}

// TestAClassroomIsTurnedOverUnderLoad adds brokers, moves all partitions and bundles to them, and takes old brokers away, while producers
// and consumers go on. Nothing that was acknowledged is lost.
func TestAClassroomIsTurnedOverUnderLoad(t *testing.T) {
	options := freeOptions(t)
	options.data = t.TempDir()
	_, stop := start(t, options)
	a := api{t, fmt.Sprintf("http://127.0.0.1:%d/api/v1/", cluster.PortPage+options.layout.PortOffset)}
	const messages = 2000
	must[workload.Status](a, "POST", "workloads", fmt.Sprintf(`{"messagesPerSecond":400,"maxMessages":%d,"consumers":2,"keys":20,"subscriptionType":"Key_Shared"}`, messages))
	sides := func() []workload.Counts { return must[wire.Workloads](a, "GET", "workloads", "").Workloads[0].Sides }
	a.soon("both sides deliver", func() bool {
		now := sides()
		return now[0].Consumed > 0 && now[1].Consumed > 0
	})
	for _, role := range []string{"kafka", "pulsar", "bookie", "ensemble"} {
		must[cluster.NodeStatus](a, "POST", "nodes", fmt.Sprintf(`{"role":%q}`, role))
	}
	// Kafka-mode: everything moves off broker 1, which then goes.
	if status, text := a.ask("DELETE", "nodes/kafka-1", ""); status != http.StatusConflict || !strings.Contains(string(text), "holdsData") {
		t.Errorf("a broker with replicas was removed: %d %s", status, text)
	}
	must[wire.Reassignments](a, "POST", "kafka/reassignments", `{"balance":[2,3,4]}`)
	a.soon("no partition is being moved", func() bool {
		return len(must[wire.Reassignments](a, "GET", "kafka/reassignments", "").Reassignments) == 0
	})
	must[wire.Elections](a, "POST", "kafka/elections", `{"type":"preferred"}`)
	a.soon("broker 1 has nothing any more, and goes", func() bool {
		status, _ := a.ask("DELETE", "nodes/kafka-1", "")
		return status == http.StatusOK
	})
	// Pulsar-mode: every bundle is split, and all go to the new broker.
	must[wire.Done](a, "POST", "pulsar/bundles/split", `{"bundle":"0x40000000_0x80000000"}`)
	for _, bundle := range []string{"0x00000000_0x40000000", "0x40000000_0x60000000", "0x60000000_0x80000000", "0x80000000_0xc0000000", "0xc0000000_0xffffffff"} {
		must[wire.Done](a, "POST", "pulsar/bundles/unload", fmt.Sprintf(`{"bundle":%q,"destination":"pulsar-3"}`, bundle))
	}
	type world struct {
		State struct {
			Pulsar struct {
				Topics map[string]struct{ Owner string }
			}
		}
	}
	a.soon("the new broker serves every partition of the topic", func() bool {
		served := 0
		for name, topic := range must[world](a, "GET", "cluster", "").State.Pulsar.Topics {
			if strings.Contains(name, "/demo-partition-") && topic.Owner == "pulsar-3" {
				served++
			}
		}
		return served == 3
	})
	must[cluster.NodeStatus](a, "DELETE", "nodes/pulsar-1", "")
	must[cluster.NodeStatus](a, "DELETE", "nodes/ensemble-1", "")
	a.soon("everything is delivered", func() bool {
		for _, side := range sides() {
			if side.State != workload.StateFinished || side.Lag > 0 {
				return false
			}
		}
		return true
	})
	for _, side := range sides() {
		if side.Acknowledged != messages || side.Failed != 0 || side.Consumed-side.Duplicates != messages {
			t.Errorf("%+v", side)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	// The classroom remembers who is there.
	_, stop = start(t, options)
	names := ""
	for _, node := range must[wire.Nodes](a, "GET", "nodes", "").Nodes {
		names += node.Name + " "
	}
	if want := "ensemble-2 ensemble-3 ensemble-4 kafka-2 kafka-3 kafka-4 pulsar-2 pulsar-3 bookie-1 bookie-2 bookie-3 bookie-4 bookie-5 "; names != want {
		t.Errorf("after a restart: %s", names)
	}
	if moving := must[wire.Reassignments](a, "GET", "kafka/reassignments", ""); len(moving.Reassignments) != 0 {
		t.Errorf("%+v", []administration.MovingPartition(moving.Reassignments))
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}

// TestSituationsPlay plays situations through the API; what each is famous for is tested where they are written, in engine/situation.
func TestSituationsPlay(t *testing.T) {
	options := freeOptions(t)
	_, stop := start(t, options)
	a := api{t, fmt.Sprintf("http://127.0.0.1:%d/api/v1/", cluster.PortPage+options.layout.PortOffset)}
	last := func() situation.Run { return *must[wire.Situations](a, "GET", "situations", "").Run }
	for _, id := range []string{"split-vote", "dead-bookie"} {
		must[situation.Run](a, "POST", "situations/"+id, "")
		a.soon(id+" has ended", func() bool { return last().State != situation.StateRunning })
		run := last()
		if run.State != situation.StateDone || strings.Contains(run.Message.EN+run.Message.ZH, "{") {
			t.Fatalf("%+v", run)
		}
		for _, step := range run.Steps {
			if step.State != situation.StateDone || strings.Contains(step.Text.EN+step.Text.ZH, "{") {
				t.Errorf("%s: %+v", id, step)
			}
		}
	}
	// One that is cancelled puts right what it has done, and another one may not begin meanwhile.
	must[situation.Run](a, "POST", "situations/follower-out-of-isr", "")
	if status, text := a.ask("POST", "situations/split-vote", ""); status != http.StatusConflict {
		t.Errorf("two at the same time: %d %s", status, text)
	}
	a.soon("a link is cut", func() bool { return len(must[wire.Links](a, "GET", "links", "").Links) > 0 })
	if run := must[situation.Run](a, "DELETE", "situations", ""); run.State != situation.StateCancelled {
		t.Errorf("%+v", run)
	}
	if links := must[wire.Links](a, "GET", "links", "").Links; len(links) > 0 {
		t.Errorf("left cut: %+v", links)
	}
	if left := must[wire.Workloads](a, "GET", "workloads", "").Workloads; len(left) > 0 {
		t.Errorf("left running: %+v", left)
	}
	for _, refused := range []struct {
		method, path string
		status       int
	}{{"DELETE", "situations", 409}, {"POST", "situations/peace", 404}} {
		if status, text := a.ask(refused.method, refused.path, ""); status != refused.status {
			t.Errorf("%s %s: %d %s", refused.method, refused.path, status, text)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
}
