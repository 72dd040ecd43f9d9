package world

import (
	"maps"

	"twinlog/engine/trace"
)

// The states of a node, as in engine/cluster.
const (
	stateStarting = "starting"
	stateRunning  = "running"
	statePaused   = "paused"
)

func (s *State) applyNode(name string, event trace.Event) {
	switch event := event.(type) {
	case trace.NodeStarted:
		addresses := maps.Clone(event.Addresses)
		if addresses == nil {
			addresses = map[string]string{}
		}
		s.Nodes[name] = &Node{Role: event.Role, ID: event.ID, State: stateStarting, Addresses: addresses}
	case trace.NodeReady:
		s.setNodeState(name, stateRunning)
	case trace.NodePaused:
		s.setNodeState(name, statePaused)
	case trace.NodeResumed:
		s.setNodeState(name, stateRunning)
	case trace.NodeStopped:
		if node := s.Nodes[name]; node != nil {
			node.State, node.Detail = event.Reason, event.Detail
		}
		s.forgetMemoryOf(name)
	case trace.NodeRemoved:
		delete(s.Nodes, name)
	case trace.DiskChanged:
		if node := s.Nodes[name]; node != nil {
			node.Disk = nil
			if disk := (Disk{DelayMS: event.DelayMS, Full: event.Full, FailSync: event.FailSync}); disk != (Disk{}) {
				node.Disk = &disk
			}
		}
	case trace.LinkChanged:
		link := Link{From: event.From, To: event.To, Cut: event.Cut, DelayMS: event.DelayMS, JitterMS: event.JitterMS,
			BytesPerSecond: event.BytesPerSecond}
		key := event.From + ">" + event.To
		if link == (Link{From: event.From, To: event.To}) {
			delete(s.Links, key)
		} else {
			s.Links[key] = &link
		}
	}
}

func (s *State) setNodeState(name, state string) {
	if node := s.Nodes[name]; node != nil {
		node.State = state
	}
}

// forgetMemoryOf ends what a node that is gone held in memory only. What it wrote into the ensemble stays until the ensemble says
// that it is gone: a dead broker is registered, and owns its bundles, until its session expires.
func (s *State) forgetMemoryOf(name string) {
	s.forgetEnsembleServer(name)
	s.forgetKafkaBroker(name)
	s.forgetPulsarBroker(name)
	s.forgetAutorecovery(name)
	if s.ensembleUnseen() {
		s.forgetRegistrationsOf(name)
	}
}

// ensembleUnseen: the coordination service is one that records no trace (a real ZooKeeper), so that the end of an ephemeral znode is
// not seen. Then a registration is taken to end with its node, which is early by up to a session timeout.
func (s *State) ensembleUnseen() bool {
	return len(s.Ensemble.Znodes) == 0 && s.Ensemble.Applied.Zxid == 0
}

func (s *State) forgetRegistrationsOf(name string) {
	for id, broker := range s.Kafka.Brokers {
		if broker.Node == name {
			s.kafkaBrokerUnregistered(id)
		}
	}
	if broker := s.Kafka.Brokers[id32(s.Kafka.Controller.Broker)]; broker != nil && broker.Node == name {
		s.Kafka.Controller.Broker = -1
	}
	if broker := s.Pulsar.Brokers[name]; broker != nil {
		broker.Registered = false
	}
	if s.Pulsar.Leader == name {
		s.Pulsar.Leader = ""
	}
	for _, bundle := range s.Pulsar.Bundles {
		if bundle.Owner == name {
			bundle.Owner = ""
		}
	}
	for _, bookie := range s.Pulsar.Bookies {
		if bookie.Node == name {
			bookie.Registered = false
		}
	}
}
