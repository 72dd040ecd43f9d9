package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/gossip"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// maxWaiting bounds the records of all nodes that wait for Drain; further ones wait in the agents.
const maxWaiting = 100_000

// ErrLost: the process with the node cannot be reached.
var ErrLost = errors.New("the node's process cannot be reached")

// Members tells which processes there are: a [gossip.Gossip].
type Members interface {
	Processes() []gossip.Process
	Changed() <-chan struct{}
}

// RemoteConfig is what a Remote needs.
type RemoteConfig struct {
	Members Members
	Logger  *slog.Logger // nil discards
}

// Remote is all nodes whose processes were found. It implements [cluster.Control].
type Remote struct {
	members Members
	logger  *slog.Logger
	client  *http.Client
	ready   chan struct{}

	mu      sync.Mutex
	agents  map[string]*agent // by node name
	records []trace.Record    // wait for Drain
	room    chan struct{}     // closed and replaced when Drain made room
}

var _ cluster.Control = (*Remote)(nil)

// NewRemote returns a Remote that finds the nodes when it runs.
func NewRemote(config RemoteConfig) *Remote {
	r := &Remote{
		members: config.Members, logger: config.Logger, agents: map[string]*agent{}, room: make(chan struct{}), ready: make(chan struct{}),
		// No proxy: the agents are on the containers' own network.
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: time.Minute}},
	}
	if r.logger == nil {
		r.logger = slog.New(slog.DiscardHandler)
	}
	return r
}

// Ready is closed once Run looks for nodes.
func (r *Remote) Ready() <-chan struct{} { return r.ready }

