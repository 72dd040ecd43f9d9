package observe

import (
	"maps"
	"slices"
	"strconv"

	"twinlog/engine/world"
)

// Trace is the state that the trace gives, in the form that conditions look at: what is missing is the zero value, never a null.
type Trace struct {
	Nodes    map[string]string `expr:"nodes"` // state by name: running, paused, stopped, killed, failed
	Ensemble Ensemble          `expr:"ensemble"`
	Kafka    KafkaTrace        `expr:"kafka"`
	Pulsar   PulsarTrace       `expr:"pulsar"`
}

// Ensemble is the coordination service.
type Ensemble struct {
	Leader string           `expr:"leader"` // node; empty: none
	Term   int              `expr:"term"`
	Znodes map[string]Znode `expr:"znodes"` // by path
	// Watches: by path, the sorted clients (node names, or "client") with a live session that watches it.
	Watches map[string][]string `expr:"watches"`
}

// Znode is one znode.
type Znode struct {
	Exists  bool   `expr:"exists"`
	Mode    string `expr:"mode"` // persistent, ephemeral, container, ttl
	Data    string `expr:"data"`
	Version int    `expr:"version"`
	Session string `expr:"session"` // owner of an ephemeral
}

// KafkaTrace is the Kafka-mode cluster as the trace tells.
type KafkaTrace struct {
	Controller struct {
		Broker int    `expr:"broker"` // -1: none
		Node   string `expr:"node"`   // its name; empty: none
		Epoch  int    `expr:"epoch"`
	} `expr:"controller"`
	Partitions map[string]Partition `expr:"partitions"` // by "orders-0"
	Groups     map[string]Group     `expr:"groups"`
}

// Partition is what the controller decided of a partition, and where its replicas' logs end.
type Partition struct {
	Exists      bool           `expr:"exists"`
	Leader      int            `expr:"leader"`     // broker id; -1: none
	LeaderNode  string         `expr:"leaderNode"` // empty: none
	LeaderEpoch int            `expr:"leaderEpoch"`
	ISR         []int          `expr:"isr"`
	Replicas    []int          `expr:"replicas"`
	Ends        map[string]int `expr:"ends"` // log end offset by node
	// Of the leader's log: where it begins, how many segments it has, and the first offset of each of the newest 16.
	LogStart int   `expr:"logStart"`
	Segments int   `expr:"segments"`
	Bases    []int `expr:"bases"`
}

// Group is a consumer group at its coordinator.
type Group struct {
	State      string   `expr:"state"`
	Generation int      `expr:"generation"`
	Strategy   string   `expr:"strategy"`
	Members    []Member `expr:"members"` // by client id
}

// Member is one consumer of a group.
type Member struct {
	Client   string   `expr:"client"`   // client.id
	Instance string   `expr:"instance"` // group.instance.id; empty: a dynamic member
	Assigned []string `expr:"assigned"` // "orders-0"
}

// PulsarTrace is the Pulsar-mode cluster as the trace tells.
type PulsarTrace struct {
	Leader  string                 `expr:"leader"`
	Bundles map[string]string      `expr:"bundles"` // owner by "public/default/0x00000000_0x40000000"
	Topics  map[string]TopicLayout `expr:"topics"`  // by full name
}

// TopicLayout says who serves a topic and where it lies.
type TopicLayout struct {
	Owner    string   `expr:"owner"`  // node; empty: nobody serves it
	Bundle   string   `expr:"bundle"` // hash range
	Messages int      `expr:"messages"`
	Ledgers  []Ledger `expr:"ledgers"` // oldest first
}

// Ledger is one ledger of a topic.
type Ledger struct {
	ID          int        `expr:"id"`
	State       string     `expr:"state"` // open, recovering, closed
	WriteQuorum int        `expr:"writeQuorum"`
	AckQuorum   int        `expr:"ackQuorum"`
	Ensembles   [][]string `expr:"ensembles"` // bookies by node name, of each fragment
	LastEntry   int        `expr:"lastEntry"` // -1: empty or not closed
	Recovered   bool       `expr:"recovered"` // closed by recovery
	Fenced      bool       `expr:"fenced"`    // a bookie refuses adds to it
}

// FromState makes the conditions' view of a state. Nil gives the view of a world in which nothing is.
func FromState(state *world.State) Trace {
	if state == nil {
		state = world.New()
	}
	seen := Trace{Nodes: map[string]string{}, Ensemble: ensemble(state), Kafka: kafka(state), Pulsar: pulsar(state)}
	for name, node := range state.Nodes {
		seen.Nodes[name] = node.State
	}
	return seen
}

