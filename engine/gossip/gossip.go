// Package gossip tells which processes of a classroom there are and where they can be reached, when each is in a container or on a machine
// of its own. It is SWIM (Das, Gupta, Motivala 2002) by way of memberlist: every process asks a random other one whether it lives, third
// parties are asked before anybody is declared dead, and all news travels with those messages. The members have no leader and no list to
// begin with, only the address of some member that is already there.
//
// Gossip knows processes, not engines: who coordinates what is decided in the ensemble.
package gossip

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/memberlist"
)

// Process is what a member tells about itself.
type Process struct {
	// Name is the node's, unique in the classroom.
	Name string `json:"-"`
	// Run changes with every start of the process.
	Run  string `json:"run"`
	Role string `json:"role"`
	ID   int    `json:"id"`
	// Control is where the process can be asked and told, host:port; empty when it takes no orders.
	Control string `json:"control,omitempty"`
	// Addresses by purpose at which members of the group reach the node.
	Addresses map[string]string `json:"addresses,omitempty"`
	// Host is the IP address that the others see it at. It is found out, not told.
	Host string `json:"-"`
}

// Config is what a member needs to know.
type Config struct {
	Self Process
	// Bind is where to listen, UDP and TCP, host:port.
	Bind string
	// Seeds are members to begin with, host:port or host (then with Bind's port); those that do not answer are tried again. One's own
	// address may be among them. The first process has none that answers.
	Seeds []string
	// Quick finds a lost member within about 2 seconds instead of 10, at the price of more packets and of more false alarms on a slow network.
	Quick  bool
	Logger *slog.Logger
}

// retrySeeds is how long Run waits before it tries seeds that did not answer again.
const retrySeeds = time.Second

// Gossip is this process's membership.
type Gossip struct {
	config  Config
	list    *memberlist.Memberlist
	changes *changes
	seeds   []string

	abandoned chan struct{}
	abandon   sync.Once
}

// New opens the port. The process is a member of a group of one until Run joins the others.
func New(config Config) (*Gossip, error) {
	meta, err := json.Marshal(config.Self)
	if err != nil {
		return nil, err
	}
	if len(meta) > memberlist.MetaMaxSize {
		return nil, fmt.Errorf("gossip: what %s tells about itself takes %d bytes, the most is %d", config.Self.Name, len(meta), memberlist.MetaMaxSize)
	}
	host, port, err := splitAddress(config.Bind)
	if err != nil {
		return nil, fmt.Errorf("gossip: the address to listen on: %w", err)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gossip{config: config, changes: &changes{next: make(chan struct{})}, abandoned: make(chan struct{})}
	settings := memberlist.DefaultLANConfig()
	if config.Quick {
		settings.ProbeInterval, settings.ProbeTimeout = 300*time.Millisecond, 150*time.Millisecond
		settings.SuspicionMult = 3
		settings.GossipInterval = 100 * time.Millisecond
		settings.PushPullInterval = 10 * time.Second
		// A killed container's successor has the same name and another address: it may take the name over at once.
		settings.DeadNodeReclaimTime = time.Second
	} else {
		settings.DeadNodeReclaimTime = 30 * time.Second
	}
	settings.Name = config.Self.Name
	settings.BindAddr, settings.BindPort = host, port
	settings.AdvertisePort = port
	settings.Delegate = tellMeta(meta)
	settings.Events = g.changes
	settings.Logger = log.New(io.Discard, "", 0)
	if config.Logger.Enabled(context.Background(), slog.LevelDebug) {
		settings.Logger = slog.NewLogLogger(config.Logger.Handler(), slog.LevelDebug)
	}
	if g.list, err = memberlist.Create(settings); err != nil {
		return nil, fmt.Errorf("gossip: listening on %s: %w", config.Bind, err)
	}
	for _, seed := range config.Seeds {
		if _, _, err := net.SplitHostPort(seed); err != nil {
			seed = net.JoinHostPort(seed, strconv.Itoa(int(g.list.LocalNode().Port)))
		}
		g.seeds = append(g.seeds, seed)
	}
	return g, nil
}

func splitAddress(address string) (host string, port int, err error) {
	host, portName, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(portName)
	return cmp.Or(host, "0.0.0.0"), port, err
}

// goodbyePatience is how long the others have to hear that this member leaves.
const goodbyePatience = time.Second

// Run finds the others, until the context ends; then it tells them that it leaves.
func (g *Gossip) Run(ctx context.Context) error {
	var joining sync.WaitGroup
	defer joining.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	joining.Go(func() { g.join(ctx) })
	select {
	case <-g.abandoned:
		return g.list.Shutdown()
	case <-ctx.Done():
	}
	err := g.list.Leave(goodbyePatience)
	if err != nil {
		err = fmt.Errorf("gossip: leaving: %w", err)
	}
	return errors.Join(err, g.list.Shutdown())
}

// Abandon makes Run end as a crash would: the others have to find out.
func (g *Gossip) Abandon() { g.abandon.Do(func() { close(g.abandoned) }) }

// join tries the seeds until each of them has answered: two halves of a classroom that started at the same time would otherwise stay
// two.
func (g *Gossip) join(ctx context.Context) {
	waiting := slices.Clone(g.seeds)
	for {
		waiting = slices.DeleteFunc(waiting, func(seed string) bool {
			_, err := g.list.Join([]string{seed})
			if err != nil {
				g.config.Logger.Debug("a seed does not answer yet", "seed", seed, "error", err)
			}
			return err == nil
		})
		if len(waiting) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retrySeeds):
		}
	}
}

// Address is where this member listens.
func (g *Gossip) Address() string {
	self := g.list.LocalNode()
	return net.JoinHostPort(self.Addr.String(), strconv.Itoa(int(self.Port)))
}

// Processes lists the members that are believed to live, this one included, by name.
func (g *Gossip) Processes() []Process {
	var all []Process
	for _, member := range g.list.Members() {
		var process Process
		if err := json.Unmarshal(member.Meta, &process); err != nil {
			g.config.Logger.Warn("a member's description cannot be read; is it another version?", "member", member.Name, "error", err)
			continue
		}
		process.Name, process.Host = member.Name, member.Addr.String()
		all = append(all, process)
	}
	slices.SortFunc(all, func(a, b Process) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Changed is closed with the next change of Processes. Take it before looking, so that nothing is missed.
func (g *Gossip) Changed() <-chan struct{} {
	g.changes.mu.Lock()
	defer g.changes.mu.Unlock()
	return g.changes.next
}

// changes is told by memberlist.
type changes struct {
	mu   sync.Mutex
	next chan struct{}
}

func (c *changes) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.next)
	c.next = make(chan struct{})
}

func (c *changes) NotifyJoin(*memberlist.Node)   { c.notify() }
func (c *changes) NotifyLeave(*memberlist.Node)  { c.notify() }
func (c *changes) NotifyUpdate(*memberlist.Node) { c.notify() }

// tellMeta is the delegate of a member that says who it is and nothing else.
type tellMeta []byte

func (m tellMeta) NodeMeta(int) []byte           { return m }
func (tellMeta) NotifyMsg([]byte)                {}
func (tellMeta) GetBroadcasts(int, int) [][]byte { return nil }
func (tellMeta) LocalState(bool) []byte          { return nil }
func (tellMeta) MergeRemoteState([]byte, bool)   {}