// Run follows the processes and their nodes until the context ends.
func (r *Remote) Run(ctx context.Context) error {
	var following sync.WaitGroup
	defer r.client.CloseIdleConnections()
	defer following.Wait()
	close(r.ready)
	for {
		changed := r.members.Changed()
		for _, process := range r.members.Processes() {
			if process.Control == "" {
				continue
			}
			a, isNew := r.agentOf(process)
			if isNew {
				following.Go(func() { a.follow(ctx) })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// agentOf notes where a process is. A process that moved, as a restarted container does, is followed to its new address.
func (r *Remote) agentOf(process gossip.Process) (a *agent, isNew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a = r.agents[process.Name]
	if a == nil {
		a = &agent{remote: r, name: process.Name, moved: make(chan struct{}), status: cluster.NodeStatus{
			Name: process.Name, Role: process.Role, ID: process.ID, State: cluster.StateStarting, Addresses: map[string]string{},
		}}
		r.agents[process.Name] = a
		isNew = true
	}
	if a.control != process.Control || a.process != process.Run {
		a.control, a.process = process.Control, process.Run
		close(a.moved)
		a.moved = make(chan struct{})
	}
	return a, isNew
}

// Nodes implements [cluster.Control].
func (r *Remote) Nodes() []cluster.NodeStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	nodes := make([]cluster.NodeStatus, 0, len(r.agents))
	for _, a := range r.agents {
		status := a.status
		status.Addresses = maps.Clone(status.Addresses)
		nodes = append(nodes, status)
	}
	slices.SortFunc(nodes, cluster.CompareNodes)
	return nodes
}

// Kill implements [cluster.Control].
func (r *Remote) Kill(ctx context.Context, node string) error { return r.order(ctx, node, "kill") }

// Stop implements [cluster.Control].
func (r *Remote) Stop(ctx context.Context, node string) error { return r.order(ctx, node, "stop") }

// Start implements [cluster.Control].
func (r *Remote) Start(ctx context.Context, node string) error { return r.order(ctx, node, "start") }

// Pause implements [cluster.Control].
func (r *Remote) Pause(ctx context.Context, node string) error { return r.order(ctx, node, "pause") }

// Resume implements [cluster.Control].
func (r *Remote) Resume(ctx context.Context, node string) error { return r.order(ctx, node, "resume") }

func (r *Remote) find(node string) (*agent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.agents[node]
	if a == nil {
		return nil, sentence.Error(cluster.ErrUnknownNode, "noNodeAmong", `there is no node "{node}"; nodes are {nodes}`, node, slices.Sorted(maps.Keys(r.agents)))
	}
	return a, nil
}

func (r *Remote) order(ctx context.Context, node, action string) error {
	a, err := r.find(node)
	if err != nil {
		return err
	}
	var report Report
	if err := a.call(ctx, http.MethodPost, "/"+action, nil, &report); err != nil {
		for _, kind := range kinds {
			if errors.Is(err, kind.err) {
				return err // it says already what could not be done, and to which node
			}
		}
		return sentence.Error(nil, "doToNodeFailed", "{action} {node}: {why}", action, node, err)
	}
	a.told(report)
	return nil
}

// Links implements [cluster.Control].
func (r *Remote) Links() []cluster.LinkRule {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := map[LinkRule]bool{}
	var rules []cluster.LinkRule
	for _, name := range slices.Sorted(maps.Keys(r.agents)) {
		for _, rule := range r.agents[name].links {
			if !known[rule] {
				known[rule] = true
				rules = append(rules, cluster.LinkRule{From: rule.From, To: rule.To, Link: rule.link()})
			}
		}
	}
	return rules
}

// SetLink implements [cluster.Control]. Both ends get the rule, for each of them shapes what it writes.
func (r *Remote) SetLink(from, to string, link fabric.Link) error {
	ctx, cancel := context.WithTimeout(context.Background(), silence)
	defer cancel()
	if from == to {
		return sentence.Error(nil, "linkToItself", "a link is between two nodes: from and to must differ")
	}
	for _, node := range []string{from, to} {
		if node == fabric.Client {
			continue
		}
		if _, err := r.find(node); err != nil {
			return err
		}
	}
	var failures []error
	for _, node := range []string{from, to} {
		if node == fabric.Client {
			continue
		}
		a, _ := r.find(node)
		if err := a.call(ctx, http.MethodPut, "/link", ruleOf(from, to, link), nil); err != nil {
			failures = append(failures, sentence.Error(nil, "settingLinkIn", "set the link from {from} to {to} in {node}: {why}", from, to, node, err))
			continue
		}
		var report Report
		if err := a.call(ctx, http.MethodGet, "/status", nil, &report); err == nil {
			a.told(report)
		}
	}
	return errors.Join(failures...)
}

// Drain implements [cluster.Control].
func (r *Remote) Drain(records []trace.Record) []trace.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.records) == 0 {
		return records
	}
	records = append(records, r.records...)
	clear(r.records)
	r.records = r.records[:0]
	close(r.room)
	r.room = make(chan struct{})
	return records
}

// take puts a record where Drain finds it, and waits while there is no room.
func (r *Remote) take(ctx context.Context, record trace.Record) error {
	for {
		r.mu.Lock()
		if len(r.records) < maxWaiting {
			r.records = append(r.records, record)
			r.mu.Unlock()
			return nil
		}
		room := r.room
		r.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// call asks an agent and reads its answer.
func (a *agent) call(ctx context.Context, method, path string, body, result any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+a.address()+path, content)
	if err != nil {
		return err
	}
	response, err := a.remote.client.Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return sentence.Error(ErrLost, "lost", "the node's process cannot be reached: {why}; is its container running?", err)
	}
	defer response.Body.Close()
	limited := io.LimitReader(response.Body, maxLine)
	if response.StatusCode >= 300 {
		var problem Problem
		if err := json.NewDecoder(limited).Decode(&problem); err != nil {
			return fmt.Errorf("its agent answered %s", response.Status)
		}
		for _, kind := range kinds {
			if kind.code == problem.Code {
				return sentence.Repeat(kind.err, problem.Message, problem.Sentence)
			}
		}
		return sentence.Repeat(nil, problem.Message, problem.Sentence)
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(limited).Decode(result)
}
