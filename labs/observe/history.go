package observe

import (
	"fmt"
	"slices"

	"twinlog/engine/trace"
	"twinlog/engine/world"
)

// Death is the end of a node's life, with what the node was to others at that moment.
type Death struct {
	N      uint64 `expr:"n"` // the event
	Node   string `expr:"node"`
	Reason string `expr:"reason"` // killed (a crash), stopped (in order), failed, lost
	// Controller: it was the Kafka-mode controller. Leads: the partitions ("orders-0") that it led.
	Controller bool     `expr:"controller"`
	Leads      []string `expr:"leads"`
	// Owns: the Pulsar topics that the broker served. Stores: those whose open ledger has the bookie in its ensemble.
	Owns   []string `expr:"owns"`
	Stores []string `expr:"stores"`
	// EnsembleLeader: it led the ensemble. Majority: a majority of the ensemble's servers still ran afterwards.
	EnsembleLeader bool `expr:"ensembleLeader"`
	Majority       bool `expr:"majority"`
}

// Acknowledged is an answer to a producer that its records are stored, with what stood behind it.
type Acknowledged struct {
	N           uint64 `expr:"n"` // the event
	Topic       string `expr:"topic"`
	Acks        int    `expr:"acks"` // of the request: -1 (all) or 1; nobody is told anything with 0
	Records     int    `expr:"records"`
	InSync      int    `expr:"inSync"` // size of the ISR at that moment
	LeaderEpoch int    `expr:"leaderEpoch"`
}

// LedgerLife is a ledger of a Pulsar topic as it came to be and ended, although it may be deleted by now.
type LedgerLife struct {
	ID        int        `expr:"id"`
	Topic     string     `expr:"topic"`
	State     string     `expr:"state"` // open, closed
	Ensembles [][]string `expr:"ensembles"`
	Recovered bool       `expr:"recovered"` // closed by recovery, not by its writer
	LastEntry int        `expr:"lastEntry"` // of a closed ledger; -1: empty
}

// History is what happened since an attempt began, in the few words that labs ask for. It lists the oldest first.
type History struct {
	Deaths       []Death
	Acknowledged []Acknowledged
	Ledgers      []LedgerLife
}

// past follows the few things that histories ask for through the events since a state.
type past struct {
	controller     string
	brokerNode     map[int]string
	partitions     map[string]Partition
	owner          map[string]string // of a Pulsar topic
	bookieNode     map[string]string
	servers        map[string]bool // of the ensemble; whether it runs
	ensembleLeader string

	History
}

// Since tells what died, what was acknowledged and which ledgers there were in events that follow a state. The state now gives the nodes'
// names.
func Since(start Trace, now *world.State, events []Event) History {
	p := &past{
		controller: start.Kafka.Controller.Node, brokerNode: map[int]string{}, partitions: map[string]Partition{}, owner: map[string]string{},
		bookieNode: map[string]string{}, servers: map[string]bool{}, ensembleLeader: start.Ensemble.Leader,
	}
	for _, broker := range now.Kafka.Brokers {
		if node := now.Nodes[broker.Node]; node != nil {
			p.brokerNode[node.ID] = broker.Node
		}
	}
	for name, bookie := range now.Pulsar.Bookies {
		p.bookieNode[name] = bookie.Node
	}
	for name, node := range now.Nodes {
		if node.Role == "ensemble" {
			state, known := start.Nodes[name]
			p.servers[name] = !known || state == "running"
		}
	}
	for name, partition := range start.Kafka.Partitions {
		p.partitions[name] = partition
	}
	for name, topic := range start.Pulsar.Topics {
		p.owner[name] = topic.Owner
		for _, ledger := range topic.Ledgers {
			p.Ledgers = append(p.Ledgers, LedgerLife{
				ID: ledger.ID, Topic: name, State: ledger.State, Ensembles: ledger.Ensembles, Recovered: ledger.Recovered, LastEntry: ledger.LastEntry,
			})
		}
	}
	slices.SortFunc(p.Ledgers, func(a, b LedgerLife) int { return a.ID - b.ID })
	for _, event := range events {
		p.follow(event)
	}
	return p.History
}

