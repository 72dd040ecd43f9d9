package visualizer

import (
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/trace"
	"twinlog/engine/workload"
	"twinlog/engine/world"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

func TestReadyWaitsForEveryNodeOnce(t *testing.T) {
	room := newClassroom()
	_, url := serving(t, Config{Control: room})
	status, _, body := ask(t, "GET", url+"/api/v1/ready", "")
	if ready := decode[wire.Ready](t, body); status != 503 || ready.Ready || len(ready.Waiting) != 4 {
		t.Errorf("before: %d %s", status, body)
	}
	room.serve()
	status, _, body = ask(t, "GET", url+"/api/v1/ready", "")
	if ready := decode[wire.Ready](t, body); status != 200 || !ready.Ready {
		t.Errorf("after: %d %s", status, body)
	}
	ask(t, "POST", url+"/api/v1/nodes/kafka-2/kill", "")
	if status, _, body = ask(t, "GET", url+"/api/v1/ready", ""); status != 200 {
		t.Errorf("a node that was killed later makes the classroom not ready: %d %s", status, body)
	}
}

func TestNodeActions(t *testing.T) {
	room := newClassroom()
	room.serve()
	server, url := serving(t, Config{Control: room})
	for _, step := range []struct {
		node, action string
		status       int
		state        string // or the code of the refusal
	}{
		{"kafka-2", "kill", 200, "killed"},
		{"kafka-2", "kill", 409, "wrongState"},
		{"kafka-2", "start", 200, "running"},
		{"kafka-2", "pause", 200, "paused"},
		{"kafka-2", "resume", 200, "running"},
		{"kafka-2", "stop", 200, "stopped"},
		{"kafka-9", "kill", 404, "unknownNode"},
		{"kafka-2", "explode", 404, "notFound"},
	} {
		status, _, body := ask(t, "POST", url+"/api/v1/nodes/"+step.node+"/"+step.action, "")
		if step.status != 200 {
			mustRefuse(t, status, body, step.status, step.state)
			continue
		}
		if node := decode[cluster.NodeStatus](t, body); status != 200 || node.Name != step.node || node.State != step.state || node.Addresses == nil {
			t.Errorf("%s %s: %d %s", step.action, step.node, status, body)
		}
	}
	// What was done shows in the trace's state.
	mustSoon(t, func() bool {
		state, _, err := server.Hub().Observe(t.Context())
		return err == nil && state.Nodes["kafka-2"] != nil && state.Nodes["kafka-2"].State == "stopped"
	})
}

func TestClusterAndEventsFitTogether(t *testing.T) {
	room := newClassroom()
	server, url := serving(t, Config{Control: room})
	mustSoon(t, func() bool { _, n, err := server.Hub().Observe(t.Context()); return err == nil && n == 4 })
	_, _, body := ask(t, "GET", url+"/api/v1/cluster", "")
	answer := decode[struct {
		N     uint64
		State *world.State
	}](t, body)
	room.serve()
	mustSoon(t, func() bool { _, n, err := server.Hub().Observe(t.Context()); return err == nil && n == 8 })
	for answer.N < 8 {
		status, _, body := ask(t, "GET", url+"/api/v1/events?limit=3&after="+string(rune('0'+answer.N)), "")
		events := decode[wire.Events](t, body)
		if status != 200 || events.Window != (wire.Window{FirstN: 1, LastN: 8}) || len(events.Records) == 0 || len(events.Records) > 3 {
			t.Fatalf("%d %s", status, body)
		}
		for _, record := range events.Records {
			if record.N != answer.N+1 {
				t.Fatalf("record %d after %d", record.N, answer.N)
			}
			answer.N = record.N
			answer.State.Apply(record.Record)
		}
	}
	if state := answer.State.Nodes["pulsar-4"].State; state != "running" {
		t.Errorf("pulsar-4 is %s", state)
	}
	_, _, body = ask(t, "GET", url+"/api/v1/cluster?from=0", "")
	if begin := decode[wire.ClusterState](t, body); begin.N != 0 || !strings.Contains(string(begin.State), `"nodes":{}`) {
		t.Errorf("the beginning: %s", body)
	}
	if status, _, body := ask(t, "GET", url+"/api/v1/cluster?from=now", ""); status != 400 || !strings.Contains(body, "from is the number of a record") {
		t.Errorf("from=now: %d %s", status, body)
	}
	if _, _, body := ask(t, "GET", url+"/api/v1/events?after=8", ""); len(decode[wire.Events](t, body).Records) != 0 || !strings.Contains(body, `"records":[]`) {
		t.Errorf("at the end: %s", body)
	}
	for _, query := range []string{"after=-1", "after=x", "limit=0", "limit=10001", "limit=x"} {
		status, _, body := ask(t, "GET", url+"/api/v1/events?"+query, "")
		mustRefuse(t, status, body, 400, "badRequest")
	}
}

// TestNotableRecords: those that the story tells, up to the record that a page has.
func TestNotableRecords(t *testing.T) {
	room := newClassroom()
	server, url := serving(t, Config{Control: room})
	room.serve()
	mustSoon(t, func() bool { _, n, err := server.Hub().Observe(t.Context()); return err == nil && n == 8 })
	status, _, body := ask(t, "GET", url+"/api/v1/notable", "")
	answer := decode[wire.NotableRecords](t, body)
	if status != 200 || len(answer.Records) != 4 || answer.Records[0].Record.Kind != "node.ready" || answer.Records[3].Names.Role == "" {
		t.Errorf("%d %s", status, body)
	}
	last := strconv.FormatUint(answer.Records[2].Record.N, 10)
	if _, _, body := ask(t, "GET", url+"/api/v1/notable?upTo="+last, ""); len(decode[wire.NotableRecords](t, body).Records) != 3 {
		t.Errorf("up to %s: %s", last, body)
	}
	if _, _, body := ask(t, "GET", url+"/api/v1/notable?upTo=0", ""); strings.TrimSpace(body) != `{"records":[],"dropped":0}` {
		t.Errorf("up to 0: %s", body)
	}
	status, _, body = ask(t, "GET", url+"/api/v1/notable?upTo=x", "")
	mustRefuse(t, status, body, 400, "badRequest")
}

func TestLinks(t *testing.T) {
	_, url := serving(t, Config{})
	status, _, body := ask(t, "PUT", url+"/api/v1/links", `{"from":"kafka-2","to":"client","delayMS":50,"bytesPerSecond":1000}`)
	want := wire.Link{From: "kafka-2", To: "client", DelayMS: 50, BytesPerSecond: 1000}
	if links := decode[wire.Links](t, body).Links; status != 200 || len(links) != 1 || links[0] != want {
		t.Errorf("%d %s", status, body)
	}
	status, _, body = ask(t, "PUT", url+"/api/v1/links", `{"from":"kafka-2","to":"client"}`)
	if status != 200 || strings.TrimSpace(body) != `{"links":[]}` {
		t.Errorf("healed: %d %s", status, body)
	}
	for text, code := range map[string]string{
		`{"from":"kafka-2","to":"kafka-2","cut":true}`:      "badRequest",
		`{"from":"kafka-2","to":"kafka-3","delayMS":-1}`:    "badRequest",
		`{"from":"kafka-2","to":"kafka-3","delayMS":60001}`: "badRequest",
		`{"from":"kafka-2","to":"moon","cut":true}`:         "unknownNode",
		`{"form":"kafka-2"}`:                                "badRequest",
		`{"from":`:                                          "badRequest",
		`[1]`:                                               "badRequest",
		`{"from":"` + strings.Repeat("x", 70_000) + `"}`:    "tooLarge",
	} {
		want := map[string]int{"badRequest": 400, "unknownNode": 404, "tooLarge": 413}[code]
		status, _, body := ask(t, "PUT", url+"/api/v1/links", text)
		mustRefuse(t, status, body, want, code)
	}
}

func TestWorkloads(t *testing.T) {
	_, url := serving(t, Config{Workloads: &workloads{}})
	if _, _, body := ask(t, "GET", url+"/api/v1/workloads", ""); strings.TrimSpace(body) != `{"workloads":[]}` {
		t.Errorf("none: %s", body)
	}
	status, _, body := ask(t, "POST", url+"/api/v1/workloads", "")
	if status != 201 || decode[workload.Status](t, body).ID != "1" {
		t.Errorf("%d %s", status, body)
	}
	status, _, body = ask(t, "POST", url+"/api/v1/workloads", `{"engine":"rabbit"}`)
	mustRefuse(t, status, body, 400, "badRequest")
	if status, _, body = ask(t, "DELETE", url+"/api/v1/workloads/1", ""); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	status, _, body = ask(t, "DELETE", url+"/api/v1/workloads/9", "")
	mustRefuse(t, status, body, 404, "unknownWorkload")
}

func TestPartsThatAreNotThereSaySo(t *testing.T) {
	_, url := serving(t, Config{})
	for _, path := range []string{"/workloads", "/labs", "/labs/01-first-messages", "/runs", "/runs/x/events"} {
		status, _, body := ask(t, "GET", url+"/api/v1"+path, "")
		mustRefuse(t, status, body, 501, "notAvailable")
	}
	status, _, body := ask(t, "GET", url+"/api/v1/nothing", "")
	mustRefuse(t, status, body, 404, "notFound")
	status, _, body = ask(t, "DELETE", url+"/api/v1/nodes", "")
	mustRefuse(t, status, body, 405, "methodNotAllowed")
}

func TestPageAndItsCaching(t *testing.T) {
	_, url := serving(t, Config{})
	status, header, body := ask(t, "GET", url+"/", "")
	if status != 200 || !strings.Contains(body, "<title>page</title>") || header.Get("Content-Type") != "text/html; charset=utf-8" ||
		header.Get("Cache-Control") != "private, no-cache" {
		t.Errorf("%d %v %s", status, header, body)
	}
	if !strings.Contains(header.Get("Content-Security-Policy"), "script-src 'self'") || header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", header)
	}
	if status, _, _ = ask(t, "GET", url+"/", "", "If-None-Match", header.Get("ETag")); status != http.StatusNotModified {
		t.Errorf("asked again: %d", status)
	}
	status, header, _ = ask(t, "GET", url+"/assets/app-1234.js", "")
	if status != 200 || !strings.Contains(header.Get("Cache-Control"), "immutable") || header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%d %v", status, header)
	}
	for _, path := range []string{"/nothing.js", "/../doc.go", "/assets"} {
		if status, _, body = ask(t, "GET", url+path, ""); status != 404 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	if status, _, body = ask(t, "POST", url+"/", ""); status != 405 {
		t.Errorf("POST /: %d %s", status, body)
	}
}

