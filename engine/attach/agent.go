package attach

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// streamBatch is how many records an agent writes before it looks up.
const streamBatch = 512

// AgentConfig is what an agent serves.
type AgentConfig struct {
	Slot     *cluster.Slot
	Fabric   *fabric.Fabric
	Run      string
	Listener net.Listener // Run closes it
}

// Agent serves one node to the process with the page.
type Agent struct {
	config  AgentConfig
	history *history
	ready   chan struct{}
}

// NewAgent returns an agent that serves when it runs.
func NewAgent(config AgentConfig) *Agent {
	return &Agent{config: config, history: newHistory(), ready: make(chan struct{})}
}

// Ready is closed when the agent answers.
func (a *Agent) Ready() <-chan struct{} { return a.ready }

// Run serves until the context ends, and passes on what the node recorded until then.
func (a *Agent) Run(ctx context.Context) error {
	serving, stop := context.WithCancel(context.Background())
	defer stop()
	server := &http.Server{
		Handler: a.routes(), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return serving },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(a.config.Listener) }()
	close(a.ready)

	ticker := time.NewTicker(gatherInterval)
	defer ticker.Stop()
	var records []trace.Record
	gather := func() {
		records = a.config.Slot.Tracer().Drain(records[:0])
		a.history.add(records)
		clear(records)
	}
	for {
		select {
		case <-ticker.C:
			gather()
			continue
		case err := <-served:
			return err
		case <-ctx.Done():
		}
		break
	}
	gather()
	stop() // the streams write what is left and end
	leaving, cancel := context.WithTimeout(context.Background(), beat)
	defer cancel()
	err := server.Shutdown(leaving)
	if err != nil {
		err = server.Close()
	}
	<-served
	return err
}

func (a *Agent) routes() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, a.report()) })
	routes.HandleFunc("GET /trace", a.streamTrace)
	routes.HandleFunc("PUT /link", a.setLink)
	a.routeDisk(routes)
	routes.HandleFunc("POST /look", a.look)
	slot := a.config.Slot
	for action, do := range map[string]func(context.Context) error{
		"kill": slot.Kill, "stop": slot.Stop, "start": slot.Start, "pause": slot.Pause, "resume": slot.Resume,
		"crash": slot.Crash,
	} {
		routes.HandleFunc("POST /"+action, func(w http.ResponseWriter, r *http.Request) {
			if err := do(r.Context()); err != nil {
				refuse(w, err)
				return
			}
			answer(w, http.StatusOK, a.report())
		})
	}
	return routes
}

func (a *Agent) report() Report {
	report := Report{Run: a.config.Run, Node: a.config.Slot.Status(), Links: []LinkRule{}, Disk: diskRuleOf(a.config.Slot.Fault())}
	for _, rule := range a.config.Fabric.Links() {
		report.Links = append(report.Links, ruleOf(rule.From, rule.To, rule.Link))
	}
	return report
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who asked has gone
}

const codeInvalid = "badRequest"

// kinds are the errors that a Remote tells apart.
var kinds = []struct {
	err    error
	code   string
	status int
}{
	{cluster.ErrWrongState, "wrongState", http.StatusConflict},
	{cluster.ErrRefused, "refused", http.StatusConflict},
	{cluster.ErrInvalid, codeInvalid, http.StatusBadRequest},
	{cluster.ErrGone, "gone", http.StatusGone},
	{cluster.ErrNotThere, "notFound", http.StatusNotFound},
}

func refuse(w http.ResponseWriter, err error) {
	status, problem := http.StatusInternalServerError, Problem{Code: "failed", Message: err.Error()}
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			status, problem.Code = kind.status, kind.code
			break
		}
	}
	if said, ok := sentence.In(err); ok {
		problem.Sentence = &said
	}
	answer(w, status, problem)
}

// setLink applies a rule. Of the two processes that get the same rule, the one with the sender records it.
func (a *Agent) setLink(w http.ResponseWriter, r *http.Request) {
	var rule LinkRule
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&rule); err != nil {
		answer(w, http.StatusBadRequest, Problem{Code: "badRequest", Message: err.Error()})
		return
	}
	name := a.config.Slot.Name()
	if rule.From != name && rule.To != name || rule.From == rule.To {
		answer(w, http.StatusBadRequest, Problem{Code: "badRequest", Message: "the link " + rule.From + " to " + rule.To + " does not touch " + name})
		return
	}
	if err := a.config.Fabric.SetLink(rule.From, rule.To, rule.link()); err != nil {
		answer(w, http.StatusBadRequest, Problem{Code: "badRequest", Message: err.Error()})
		return
	}
	if rule.From == name || rule.From == fabric.Client {
		a.config.Slot.Tracer().Emit(cluster.LinkEvent(rule.From, rule.To, rule.link()))
	}
	w.WriteHeader(http.StatusNoContent)
}

// streamTrace writes lines until the client goes or the agent ends.
func (a *Agent) streamTrace(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.URL.Query().Get("after"), 10, 64)
	if err != nil || r.URL.Query().Get("run") != a.config.Run {
		after = 0
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	flush := http.NewResponseController(w).Flush
	encoder := json.NewEncoder(w)
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	told := Report{}
	due := true
	for {
		if report := a.report(); due || !reflect.DeepEqual(report, told) {
			if encoder.Encode(Line{Report: &report}) != nil {
				return
			}
			told, due = report, false
		}
		ending := r.Context().Err() != nil
		records, changed := a.history.after(after, streamBatch)
		for i := range records {
			if encoder.Encode(Line{Record: &records[i]}) != nil {
				return
			}
			after = records[i].Seq
		}
		if flush() != nil {
			return
		}
		if len(records) > 0 {
			continue
		}
		if ending {
			return
		}
		select {
		case <-changed:
		case <-ticker.C:
			due = true
		case <-r.Context().Done():
		}
	}
}
