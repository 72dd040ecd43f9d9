package cluster

import (
	"fmt"
	"net"
	"strconv"

	"twinlog/engine/node"
)

// The first port of each kind; nodes count on from there, and each port is plus the offset.
const (
	portZooKeeper = 2181
	portPeer      = 2888
	portKafka     = 9092
	portPulsar    = 6650
	portHTTP      = 8080
	portBookie    = 3181
	// PortPage is the page's and its API's.
	PortPage = 7700
	// PortGossip is where processes find each other.
	PortGossip = 7946
)

// FirstPort is the port of the first node of a role for a purpose; further nodes count on from there. 0: there is none.
func FirstPort(role, purpose string) int { return firstPorts[role][purpose] }

var firstPorts = map[string]map[string]int{
	node.RoleEnsemble: {node.PurposeZooKeeper: portZooKeeper, node.PurposePeer: portPeer},
	node.RoleKafka:    {node.PurposeKafka: portKafka},
	node.RolePulsar:   {node.PurposePulsar: portPulsar, node.PurposeHTTP: portHTTP},
	node.RoleBookie:   {node.PurposeBookie: portBookie},
}

// maxNodes bounds the nodes of a role, so that the ranges of ports never meet.
const maxNodes = 99

// Layout says how many nodes a classroom has and where they listen.
type Layout struct {
	Host       string // all nodes listen on this one, an IP address or a name
	PortOffset int
	Ensemble   int
	Kafka      int
	Pulsar     int
	Bookies    int
	ZooKeeper  []string // of a real ZooKeeper, host:port each; then there is no ensemble
	Pace       node.Pace
	// Added and Removed are the numbers of the nodes, by role, that are there besides the first ones of each role, and that are missing.
	Added, Removed map[string][]int
	// Secret is the password of the ensemble's super user, who may change its members; without one nobody may.
	Secret string
}

// DefaultLayout is the classroom that everybody starts with.
func DefaultLayout() Layout {
	return Layout{Host: "127.0.0.1", Ensemble: 3, Kafka: 3, Pulsar: 2, Bookies: 4, Pace: node.Classroom}
}

func (l Layout) validate() error {
	for _, count := range []struct {
		flag     string
		n, least int
	}{{"--ensemble", l.Ensemble, 0}, {"--kafka", l.Kafka, 0}, {"--pulsar", l.Pulsar, 0}, {"--bookies", l.Bookies, 0}} {
		if count.n < count.least || count.n > maxNodes {
			return fmt.Errorf("%s %d: there can be %d to %d of them", count.flag, count.n, count.least, maxNodes)
		}
	}
	if l.PortOffset < 0 || l.PortOffset > 65535-portKafka-maxNodes {
		return fmt.Errorf("--port-offset %d: it must be from 0 to %d, so that all ports are below 65536", l.PortOffset, 65535-portKafka-maxNodes)
	}
	switch {
	case len(l.ZooKeeper) == 0 && l.Ensemble == 0:
		return fmt.Errorf("--ensemble 0 needs --zookeeper: somebody must coordinate")
	case l.Pulsar > 0 && l.Bookies == 0:
		return fmt.Errorf("--bookies 0 with --pulsar %d: Pulsar-mode brokers keep their messages in bookies", l.Pulsar)
	}
	for _, server := range l.ZooKeeper {
		if _, _, err := net.SplitHostPort(server); err != nil {
			return fmt.Errorf("--zookeeper %s: %w", server, err)
		}
	}
	return nil
}

// Address is a port of this machine: plus the offset, on the layout's host.
func (l Layout) Address(port int) string {
	return net.JoinHostPort(l.Host, strconv.Itoa(port+l.PortOffset))
}

// zooKeeper are the servers' addresses for clients.
func (l Layout) zooKeeper() []string {
	if len(l.ZooKeeper) > 0 {
		return l.ZooKeeper
	}
	var servers []string
	for _, id := range l.numbers(node.RoleEnsemble) {
		servers = append(servers, l.Address(portZooKeeper+id-1))
	}
	return servers
}

// Nodes lists the nodes' configs.
func (l Layout) Nodes() ([]node.Config, error) {
	if err := l.validate(); err != nil {
		return nil, err
	}
	counts := map[string]int{}
	peers := map[int]string{}
	for _, role := range roleOrder {
		counts[role] = len(l.numbers(role))
	}
	for _, id := range l.numbers(node.RoleEnsemble) {
		peers[id] = l.Address(portPeer + id - 1)
	}
	var nodes []node.Config
	for _, role := range roleOrder {
		for _, id := range l.numbers(role) {
			config := node.Config{Role: role, ID: id, Addresses: map[string]node.Address{}, Pace: l.Pace, Counts: counts,
				Peers: peers, ZooKeeper: l.zooKeeper(), NodeOf: l.nodeOf, Secret: l.Secret}
			for purpose, first := range firstPorts[role] {
				config.Addresses[purpose] = node.Address{Listen: l.Address(first + id - 1)}
			}
			if err := config.Validate(); err != nil {
				return nil, err
			}
			nodes = append(nodes, config)
		}
	}
	return nodes, nil
}