// mustSoon waits for a condition that another goroutine brings about.
func mustSoon(t *testing.T, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestRecordedRunIsReadBack(t *testing.T) {
	database, err := store.Open(filepath.Join(t.TempDir(), "twinlog.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Close(); err != nil {
			t.Error(err)
		}
	})
	recording, err := database.Record(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	room := newClassroom()
	t.Run("recorded", func(t *testing.T) { // the server's end writes the last chunk
		server, _ := serving(t, Config{Control: room, Recorder: recording})
		for range 1500 {
			room.tracers["kafka-2"].Emit(trace.NodeReady{})
		}
		mustSoon(t, func() bool { _, n, err := server.Hub().Observe(t.Context()); return err == nil && n == 1504 })
	})
	_, url := serving(t, Config{Runs: database})
	status, _, body := ask(t, "GET", url+"/api/v1/runs", "")
	if list := decode[store.RunList](t, body); status != 200 || len(list.Runs) != 1 || list.Runs[0].LastN != 1504 {
		t.Fatalf("%d %s", status, body)
	}
	n := uint64(100)
	for n < 1504 {
		status, _, body = ask(t, "GET", url+"/api/v1/runs/run-1/events?limit=700&after="+strconv.FormatUint(n, 10), "")
		events := decode[wire.Events](t, body)
		if status != 200 || len(events.Records) == 0 || len(events.Records) > 700 {
			t.Fatalf("after %d: %d, %d records", n, status, len(events.Records))
		}
		for _, record := range events.Records {
			if n++; record.N != n {
				t.Fatalf("record %d, want %d", record.N, n)
			}
		}
		if events.Window.LastN != n {
			t.Errorf("window %+v at %d", events.Window, n)
		}
	}
	if status, _, body = ask(t, "GET", url+"/api/v1/runs/run-1/events?after=1504", ""); status != 200 || !strings.Contains(body, `"records":[]`) {
		t.Errorf("at the end: %d %s", status, body)
	}
	status, _, body = ask(t, "GET", url+"/api/v1/runs/run-2/events", "")
	mustRefuse(t, status, body, 404, "unknownRun")
}
