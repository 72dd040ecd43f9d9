package visualizer

import (
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"twinlog/engine/trace"
	"twinlog/engine/world"
	"twinlog/visualizer/store"
	"twinlog/visualizer/wire"
)

// recordingRoom is a server that records its run, with the store it records into.
func recordingRoom(t *testing.T) (url string, room *classroom, server *Server) {
	t.Helper()
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
	room = newClassroom()
	server, url = serving(t, Config{Control: room, Recorder: recording, Runs: database, Run: "run-1"})
	return url + "/api/v1", room, server
}

// emit records so many events and waits until the hub has them.
func emit(t *testing.T, room *classroom, server *Server, count int) (lastN uint64) {
	t.Helper()
	_, before, err := server.Hub().Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range count {
		room.tracers["kafka-2"].Emit(trace.NodeStopped{Reason: "killed", Detail: strconv.Itoa(i)})
	}
	mustSoon(t, func() bool {
		_, lastN, err = server.Hub().Observe(t.Context())
		return err == nil && lastN >= before+uint64(count)
	})
	return lastN
}

func TestRunIsSavedNamedAndDeleted(t *testing.T) {
	url, room, server := recordingRoom(t)
	lastN := emit(t, room, server, 700)
	status, _, body := ask(t, "POST", url+"/runs", `{"title":" Controller election "}`)
	saved := decode[store.Run](t, body)
	if status != 201 || saved.Title != "Controller election" || saved.Origin != "saved" || saved.LastN < lastN || saved.FirstN != 1 || saved.EndedAt == nil {
		t.Fatalf("%d %s", status, body)
	}
	emit(t, room, server, 10) // the present run goes on, the saved one does not
	status, _, body = ask(t, "GET", url+"/runs", "")
	list := decode[store.RunList](t, body)
	if status != 200 || list.Present != "run-1" || len(list.Runs) != 2 || list.Runs[0].Name != saved.Name || list.Runs[0].LastN != saved.LastN {
		t.Fatalf("%d %s", status, body)
	}
	if status, _, body = ask(t, "PUT", url+"/runs/"+saved.Name, `{"title":"Wahl 选举"}`); status != 200 || decode[store.Run](t, body).Title != "Wahl 选举" {
		t.Errorf("%d %s", status, body)
	}
	for _, title := range []string{"", "  ", strings.Repeat("x", 81)} {
		status, _, body = ask(t, "POST", url+"/runs", `{"title":"`+title+`"}`)
		mustRefuse(t, status, body, 400, "badRequest")
	}
	status, _, body = ask(t, "DELETE", url+"/runs/run-1", "")
	mustRefuse(t, status, body, 409, "recording")
	if status, _, body = ask(t, "DELETE", url+"/runs/"+saved.Name, ""); status != 200 || len(decode[store.RunList](t, body).Runs) != 1 {
		t.Errorf("%d %s", status, body)
	}
	for _, gone := range [][2]string{{"DELETE", ""}, {"PUT", ""}, {"GET", "/events"}, {"GET", "/state"}, {"GET", "/file"}} {
		status, _, body = ask(t, gone[0], url+"/runs/"+saved.Name+gone[1], `{"title":"x"}`)
		mustRefuse(t, status, body, 404, "unknownRun")
	}
}

