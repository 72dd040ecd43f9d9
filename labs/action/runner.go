// Package action does what a lab's set-up, solution and wrong runs say, with the client libraries that a student's program would use.
package action

import (
	"context"
	"fmt"
	"sync"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/engine/world"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

// Addresses says where the clusters are.
type Addresses struct {
	Kafka       []string // host:port of the brokers
	PulsarURL   string   // pulsar://host:port,host:port
	PulsarAdmin []string // http://host:port of the brokers, any of which will do
}

// Nodes is what an action can do to the nodes; see [cluster.Control].
type Nodes interface {
	Nodes() []cluster.NodeStatus
	Kill(ctx context.Context, node string) error
	Stop(ctx context.Context, node string) error
	Start(ctx context.Context, node string) error
	Pause(ctx context.Context, node string) error
	Resume(ctx context.Context, node string) error
	Links() []cluster.LinkRule
	SetLink(from, to string, link fabric.Link) error
}

// Trace gives what may be known of the trace.
type Trace interface {
	// World returns the state now and the number of the last record in it.
	World() (*world.State, uint64)
	// EventsAfter returns the records after n that are still at hand.
	EventsAfter(n uint64) []observe.Event
}

// Runner does actions. It may be used from any goroutine. What an action leaves running lasts until Close or Restore.
type Runner struct {
	addresses Addresses
	nodes     Nodes
	trace     Trace

	mu      sync.Mutex        // helpers act beside the one who has the turn
	running map[string]func() // what ends it, by name
}

// maxRunning bounds what actions leave running.
const maxRunning = 32

// NewRunner returns a Runner for a classroom.
func NewRunner(addresses Addresses, nodes Nodes, trace Trace) *Runner {
	return &Runner{addresses: addresses, nodes: nodes, trace: trace, running: map[string]func(){}}
}

// keep remembers what ends something that goes on.
func (r *Runner) keep(name string, end func()) error {
	refusal := func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.running[name] != nil {
			return sentence.Error(nil, "isThereAlready", "there is a {name} already", name)
		}
		if len(r.running) >= maxRunning {
			return sentence.Error(nil, "tooManyRunning", "as many consumers and sessions as may are running already ({count}); close one first", len(r.running))
		}
		r.running[name] = end
		return nil
	}()
	if refusal != nil {
		end()
	}
	return refusal
}

func (r *Runner) close(action *lab.Close) error {
	r.mu.Lock()
	end := r.running[action.Name]
	delete(r.running, action.Name)
	r.mu.Unlock()
	if end == nil {
		return sentence.Error(nil, "nothingToClose", "there is no {name} to close", action.Name)
	}
	end()
	return nil
}

// Close ends all that actions have left running.
func (r *Runner) Close() {
	r.mu.Lock()
	running := r.running
	r.running = map[string]func(){}
	r.mu.Unlock()
	for _, end := range running {
		end()
	}
}

// Start is the moment from which on conditions see events, and the state at it.
type Start struct {
	N     uint64
	State *world.State
}

// Now is the moment at which it is called.
func (r *Runner) Now() Start {
	state, n := r.trace.World()
	return Start{N: n, State: state}
}

// Run does the actions in order and stops at the first that fails. Their conditions see events and state since start.
func (r *Runner) Run(ctx context.Context, start Start, actions []lab.Action) error {
	for i, action := range actions {
		step, err := action.Step()
		if err == nil {
			err = r.run(ctx, start, step)
		}
		if err != nil {
			return sentence.Error(nil, "actionNumber", "action {number}: {why}", i+1, err)
		}
	}
	return nil
}

func (r *Runner) run(ctx context.Context, start Start, step lab.Doing) error {
	switch step := step.(type) {
	case *lab.KafkaCreateTopic:
		return r.kafkaCreateTopic(ctx, step)
	case *lab.KafkaDeleteTopic:
		return r.kafkaDeleteTopic(ctx, step)
	case *lab.KafkaDeleteGroup:
		return r.kafkaDeleteGroup(ctx, step)
	case *lab.KafkaConfigure:
		return r.kafkaConfigure(ctx, step)
	case *lab.KafkaProduce:
		return r.kafkaProduce(ctx, step)
	case *lab.KafkaConsume:
		return r.kafkaConsume(ctx, step)
	case *lab.KafkaJoin:
		return r.kafkaJoin(step)
	case *lab.KafkaCommit:
		return r.kafkaCommit(ctx, step)
	case *lab.PulsarCreateTopic:
		return r.pulsarCreateTopic(ctx, step)
	case *lab.PulsarUnloadBundle:
		return r.pulsarUnloadBundle(ctx, step)
	case *lab.PulsarTopic:
		return r.pulsarDeleteTopic(ctx, step)
	case *lab.PulsarSubscribe:
		return r.pulsarSubscribe(ctx, step)
	case *lab.PulsarProduce:
		return r.pulsarProduce(ctx, step)
	case *lab.PulsarConsume:
		return r.pulsarConsume(ctx, step)
	case *lab.PulsarUnload:
		return r.pulsarUnload(ctx, step)
	case *lab.EnsembleSet:
		return r.ensembleSet(ctx, step)
	case *lab.EnsembleDelete:
		return r.ensembleDelete(ctx, step)
	case *lab.EnsembleOpen:
		return r.ensembleOpen(ctx, step)
	case *lab.Close:
		return r.close(step)
	case *lab.Wait:
		return r.waitFor(ctx, start, step)
	}
	return r.runOnNodes(ctx, start, step)
}

// waitFor looks again and again until the condition holds.
func (r *Runner) waitFor(ctx context.Context, start Start, action *lab.Wait) error {
	ctx, cancel := context.WithTimeout(ctx, action.Within)
	defer cancel()
	for {
		holds, err := action.Expression().Holds(r.Look(ctx, start, action.Expression()))
		if err == nil && holds {
			return nil
		}
		if waited := wait(ctx); waited != nil {
			return sentence.Error(nil, "waitedFor", "waited {time} for {condition} (last answer: {answer}, {why})", action.Within, action.Until, holds, fmt.Sprint(err))
		}
	}
}

// wait lets a little time pass before something is asked again.
func wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}
