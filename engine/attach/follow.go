package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/trace"
)

const (
	// retryInterval is how long a process that does not answer is left alone.
	retryInterval = 500 * time.Millisecond
	// againInterval is how long one is left alone whose stream has just ended.
	againInterval = 50 * time.Millisecond
)

// agent is one process as a Remote sees it.
type agent struct {
	remote *Remote
	name   string

	// Guarded by Remote.mu.
	control string        // address
	process string        // the run that gossip told of
	moved   chan struct{} // closed and replaced when the two change
	status  cluster.NodeStatus
	links   []LinkRule
	disk    DiskRule

	// Belong to follow: how far the trace was read, and whether records were read since the process was lost.
	run  string
	seq  uint64
	lost bool
}

func (a *agent) address() string {
	a.remote.mu.Lock()
	defer a.remote.mu.Unlock()
	return a.control
}

func (a *agent) told(report Report) {
	a.remote.mu.Lock()
	defer a.remote.mu.Unlock()
	a.status, a.links, a.disk = report.Node, report.Links, report.Disk
	if a.status.Name != a.name { // another process took the address over
		a.status.Name = a.name
	}
}

// follow reads the node's trace until the context ends, through all of its process's lives.
func (a *agent) follow(ctx context.Context) {
	for ctx.Err() == nil {
		a.remote.mu.Lock()
		moved := a.moved
		a.remote.mu.Unlock()
		heard, err := a.read(ctx)
		if ctx.Err() != nil {
			return
		}
		a.remote.logger.Debug("a trace stream ended", "node", a.name, "error", err)
		wait := retryInterval
		if heard { // once more soon: perhaps only the connection is gone
			wait = againInterval
		} else if err := a.lose(ctx, err); err != nil {
			return
		}
		select {
		case <-moved:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
}

// lose notes that the process is gone. The node's last record is written by us, for it cannot write it itself any more.
func (a *agent) lose(ctx context.Context, cause error) error {
	a.remote.mu.Lock()
	switch a.status.State {
	case cluster.StateStarting, cluster.StateRunning, cluster.StatePaused:
	default: // it had ended already, or it is lost
		a.remote.mu.Unlock()
		return nil
	}
	a.status.State = cluster.StateLost
	a.links = nil
	a.remote.mu.Unlock()
	a.lost = true
	a.remote.logger.Warn("a node is lost", "node", a.name, "error", cause)
	if a.run == "" {
		return nil // nothing was ever heard of it
	}
	event := trace.NodeStopped{Reason: cluster.StateLost, Detail: cause.Error()}
	return a.remote.take(ctx, trace.Record{
		Run: a.run, Node: a.name, Seq: a.seq + 1, At: time.Now(), Kind: event.Kind(), Data: event,
	})
}

// read follows one stream. Heard says whether the process said anything.
func (a *agent) read(ctx context.Context) (heard bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(silence, func() { cancel(fmt.Errorf("nothing was heard for %v", silence)) })
	defer watchdog.Stop()
	query := url.Values{"run": {a.run}, "after": {strconv.FormatUint(a.seq, 10)}}
	if a.lost { // the picture of the node is gone: begin again with what is kept
		query.Set("after", "0")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+a.address()+"/trace?"+query.Encode(), nil)
	if err != nil {
		return false, err
	}
	response, err := a.remote.client.Do(request)
	if err != nil {
		return false, errors.Join(err, context.Cause(ctx))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the agent answered %s", response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxLine)
	for lines.Scan() {
		watchdog.Reset(silence)
		var line Line
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return heard, fmt.Errorf("a line of the trace: %w", err)
		}
		heard = true
		if line.Report != nil {
			if a.run != "" && line.Report.Run != a.run { // the process was replaced so fast that nobody missed it
				if err := a.lose(ctx, errors.New("its process was replaced")); err != nil {
					return heard, err
				}
			}
			a.told(*line.Report)
			a.lost = false
		}
		if line.Record != nil {
			watchdog.Stop() // waiting for room is not the process's silence
			if err := a.remote.take(ctx, *line.Record); err != nil {
				return heard, err
			}
			watchdog.Reset(silence)
			a.run, a.seq = line.Record.Run, line.Record.Seq
		}
	}
	return heard, errors.Join(lines.Err(), context.Cause(ctx), errors.New("the stream ended"))
}
