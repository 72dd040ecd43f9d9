package workload

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"slices"
	"strconv"
	"sync"

	"twinlog/engine/sentence"
)

// Config says where the clusters are; a workload needs the addresses of its engine only.
type Config struct {
	// Kafka lists brokers, host:port.
	Kafka []string
	// PulsarURL is the service URL, pulsar://host:port,host:port.
	PulsarURL string
	// PulsarHTTP lists the brokers' HTTP services, http://host:port.
	PulsarHTTP []string
	// Now, when it is given, tells the three anew for each workload: nodes are added and removed.
	Now    func() Config
	Logger *slog.Logger
}

// Present is where the clusters are at this moment.
func (c Config) Present() Config {
	if c.Now == nil {
		return c
	}
	return c.Now()
}

// maxWorkloads bounds the workloads at a time.
const maxWorkloads = 8

// Manager runs workloads. Its methods may be called from any goroutine.
type Manager struct {
	config Config

	mu        sync.Mutex
	last      int
	workloads []*running // in the order of their start
	closed    bool
	sides     registry
}

type running struct {
	id    string
	spec  Spec
	sides []*side
}

// NewManager returns a manager that runs nothing yet.
func NewManager(config Config) *Manager {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Manager{config: config}
}

// Start begins a workload and returns at once: its topic is created and its clients connect while its state is starting.
func (m *Manager) Start(_ context.Context, spec Spec) (Status, error) {
	spec, err := spec.withDefaults()
	if err != nil {
		return Status{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Status{}, sentence.Error(ErrTooMany, "classroomEnding", "the classroom is about to end")
	}
	if len(m.workloads) >= maxWorkloads {
		return Status{}, sentence.Error(ErrTooMany, "workloadsFull", "too many workloads: {count} run already; stop one first", maxWorkloads)
	}
	m.last++
	w := &running{id: strconv.Itoa(m.last), spec: spec}
	for _, engine := range spec.engines() {
		client, err := m.client(engine, spec)
		if err != nil {
			return Status{}, err
		}
		w.sides = append(w.sides, newSide(newSideName(), engine, spec, client, &m.sides, m.config.Logger))
	}
	for _, side := range w.sides {
		side.start()
	}
	m.workloads = append(m.workloads, w)
	return w.status(), nil
}

func (m *Manager) client(engine string, spec Spec) (client, error) {
	at := m.config.Present()
	switch {
	case engine == EngineKafka && len(at.Kafka) > 0:
		return &kafkaClient{spec: spec, brokers: at.Kafka}, nil
	case engine == EnginePulsar && at.PulsarURL != "" && len(at.PulsarHTTP) > 0:
		return &pulsarClient{spec: spec, url: at.PulsarURL, http: at.PulsarHTTP, logger: m.config.Logger}, nil
	}
	return nil, sentence.Error(ErrInvalid, "noBrokersOf", "no broker of {engine} is in this classroom", engine)
}

func newSideName() string {
	var name [sideDigits / 2]byte
	rand.Read(name[:]) // never fails
	return hex.EncodeToString(name[:])
}

// List lists the workloads that run, in the order of their start.
func (m *Manager) List() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Status, 0, len(m.workloads))
	for _, w := range m.workloads {
		list = append(list, w.status())
	}
	return list
}

// Change changes a workload that runs. Consumers that go leave in order, and others join at once.
func (m *Manager) Change(_ context.Context, id string, change Change) (Status, error) {
	if change.Consumers < 0 || change.Consumers > maxClients {
		return Status{}, sentence.Error(ErrInvalid, "notANumberBetween", "{field} is a number from {least} to {most}, not {given}", "consumers", 0, maxClients, change.Consumers)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.workloads, func(w *running) bool { return w.id == id })
	if at < 0 {
		return Status{}, sentence.Error(ErrUnknown, "noSuchWorkload", `there is no workload "{workload}"`, id)
	}
	w := m.workloads[at]
	w.spec.Consumers = change.Consumers
	if change.Consumers == 0 {
		w.spec.Consumers = NoConsumers
	}
	for _, side := range w.sides {
		side.crew.resize(change.Consumers)
	}
	return w.status(), nil
}

// Stop ends a workload and returns what it had done. It waits for the clients to leave in order, but not longer than a few seconds.
func (m *Manager) Stop(_ context.Context, id string) (Status, error) {
	m.mu.Lock()
	at := slices.IndexFunc(m.workloads, func(w *running) bool { return w.id == id })
	if at < 0 {
		m.mu.Unlock()
		return Status{}, sentence.Error(ErrUnknown, "noSuchWorkload", `there is no workload "{workload}"`, id)
	}
	w := m.workloads[at]
	m.workloads = slices.Delete(m.workloads, at, at+1)
	m.mu.Unlock()
	w.stop()
	return w.status(), nil
}

// Run keeps the manager until the context ends, then ends all workloads and returns when all their goroutines have.
func (m *Manager) Run(ctx context.Context) error {
	<-ctx.Done()
	m.mu.Lock()
	m.closed = true
	left := m.workloads
	m.workloads = nil
	m.mu.Unlock()
	var all sync.WaitGroup
	for _, w := range left {
		all.Go(w.stop)
	}
	all.Wait()
	return nil
}

func (w *running) stop() {
	var all sync.WaitGroup
	for _, side := range w.sides {
		all.Go(side.stop)
	}
	all.Wait()
}

func (w *running) status() Status {
	status := Status{ID: w.id, Spec: w.spec, Sides: make([]Counts, 0, len(w.sides))}
	for _, side := range w.sides {
		status.Sides = append(status.Sides, side.counts())
	}
	return status
}