func TestRunTravelsAsAFile(t *testing.T) {
	url, room, server := recordingRoom(t)
	lastN := emit(t, room, server, 1100)
	status, header, file := ask(t, "GET", url+"/runs/run-1/file", "")
	if status != 200 || !strings.Contains(header.Get("Content-Disposition"), `filename="run-1.twinlog.gz"`) {
		t.Fatalf("%d %v", status, header)
	}
	other, _, _ := recordingRoom(t)
	status, _, body := ask(t, "POST", other+"/runs/file", file)
	opened := decode[store.Run](t, body)
	if status != 201 || opened.Origin != "imported" || opened.Title != "run-1" || opened.FirstN != 1 || opened.LastN < lastN {
		t.Fatalf("%d %s", status, body)
	}
	const half = "/events?after=600&limit=10000"
	_, _, here := ask(t, "GET", url+"/runs/run-1"+half, "")
	_, _, there := ask(t, "GET", other+"/runs/"+opened.Name+half, "")
	first, second := decode[wire.Events](t, here), decode[wire.Events](t, there)
	if len(first.Records) < 500 || len(second.Records) < 500 || first.Records[0].N != second.Records[0].N {
		t.Errorf("%d and %d records", len(first.Records), len(second.Records))
	}

	state := world.New()
	for _, record := range decode[wire.Events](t, must(ask(t, "GET", other+"/runs/"+opened.Name+"/events?limit=800", ""))).Records {
		state.Apply(record.Record)
	}
	want, err := json.Marshal(state)
	if err != nil {
		t.Fatal(err)
	}
	folded := decode[wire.ClusterState](t, must(ask(t, "GET", other+"/runs/"+opened.Name+"/state?n=800", "")))
	if folded.N != 800 || string(folded.State) != string(want) {
		t.Errorf("the state after %d is\n%s\nand not\n%s", folded.N, folded.State, want)
	}
	empty := decode[wire.ClusterState](t, must(ask(t, "GET", other+"/runs/"+opened.Name+"/state", "")))
	if empty.N != 0 {
		t.Errorf("before the first record is %d", empty.N)
	}
}

func TestARunWithTheLongestTitleComesBackFromItsFile(t *testing.T) {
	url, room, server := recordingRoom(t)
	emit(t, room, server, 10)
	for _, title := range []string{strings.Repeat("选举", 40), strings.Repeat("𠮷", 80)} {
		status, _, body := ask(t, "POST", url+"/runs", `{"title":"`+title+`"}`)
		if status != 201 {
			t.Fatalf("%d %s", status, body)
		}
		_, _, file := ask(t, "GET", url+"/runs/"+decode[store.Run](t, body).Name+"/file", "")
		if status, _, body = ask(t, "POST", url+"/runs/file", file); status != 201 || decode[store.Run](t, body).Title != title {
			t.Errorf("%d %s", status, body)
		}
	}
}

func TestRecordsOfARunAreSentInBoundedParts(t *testing.T) {
	url, room, server := recordingRoom(t)
	const count, size = 40, 1 << 19
	last := emit(t, room, server, 1)
	for range count {
		room.tracers["kafka-2"].Emit(trace.NodeStopped{Reason: "killed", Detail: strings.Repeat("x", size)})
	}
	last += count
	mustSoon(t, func() bool { _, n, err := server.Hub().Observe(t.Context()); return err == nil && n >= last })
	parts, n := 0, uint64(0)
	for {
		_, _, body := ask(t, "GET", url+"/runs/run-1/events?limit=10000&after="+strconv.FormatUint(n, 10), "")
		if len(body) > maxRunEventsBytes+2*size {
			t.Fatalf("an answer of %d bytes", len(body))
		}
		answer := decode[wire.Events](t, body)
		if len(answer.Records) == 0 {
			break
		}
		for _, record := range answer.Records {
			if n++; record.N != n {
				t.Fatalf("record %d stands where %d belongs", record.N, n)
			}
		}
		if parts++; answer.Window.LastN != n {
			t.Errorf("the answer ends at %d and says %d", n, answer.Window.LastN)
		}
	}
	if n < last || parts != 2 {
		t.Errorf("%d records of %d in %d parts", n, last, parts)
	}
}

func must(status int, _ http.Header, body string) string {
	if status != 200 {
		panic(errors.New(body))
	}
	return body
}

func TestBadFilesAreRefused(t *testing.T) {
	url, room, server := recordingRoom(t)
	emit(t, room, server, 50)
	_, _, file := ask(t, "GET", url+"/runs/run-1/file", "")
	for name, test := range map[string]struct{ body, says string }{
		"nothing":  {"", "no run recorded by twinlog"},
		"a page":   {"<!doctype html>", "no run recorded by twinlog"},
		"cut off":  {file[:len(file)-20], "damaged"},
		"followed": {file + file, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			status, _, body := ask(t, "POST", url+"/runs/file", test.body)
			mustRefuse(t, status, body, 422, "badFile")
			if !strings.Contains(body, test.says) {
				t.Errorf("%s does not say %q", body, test.says)
			}
		})
	}
	if list := decode[store.RunList](t, must(ask(t, "GET", url+"/runs", ""))); len(list.Runs) != 1 {
		t.Errorf("a refused file left %v", list.Runs)
	}
}
