package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/media"
	"twinlog/engine/node"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

const (
	// traceCapacity bounds the records of a node that wait for Drain.
	traceCapacity = 1 << 14
	// stopPatience is how long the nodes have for their orderly shutdown before they are killed.
	stopPatience = 10 * time.Second
)

// Config says which nodes there are.
type Config struct {
	Nodes []node.Config
	// Fabric is all nodes' network; nil: TCP.
	Fabric *fabric.Fabric
	// Disk gives a node its files, which stay its own over restarts.
	Disk func(node string) (disk.Disk, error)
	// Medium is what all nodes share for what they offload; nil: there is none.
	Medium media.Medium
	// Run names this run of the process in the trace.
	Run    string
	Logger *slog.Logger // nil discards
	Make   Maker        // nil: MakeNode
	// Members lets nodes be added and removed; nil: there are the Nodes for good. Its Layout is the one that Nodes were made of.
	Members *Members
}

// Cluster is many nodes in one process. It implements [Control].
type Cluster struct {
	fabric   *fabric.Fabric
	config   Config
	logger   *slog.Logger
	members  *Members
	ready    chan struct{}
	changing chan struct{} // holds one token: the right to change the members

	mu      sync.RWMutex
	layout  Layout
	slots   []*Slot                  // in the order of Nodes; never changed, only replaced
	tracers map[string]*trace.Tracer // by node name, those of removed nodes too
}

var _ Control = (*Cluster)(nil)

// New makes the cluster; nothing runs yet.
func New(config Config) (*Cluster, error) {
	c := &Cluster{
		fabric: config.Fabric, config: config, logger: config.Logger, members: config.Members, ready: make(chan struct{}),
		changing: make(chan struct{}, 1), tracers: map[string]*trace.Tracer{},
	}
	c.changing <- struct{}{}
	if c.fabric == nil {
		c.fabric = fabric.NewTCP()
	}
	if c.logger == nil {
		c.logger = slog.New(slog.DiscardHandler)
	}
	if c.members != nil {
		c.layout = c.members.Layout
	}
	nodes := slices.Clone(config.Nodes)
	slices.SortFunc(nodes, func(a, b node.Config) int {
		return CompareNodes(NodeStatus{Role: a.Role, ID: a.ID}, NodeStatus{Role: b.Role, ID: b.ID})
	})
	for _, nodeConfig := range nodes {
		s, err := c.newSlot(nodeConfig)
		if err != nil {
			return nil, err
		}
		c.slots = append(c.slots, s)
	}
	return c, nil
}

func (c *Cluster) newSlot(nodeConfig node.Config) (*Slot, error) {
	name := nodeConfig.Name()
	if err := nodeConfig.Validate(); err != nil {
		return nil, err
	}
	if c.slot(name) != nil {
		return nil, fmt.Errorf("there are two nodes %s", name)
	}
	files, err := c.config.Disk(name)
	if err != nil {
		return nil, fmt.Errorf("the files of %s: %w", name, err)
	}
	c.mu.Lock()
	tracer := c.tracers[name] // a node that comes back counts on where it ended
	if tracer == nil {
		tracer = trace.NewTracer(c.config.Run, name, traceCapacity)
		c.tracers[name] = tracer
	}
	c.mu.Unlock()
	return NewSlot(SlotConfig{Node: nodeConfig, Fabric: c.fabric, Disk: files, Medium: c.config.Medium, Logger: c.config.Logger, Make: c.config.Make, Tracer: tracer}), nil
}

var roleOrder = []string{node.RoleEnsemble, node.RoleKafka, node.RolePulsar, node.RoleBookie}

// CompareNodes puts nodes into the order of Control.Nodes.
func CompareNodes(a, b NodeStatus) int {
	if a.Role != b.Role {
		return slices.Index(roleOrder, a.Role) - slices.Index(roleOrder, b.Role)
	}
	return a.ID - b.ID
}

// Run starts all nodes and returns when the context has ended and all nodes are stopped, or when the first start of a node fails. A
// node that fails later does not end the others.
func (c *Cluster) Run(ctx context.Context) error {
	err := c.startAll(ctx)
	if err == nil {
		close(c.ready)
		<-ctx.Done()
	} else if ctx.Err() != nil {
		err = nil // it was stopped while it started
	}
	return errors.Join(err, c.stopAll())
}

// Ready is closed when all nodes serve.
func (c *Cluster) Ready() <-chan struct{} { return c.ready }

// startAll starts the ensemble first: everybody else begins by asking it, and would wait longer after a failed attempt than for it.
func (c *Cluster) startAll(ctx context.Context) error {
	isEnsemble := func(s *Slot) bool { return s.role == node.RoleEnsemble }
	if err := each(c.present(), isEnsemble, func(s *Slot) error { return s.Start(ctx) }); err != nil {
		return err
	}
	return each(c.present(), func(s *Slot) bool { return !isEnsemble(s) }, func(s *Slot) error { return s.Start(ctx) })
}

// stopAll stops clients before those they use: brokers say goodbye to bookies and ensemble, bookies to the ensemble.
func (c *Cluster) stopAll() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	var failures []error
	for _, roles := range [][]string{{node.RoleKafka, node.RolePulsar}, {node.RoleBookie}, {node.RoleEnsemble}} {
		failures = append(failures, each(c.present(),
			func(s *Slot) bool { return slices.Contains(roles, s.role) },
			func(s *Slot) error { return s.Close(ctx) }))
	}
	return errors.Join(failures...)
}

