// Package fabric is a node's network: it listens and dials, and the rules of each directed link between two named nodes can be
// changed while streams run over it. Streams never lose bytes in the middle: a cut link stalls or resets them, as TCP would. A
// caller that is no node (a student's own program) is the node [Client].
//
// All nodes of a process share one [Fabric], over the operating system's TCP or in memory. Each node has its own [View] of it, which
// can be severed (a crash: every socket is reset) and frozen (what SIGSTOP does to a process).
//
// Who applies the rules. Of the two ends of a connection exactly one shapes each direction:
//
//	both ends are nodes of this fabric     the end that dialled shapes both directions
//	the other end is a client              our end shapes both directions
//	the other end is a node elsewhere      each end shapes what it writes
//
// While no rule is set a connection costs a few atomic loads, and [Conn.ReadFrom] still ends in sendfile.
package fabric

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Client is the node name of every caller that is no node of the classroom.
const Client = "client"

// ErrSevered is the error of everything that is done through a severed view. It is also a [net.ErrClosed].
var ErrSevered = errors.New("the node's network is severed")

// Network is one node's view of the fabric.
type Network interface {
	// Node is the name of the node that this view belongs to.
	Node() string
	// Listen opens a TCP address ("127.0.0.1:9092"); port 0 picks a free one.
	Listen(address string) (net.Listener, error)
	// Dial opens a stream. It fails when the context ends first, as it does over a cut link.
	Dial(ctx context.Context, address string) (net.Conn, error)
}

// Link is the rule of one direction between two nodes. The zero Link is a healthy one.
type Link struct {
	Cut            bool
	Delay          time.Duration
	Jitter         time.Duration // up to this much more delay, drawn per write
	BytesPerSecond int64         // 0: no limit
}

// Validate rejects what no link can be.
func (l Link) Validate() error {
	if l.Delay < 0 || l.Jitter < 0 || l.BytesPerSecond < 0 {
		return fmt.Errorf("link rule: delay %v, jitter %v and %d bytes a second must not be negative", l.Delay, l.Jitter, l.BytesPerSecond)
	}
	return nil
}

// PeerNamer is what every connection of a fabric also is.
type PeerNamer interface {
	// PeerNode is the node at the other end; [Client] when it is none of ours. For an accepted connection it is known once the first
	// bytes arrived.
	PeerNode() string
}

// Rule is the rule of one directed link.
type Rule struct {
	From, To string
	Link     Link
}

type direction struct{ from, to string }

// transport makes plain, unshaped connections.
type transport interface {
	listen(address string) (net.Listener, error)
	dial(ctx context.Context, address string) (net.Conn, error)
}

// Fabric is the network of all nodes of a process.
type Fabric struct {
	transport transport

	mu        sync.Mutex
	links     map[direction]*link
	listeners map[string]string // address listened on, to node
	known     map[string]string // address or host of nodes elsewhere, to node
	dialled   dialledConnections
}

func newFabric(t transport) *Fabric {
	return &Fabric{
		transport: t,
		links:     map[direction]*link{},
		listeners: map[string]string{},
		known:     map[string]string{},
		dialled:   dialledConnections{byAddresses: map[string]*dialledConnection{}},
	}
}

// Of returns a new view for a node. A node that was killed gets a new view when it starts again.
func (f *Fabric) Of(node string) *View { return newView(f, node) }

// Know names a node in another process by its address ("zookeeper.example:2181") or by its host alone ("172.18.0.4"). An empty node
// forgets it.
func (f *Fabric) Know(address, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node == "" {
		delete(f.known, address)
		return
	}
	f.known[address] = node
}

// SetLink sets the rule of one direction; the zero Link heals it. Streams over a healed link go on with what they held back.
func (f *Fabric) SetLink(from, to string, rule Link) error {
	if err := rule.Validate(); err != nil {
		return err
	}
	f.link(from, to).set(rule)
	return nil
}

// Links lists the links that are not healthy, by names.
func (f *Fabric) Links() []Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rules []Rule
	for d, l := range f.links {
		if rule := l.current(); rule != (Link{}) {
			rules = append(rules, Rule{From: d.from, To: d.to, Link: rule})
		}
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		return strings.Compare(a.From+">"+a.To, b.From+">"+b.To)
	})
	return rules
}

func (f *Fabric) link(from, to string) *link {
	f.mu.Lock()
	defer f.mu.Unlock()
	d := direction{from: from, to: to}
	l := f.links[d]
	if l == nil {
		l = newLink()
		f.links[d] = l
	}
	return l
}

// nodeAt names the node that serves an address. Local says that it is a node of this fabric.
func (f *Fabric) nodeAt(address string) (node string, local bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node := f.listeners[address]; node != "" {
		return node, true
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", false
	}
	if host == "localhost" {
		host = "127.0.0.1"
		if node := f.listeners[net.JoinHostPort(host, port)]; node != "" {
			return node, true
		}
	}
	if node := f.known[address]; node != "" {
		return node, false
	}
	if node := f.known[host]; node != "" {
		return node, false
	}
	if isThisMachine(host) {
		if node := f.listeners[wildcard(port)]; node != "" {
			return node, true
		}
	}
	return "", false
}

// addListener keeps the name of an address for good: who dials a node that is down dials that node.
func (f *Fabric) addListener(address net.Addr, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listeners[listenerKey(address)] = node
}

// nodeElsewhere names the node of another process that an accepted connection comes from, or "".
func (f *Fabric) nodeElsewhere(remote net.Addr) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.known) == 0 {
		return ""
	}
	host, _, err := net.SplitHostPort(remote.String())
	if err != nil {
		return ""
	}
	return f.known[host]
}

// listenerKey is the address, or the port alone for a listener on all of the machine's addresses.
func listenerKey(address net.Addr) string {
	host, port, err := net.SplitHostPort(address.String())
	if err != nil {
		return address.String()
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return wildcard(port)
	}
	return address.String()
}

func wildcard(port string) string { return "*:" + port }

// isThisMachine says whether a host is one that a listener on all addresses of this machine answers for.
func isThisMachine(host string) bool {
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.Equal(ip) {
			return true
		}
	}
	return false
}
