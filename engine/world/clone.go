package world

import (
	"maps"
	"slices"
)

// Clone returns a copy that shares nothing with the state, so that a reader can keep it while the state goes on.
func (s *State) Clone() *State {
	clone := *s
	clone.Nodes = cloneMap(s.Nodes, func(node *Node) {
		node.Addresses = maps.Clone(node.Addresses)
		if node.Disk != nil {
			disk := *node.Disk
			node.Disk = &disk
		}
	})
	clone.Links = cloneMap(s.Links, nil)
	clone.Dropped = maps.Clone(s.Dropped)
	clone.Ensemble.Servers = cloneMap(s.Ensemble.Servers, func(server *EnsembleServer) { server.Terms = slices.Clone(server.Terms) })
	clone.Ensemble.Fired = slices.Clone(s.Ensemble.Fired)
	clone.Ensemble.Ended = slices.Clone(s.Ensemble.Ended)
	for i := range clone.Ensemble.Ended {
		clone.Ensemble.Ended[i].Ephemerals = slices.Clone(clone.Ensemble.Ended[i].Ephemerals)
	}
	clone.Ensemble.Znodes = cloneMap(s.Ensemble.Znodes, nil)
	clone.Ensemble.Sessions = cloneMap(s.Ensemble.Sessions, func(session *Session) {
		watches := make(map[string][]string, len(session.Watches))
		for path, types := range session.Watches {
			watches[path] = slices.Clone(types)
		}
		session.Watches = watches
	})
	clone.Kafka = s.Kafka.clone()
	clone.Pulsar = s.Pulsar.clone()
	return &clone
}

func (k Kafka) clone() Kafka {
	k.Brokers = cloneMap(k.Brokers, nil)
	k.Topics = cloneMap(k.Topics, func(topic *KafkaTopic) {
		topic.Config = maps.Clone(topic.Config)
		topic.Partitions = cloneMap(topic.Partitions, func(partition *KafkaPartition) {
			partition.ISR = slices.Clone(partition.ISR)
			partition.Replicas = slices.Clone(partition.Replicas)
			partition.Logs = cloneMap(partition.Logs, func(log *KafkaLog) {
				log.Segments, log.Epochs = slices.Clone(log.Segments), slices.Clone(log.Epochs)
			})
			partition.Refused = maps.Clone(partition.Refused)
			partition.Acknowledged = maps.Clone(partition.Acknowledged)
		})
	})
	k.Groups = cloneMap(k.Groups, func(group *KafkaGroup) {
		group.Members = cloneMap(group.Members, func(member *KafkaGroupMember) { member.Assigned = slices.Clone(member.Assigned) })
		group.Offsets = maps.Clone(group.Offsets)
	})
	k.Reactors = cloneMap(k.Reactors, func(reactor *KafkaReactor) { reactor.Waits = slices.Clone(reactor.Waits) })
	return k
}

func (p Pulsar) clone() Pulsar {
	p.Brokers = cloneMap(p.Brokers, nil)
	p.Bundles = cloneMap(p.Bundles, nil)
	p.Bookies = cloneMap(p.Bookies, nil)
	p.Lookups = slices.Clone(p.Lookups)
	p.Topics = cloneMap(p.Topics, func(topic *PulsarTopic) {
		topic.Ledgers = slices.Clone(topic.Ledgers)
		topic.Producers = maps.Clone(topic.Producers)
		topic.Subscriptions = cloneMap(topic.Subscriptions, func(subscription *Subscription) {
			subscription.Consumers = cloneMap(subscription.Consumers, nil)
			subscription.Acknowledged = slices.Clone(subscription.Acknowledged)
		})
	})
	p.Ledgers = cloneMap(p.Ledgers, func(ledger *Ledger) {
		ledger.Ensembles = slices.Clone(ledger.Ensembles)
		for i := range ledger.Ensembles {
			ledger.Ensembles[i].Bookies = slices.Clone(ledger.Ensembles[i].Bookies)
		}
		ledger.FencedBy = slices.Clone(ledger.FencedBy)
		ledger.Stored = cloneMap(ledger.Stored, nil)
		if ledger.Offload != nil {
			offload := *ledger.Offload
			ledger.Offload = &offload
		}
		if ledger.UnderReplication != nil {
			lacks := *ledger.UnderReplication
			lacks.Missing, lacks.Lost, lacks.Replacements = slices.Clone(lacks.Missing), slices.Clone(lacks.Lost), slices.Clone(lacks.Replacements)
			ledger.UnderReplication = &lacks
		}
	})
	return p
}

// cloneMap copies a map and what its values point at; deepen then copies what the copied value itself shares.
func cloneMap[V any](from map[string]*V, deepen func(*V)) map[string]*V {
	to := make(map[string]*V, len(from))
	for key, value := range from {
		copied := *value
		if deepen != nil {
			deepen(&copied)
		}
		to[key] = &copied
	}
	return to
}