// each does something to all chosen slots at the same time and waits for all.
func each(slots []*Slot, chosen func(*Slot) bool, do func(*Slot) error) error {
	var all sync.WaitGroup
	failures := make([]error, len(slots))
	for i, s := range slots {
		if chosen(s) {
			all.Go(func() { failures[i] = do(s) })
		}
	}
	all.Wait()
	return errors.Join(failures...)
}

func (c *Cluster) slot(name string) *Slot {
	for _, s := range c.present() {
		if s.Name() == name {
			return s
		}
	}
	return nil
}

func (c *Cluster) do(name string, action func(*Slot) error) error {
	s := c.slot(name)
	if s == nil {
		var names []string
		for _, s := range c.present() {
			names = append(names, s.Name())
		}
		return sentence.Error(ErrUnknownNode, "noNodeAmong", `there is no node "{node}"; nodes are {nodes}`, name, names)
	}
	return action(s)
}

// Nodes implements [Control].
func (c *Cluster) Nodes() []NodeStatus {
	slots := c.present()
	all := make([]NodeStatus, len(slots))
	for i, s := range slots {
		all[i] = s.Status()
	}
	return all
}

// Kill implements [Control].
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.do(name, func(s *Slot) error { return s.Kill(ctx) })
}

// Stop implements [Control].
func (c *Cluster) Stop(ctx context.Context, name string) error {
	return c.do(name, func(s *Slot) error { return s.Stop(ctx) })
}

// Start implements [Control].
func (c *Cluster) Start(ctx context.Context, name string) error {
	return c.do(name, func(s *Slot) error { return s.Start(ctx) })
}

// Pause implements [Control].
func (c *Cluster) Pause(ctx context.Context, name string) error {
	return c.do(name, func(s *Slot) error { return s.Pause(ctx) })
}

// Resume implements [Control].
func (c *Cluster) Resume(ctx context.Context, name string) error {
	return c.do(name, func(s *Slot) error { return s.Resume(ctx) })
}

// Links implements [Control].
func (c *Cluster) Links() []LinkRule {
	var rules []LinkRule
	for _, rule := range c.fabric.Links() {
		rules = append(rules, LinkRule(rule))
	}
	return rules
}

// SetLink implements [Control]. The event is recorded by the node that sends over the link, by the receiver when the sender is the
// client.
func (c *Cluster) SetLink(from, to string, link fabric.Link) error {
	if from == to {
		return fmt.Errorf("a link is between two nodes, not from %s to itself", from)
	}
	var recorder *Slot
	for _, name := range []string{to, from} {
		if name == fabric.Client {
			continue
		}
		if err := c.do(name, func(s *Slot) error { recorder = s; return nil }); err != nil {
			return err
		}
	}
	if err := link.Validate(); err != nil {
		return err
	}
	event := LinkEvent(from, to, link)
	if !link.Cut { // what waited arrives at once: that it may is told before what comes of it
		recorder.Tracer().Emit(event)
		return c.fabric.SetLink(from, to, link)
	}
	err := c.fabric.SetLink(from, to, link)
	recorder.Tracer().Emit(event)
	return err
}

// LinkEvent is the trace's event of a rule.
func LinkEvent(from, to string, link fabric.Link) trace.LinkChanged {
	return trace.LinkChanged{
		From: from, To: to, Cut: link.Cut, DelayMS: link.Delay.Milliseconds(), JitterMS: link.Jitter.Milliseconds(),
		BytesPerSecond: link.BytesPerSecond,
	}
}

// Drain implements [Control].
func (c *Cluster) Drain(records []trace.Record) []trace.Record {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for _, tracer := range c.tracers {
		records = tracer.Drain(records)
	}
	return records
}

// Crash implements [Control].
func (c *Cluster) Crash(ctx context.Context, name string) error {
	return c.do(name, func(s *Slot) error { return s.Crash(ctx) })
}

// Disks implements [Control].
func (c *Cluster) Disks() []DiskRule {
	var rules []DiskRule
	for _, s := range c.present() {
		if fault := s.Fault(); fault != (disk.Fault{}) {
			rules = append(rules, DiskRule{Node: s.Name(), Fault: fault})
		}
	}
	return rules
}

// SetDisk implements [Control].
func (c *Cluster) SetDisk(_ context.Context, name string, fault disk.Fault) error {
	return c.do(name, func(s *Slot) error { return s.SetDisk(fault) })
}

// Files implements [Control].
func (c *Cluster) Files(_ context.Context, name string) (files []StoredFile, err error) {
	err = c.do(name, func(s *Slot) error { files, err = s.Files(); return err })
	return files, err
}

// Corrupt implements [Control].
func (c *Cluster) Corrupt(ctx context.Context, corruption Corruption) error {
	return c.do(corruption.Node, func(s *Slot) error { return s.Corrupt(ctx, corruption) })
}

// Disk is the disk of a node's life, for faults; nil when there is none.
func (c *Cluster) Disk(name string) *disk.Faults {
	if s := c.slot(name); s != nil {
		return s.Disk()
	}
	return nil
}