func ensemble(state *world.State) Ensemble {
	seen := Ensemble{Leader: state.Ensemble.Leader, Term: int(state.Ensemble.Term), Znodes: map[string]Znode{}, Watches: map[string][]string{}}
	for path, znode := range state.Ensemble.Znodes {
		seen.Znodes[path] = Znode{Exists: true, Mode: znode.Mode, Data: znode.Data, Version: int(znode.Version), Session: znode.Session}
	}
	for _, session := range state.Ensemble.Sessions {
		for path := range session.Watches {
			seen.Watches[path] = append(seen.Watches[path], session.Client)
		}
	}
	for _, clients := range seen.Watches {
		slices.Sort(clients)
	}
	return seen
}

func kafka(state *world.State) KafkaTrace {
	seen := KafkaTrace{Partitions: map[string]Partition{}, Groups: map[string]Group{}}
	node := func(broker int32) string {
		if known := state.Kafka.Brokers[strconv.Itoa(int(broker))]; known != nil {
			return known.Node
		}
		return ""
	}
	controller := state.Kafka.Controller
	seen.Controller.Broker, seen.Controller.Node, seen.Controller.Epoch = int(controller.Broker), node(controller.Broker), int(controller.Epoch)
	for topic, detail := range state.Kafka.Topics {
		for number, partition := range detail.Partitions {
			ends := map[string]int{}
			for id, replica := range partition.Logs {
				if broker := state.Kafka.Brokers[id]; broker != nil {
					ends[broker.Node] = int(replica.LEO)
				}
			}
			view := Partition{
				Exists: true, Leader: int(partition.Leader), LeaderNode: node(partition.Leader), LeaderEpoch: int(partition.LeaderEpoch),
				ISR: ints(partition.ISR), Replicas: ints(partition.Replicas), Ends: ends, Bases: []int{},
			}
			if log := partition.Logs[strconv.Itoa(int(partition.Leader))]; log != nil {
				view.LogStart, view.Segments = int(log.LogStart), log.SegmentCount
				for _, segment := range log.Segments {
					view.Bases = append(view.Bases, int(segment.Base))
				}
			}
			seen.Partitions[topic+"-"+number] = view
		}
	}
	for name, group := range state.Kafka.Groups {
		seen.Groups[name] = Group{State: group.State, Generation: int(group.Generation), Strategy: group.Strategy, Members: members(group)}
	}
	return seen
}

func members(group *world.KafkaGroup) []Member {
	list := []Member{}
	for _, id := range slices.Sorted(maps.Keys(group.Members)) {
		member := group.Members[id]
		list = append(list, Member{Client: member.ClientID, Instance: member.InstanceID, Assigned: member.Assigned})
	}
	return list
}

func pulsar(state *world.State) PulsarTrace {
	seen := PulsarTrace{Leader: state.Pulsar.Leader, Bundles: map[string]string{}, Topics: map[string]TopicLayout{}}
	for name, bundle := range state.Pulsar.Bundles {
		seen.Bundles[name] = bundle.Owner
	}
	for name, topic := range state.Pulsar.Topics {
		layout := TopicLayout{Owner: topic.Owner, Bundle: topic.Bundle, Messages: int(topic.Messages), Ledgers: []Ledger{}}
		for _, id := range topic.Ledgers {
			if ledger := state.Pulsar.Ledgers[strconv.FormatInt(id, 10)]; ledger != nil {
				layout.Ledgers = append(layout.Ledgers, ledgerView(id, ledger, state))
			}
		}
		seen.Topics[name] = layout
	}
	return seen
}

func ledgerView(id int64, ledger *world.Ledger, state *world.State) Ledger {
	view := Ledger{
		ID: int(id), State: ledger.State, WriteQuorum: ledger.WriteQuorum, AckQuorum: ledger.AckQuorum, LastEntry: int(ledger.LastEntry),
		Recovered: ledger.Recovered, Fenced: len(ledger.FencedBy) > 0,
	}
	for _, fragment := range ledger.Ensembles {
		nodes := make([]string, 0, len(fragment.Bookies))
		for _, name := range fragment.Bookies {
			if bookie := state.Pulsar.Bookies[name]; bookie != nil {
				name = bookie.Node
			}
			nodes = append(nodes, name)
		}
		view.Ensembles = append(view.Ensembles, nodes)
	}
	return view
}

func ints(from []int32) []int {
	list := make([]int, 0, len(from))
	for _, n := range from {
		list = append(list, int(n))
	}
	return list
}