func (p *past) followLedger(event Event) {
	id := event.number("ledger")
	if event.Kind == "bookkeeper.ledgerOpened" {
		if topic := trace.TopicOf(event.text("managedLedger")); topic != "" && event.text("cursor") == "" {
			p.Ledgers = append(p.Ledgers, LedgerLife{ID: id, Topic: topic, State: "open", Ensembles: [][]string{p.bookies(event.list("ensemble"))}, LastEntry: -1})
		}
		return
	}
	for i := range p.Ledgers {
		ledger := &p.Ledgers[i]
		switch {
		case ledger.ID != id:
		case event.Kind == "bookkeeper.ensembleChanged":
			ledger.Ensembles = append(slices.Clone(ledger.Ensembles), p.bookies(event.list("ensemble")))
		case event.Kind == "bookkeeper.ledgerClosed":
			ledger.State, ledger.LastEntry = "closed", event.number("lastEntry")
			ledger.Recovered, _ = event.Data["recovered"].(bool)
		}
	}
}

func (p *past) follow(event Event) {
	switch event.Kind {
	case "kafka.controllerElected":
		p.controller = event.Node
	case "kafka.partitionStateChanged":
		p.partitions[partitionOf(event)] = Partition{
			Leader: event.number("leader"), LeaderEpoch: event.number("leaderEpoch"), ISR: make([]int, len(event.list("isr"))),
			LeaderNode: p.brokerNode[event.number("leader")],
		}
	case "kafka.acknowledged":
		partition := p.partitions[partitionOf(event)]
		p.Acknowledged = append(p.Acknowledged, Acknowledged{
			N: event.N, Topic: event.text("topic"), Acks: event.number("acks"), Records: event.number("lastOffset") - event.number("baseOffset") + 1,
			InSync: len(partition.ISR), LeaderEpoch: partition.LeaderEpoch,
		})
	case "pulsar.topicLoaded":
		p.owner[event.text("topic")] = event.Node
	case "pulsar.topicUnloaded":
		if topic := event.text("topic"); p.owner[topic] == event.Node {
			p.owner[topic] = ""
		}
	case "bookkeeper.ledgerOpened", "bookkeeper.ensembleChanged", "bookkeeper.ledgerClosed":
		p.followLedger(event)
	case "ensemble.roleChanged":
		if event.text("role") == "leader" {
			p.ensembleLeader = event.Node
		}
	case "node.ready":
		if _, isServer := p.servers[event.Node]; isServer {
			p.servers[event.Node] = true
		}
	case "node.stopped":
		p.die(event)
	}
}

func (p *past) bookies(names []any) (nodes []string) {
	for _, name := range names {
		node := fmt.Sprint(name)
		if known := p.bookieNode[node]; known != "" {
			node = known
		}
		nodes = append(nodes, node)
	}
	return nodes
}

func (p *past) die(event Event) {
	death := Death{
		N: event.N, Node: event.Node, Reason: event.text("reason"), Controller: event.Node == p.controller, EnsembleLeader: event.Node == p.ensembleLeader,
		Leads: []string{}, Owns: []string{}, Stores: []string{},
	}
	for name, partition := range p.partitions {
		if partition.LeaderNode == event.Node {
			death.Leads = append(death.Leads, name)
		}
	}
	for topic, owner := range p.owner {
		if owner == event.Node {
			death.Owns = append(death.Owns, topic)
		}
	}
	for _, ledger := range p.Ledgers {
		if ledger.State == "open" && len(ledger.Ensembles) > 0 && slices.Contains(ledger.Ensembles[len(ledger.Ensembles)-1], event.Node) {
			death.Stores = append(death.Stores, ledger.Topic)
		}
	}
	if _, isServer := p.servers[event.Node]; isServer {
		p.servers[event.Node] = false
	}
	running := 0
	for _, runs := range p.servers {
		if runs {
			running++
		}
	}
	death.Majority = 2*running > len(p.servers)
	slices.Sort(death.Leads)
	slices.Sort(death.Owns)
	slices.Sort(death.Stores)
	p.Deaths = append(p.Deaths, death)
}

func partitionOf(event Event) string {
	return fmt.Sprintf("%s-%d", event.text("topic"), event.number("partition"))
}

// text, number and list read a field of the event's data; what is not there, or of another kind, is the zero value.
func (e Event) text(field string) string {
	text, _ := e.Data[field].(string)
	return text
}

func (e Event) number(field string) int {
	number, _ := e.Data[field].(float64)
	return int(number)
}

func (e Event) list(field string) []any {
	list, _ := e.Data[field].([]any)
	return list
}
