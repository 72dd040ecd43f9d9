// Package situation plays famous situations of distributed systems on a running classroom, each as a script of what a user could do by
// hand: faults, topics, workloads, and conditions that are waited for. Nothing is staged: what is seen is what the clusters do.
package situation

import (
	"context"
	"time"

	"twinlog/engine/administration"
	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/sentence"
	"twinlog/engine/workload"
	"twinlog/engine/world"
)

var (
	// ErrUnknown: no situation of that id.
	ErrUnknown = sentence.Error(nil, "unknownSituation", "no such situation")
	// ErrBusy: another situation is being played.
	ErrBusy = sentence.Error(nil, "situationBusy", "another situation is being played; cancel it first")
	// ErrIdle: no situation is being played.
	ErrIdle = sentence.Error(nil, "situationIdle", "no situation is being played")
)

// Text is a text in both languages. In a step, {leader} and the like are names that the run fills in.
type Text struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// Summary describes a situation.
type Summary struct {
	ID   string `json:"id"`
	Side string `json:"side"` // ensemble, kafka, pulsar
	// Title names it, About says what one will see.
	Title Text   `json:"title"`
	About Text   `json:"about"`
	Steps []Text `json:"steps"`
}

// The states of a run and of its steps.
const (
	StateWaiting   = "waiting" // a step whose turn has not come
	StateRunning   = "running"
	StateDone      = "done"
	StateFailed    = "failed"
	StateCancelled = "cancelled"
)

// StepStatus is a step of a run.
type StepStatus struct {
	Text  Text   `json:"text"`
	State string `json:"state"` // waiting, running, done, failed, cancelled
	// At is when it began; null while it waits.
	At *time.Time `json:"at"`
}

// Run is a situation that is being played, or the last one that was.
type Run struct {
	Situation string       `json:"situation"`
	State     string       `json:"state"` // running, done, failed, cancelled
	Steps     []StepStatus `json:"steps"`
	// Names are the nodes and things that the run chose, by what they are in the texts: leader, follower, topic.
	Names map[string]string `json:"names"`
	// Message says why it failed, or what came out.
	Message Text `json:"message"`
	// Problem is why it failed, as Message says it in English; missing where that is no sentence of ours.
	Problem *sentence.Sentence `json:"problem,omitempty"`
	Started time.Time          `json:"started"`
	Ended   *time.Time         `json:"ended"`
}

// Control is the part of cluster.Control that situations need.
type Control interface {
	Nodes() []cluster.NodeStatus
	Kill(ctx context.Context, node string) error
	Crash(ctx context.Context, node string) error
	Start(ctx context.Context, node string) error
	Pause(ctx context.Context, node string) error
	Resume(ctx context.Context, node string) error
	Links() []cluster.LinkRule
	SetLink(from, to string, link fabric.Link) error
}

// Administration is the part of administration.Administrator that situations need.
type Administration interface {
	CreateKafkaTopic(ctx context.Context, topic administration.KafkaTopic) (administration.KafkaTopic, error)
	DeleteKafkaTopic(ctx context.Context, topic string) error
	ProduceKafka(ctx context.Context, topic string, partition int32, acks int, value string) (offset int64, err error)
	EndOffset(ctx context.Context, topic string, partition int32) (int64, error)
	PulsarLedgerLimits(ctx context.Context) (administration.LedgerLimits, error)
	CreatePulsarSubscription(ctx context.Context, topic, subscription string) error
	DeletePulsarTopic(ctx context.Context, topic string) error
	UnloadBundle(ctx context.Context, wanted administration.PulsarBundle, destination string) error
	SplitBundle(ctx context.Context, wanted administration.PulsarBundle) error
}

// Workloads is the part of workload.Manager that situations need.
type Workloads interface {
	Start(ctx context.Context, spec workload.Spec) (workload.Status, error)
	Stop(ctx context.Context, id string) (workload.Status, error)
}

// Config is what a Player acts on and looks at.
type Config struct {
	Control        Control
	Administration Administration
	Workloads      Workloads
	// World is the state of the classroom now.
	World func(ctx context.Context) (*world.State, error)
	// Linger is how long a state of the story stays before the story goes on, so that people see it; 1.5 s unless told. Nothing depends on it.
	Linger time.Duration
}

// patience bounds how long a run may take in all; each condition comes about well within it, at the slower pace too. A script that
// waits for what is configured to take longer has a patience of its own.
const patience = 5 * time.Minute
