package node

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"twinlog/engine/ensemble/server"
)

// The roles of a node.
const (
	RoleEnsemble = "ensemble"
	RoleKafka    = "kafka"
	RolePulsar   = "pulsar"
	RoleBookie   = "bookie"
)

// What an address of a node is for.
const (
	PurposeZooKeeper = "zookeeper" // an ensemble server's clients
	PurposePeer      = "peer"      // an ensemble server's fellows
	PurposeKafka     = "kafka"
	PurposePulsar    = "pulsar" // Pulsar's binary protocol
	PurposeHTTP      = "http"   // Pulsar's lookup and admin REST
	PurposeBookie    = "bookie"
)

// purposes lists what each role listens for.
var purposes = map[string][]string{
	RoleEnsemble: {PurposeZooKeeper, PurposePeer},
	RoleKafka:    {PurposeKafka},
	RolePulsar:   {PurposePulsar, PurposeHTTP},
	RoleBookie:   {PurposeBookie},
}

// Purposes lists what a role's addresses are for, and whether there is such a role.
func Purposes(role string) ([]string, bool) {
	list, ok := purposes[role]
	return slices.Clone(list), ok
}

// Address is one way to a node.
type Address struct {
	// Listen is what is listened on: host:port.
	Listen string
	// Advertised is what others are told to dial; empty: Listen.
	Advertised string
}

// Advertise is what others are told to dial.
func (a Address) Advertise() string {
	if a.Advertised != "" {
		return a.Advertised
	}
	return a.Listen
}

// Config says which node it is.
type Config struct {
	Role string
	// ID is the number in the node's name, from 1; a Kafka-mode broker's id.
	ID int
	// Addresses by purpose: the ones for everybody.
	Addresses map[string]Address
	// Inside are second addresses for nodes and clients within a container network, where Addresses are published ports that only the
	// world outside can dial. Kafka-mode and Pulsar-mode brokers have them as a second listener; empty means there is no inside.
	Inside map[string]Address
	// Peers are the peer addresses of all ensemble servers by their numbers, this one's included.
	Peers map[int]string
	// ZooKeeper servers (host:port) that everybody but the ensemble itself uses.
	ZooKeeper []string
	Pace      Pace
	// LedgerEntries, of a Pulsar-mode broker: a topic's ledger is full when it has so many (managedLedgerMaxEntriesPerLedger); 0: as Pace
	// says.
	LedgerEntries int64
	// Counts says how many nodes of each role the classroom has, for defaults such as the number of copies; missing: enough of them.
	Counts map[string]int
	// Zoo is what ZooKeeper's own configuration file says, for an ensemble server that has one; it goes before Peers and Pace.
	Zoo *server.ZooConfig
	// Secret is the password of an ensemble server's super user, who may change the ensemble's members; without one nobody may.
	Secret string
	// NodeOf names the node at an address, for the trace; nil: the address itself.
	NodeOf func(address string) string
}

// Name is the node's name: "kafka-1".
func (c Config) Name() string { return Name(c.Role, c.ID) }

// Name is the name of the node of a role and number.
func Name(role string, id int) string { return role + "-" + strconv.Itoa(id) }

// AddressesToTell are the addresses by purpose as others see them.
func (c Config) AddressesToTell() map[string]string {
	told := make(map[string]string, len(c.Addresses))
	for purpose, address := range c.Addresses {
		told[purpose] = address.Advertise()
	}
	return told
}

// Validate checks that the config is one of a node that can run.
func (c Config) Validate() error {
	wanted, ok := purposes[c.Role]
	if !ok {
		return fmt.Errorf("there is no role %q; roles are %v", c.Role, slices.Sorted(maps.Keys(purposes)))
	}
	fail := func(err error) error { return fmt.Errorf("node %s: %w", c.Name(), err) }
	if c.ID < 1 || c.ID > 255 {
		return fail(fmt.Errorf("number %d is not from 1 to 255", c.ID))
	}
	for _, purpose := range wanted {
		if c.Addresses[purpose].Listen == "" && c.Zoo == nil {
			return fail(fmt.Errorf("no address for %s", purpose))
		}
	}
	for _, all := range []map[string]Address{c.Addresses, c.Inside} {
		for purpose, address := range all {
			if !slices.Contains(wanted, purpose) {
				return fail(fmt.Errorf("an address for %s, which is not for this role", purpose))
			}
			for _, one := range []string{address.Listen, address.Advertise()} {
				if _, _, err := net.SplitHostPort(one); err != nil {
					return fail(fmt.Errorf("address %q for %s: %w", one, purpose, err))
				}
			}
		}
	}
	switch {
	case c.Zoo != nil && c.Role != RoleEnsemble:
		return fail(errors.New("a ZooKeeper configuration file is for an ensemble server"))
	case c.Role == RoleEnsemble && len(c.Peers) > 0 && c.Peers[c.ID] == "":
		return fail(fmt.Errorf("it is not among the peers %v", c.Peers))
	case c.Role != RoleEnsemble && len(c.ZooKeeper) == 0:
		return fail(errors.New("no ZooKeeper server is given"))
	}
	return c.Pace.validate()
}
