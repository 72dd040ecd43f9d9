package world

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"twinlog/engine/trace"
)

var nowhere = Position{Ledger: -1, Entry: -1}

// applyPulsarCluster takes registrations and the ownership of bundles.
func (s *State) applyPulsarCluster(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.PulsarBrokerRegistered:
		s.Pulsar.Brokers[node] = &PulsarBroker{Registered: true, Broker: event.Broker, URL: event.URL}
	case trace.PulsarLeaderElected:
		s.Pulsar.Leader = node
	case trace.PulsarBundleOwned:
		s.Pulsar.Bundles[event.Namespace+"/"+event.Bundle] = &Bundle{Namespace: event.Namespace, Range: event.Bundle, Owner: node}
	case trace.PulsarLookupAnswered:
		s.Pulsar.Lookups = keepLast(s.Pulsar.Lookups, Lookup{Node: node, Topic: event.Topic, Namespace: event.Namespace, Bundle: event.Bundle,
			Hash: event.Hash, Asked: event.Asked, Result: event.Result, Target: s.pulsarBrokerAt(event.URL), Authoritative: event.Authoritative}, keptLookups)
	case trace.PulsarBrokerMeasured:
		if broker := s.Pulsar.Brokers[node]; broker != nil {
			broker.Load = BrokerLoad{RateIn: event.RateIn, RateOut: event.RateOut, BytesIn: event.BytesIn, BytesOut: event.BytesOut,
				Connections: event.Connections, CacheBytes: event.CacheBytes, CacheLimit: event.CacheLimit, CacheHits: event.CacheHits, CacheMisses: event.CacheMisses}
		}
	case trace.PulsarBundleReleased:
		key := event.Namespace + "/" + event.Bundle
		bundle := s.Pulsar.Bundles[key]
		switch {
		case bundle == nil:
		case event.Reason == "split": // its range is now that of other bundles
			delete(s.Pulsar.Bundles, key)
		case bundle.Owner == node:
			bundle.Owner = ""
		}
	}
}

// keptLookups bounds the lookups that the state remembers.
const keptLookups = 16

// keepLast appends and drops the oldest beyond a limit. The slice is made anew, so that a clone of the state keeps its own.
func keepLast[T any](kept []T, newest T, limit int) []T {
	return append(slices.Clone(kept[max(0, len(kept)+1-limit):]), newest)
}

// pulsarBrokerAt is the broker that serves clients at a URL: the one that it registered, or the address of one of its listeners.
func (s *State) pulsarBrokerAt(url string) string {
	address, _ := strings.CutPrefix(url, "pulsar://")
	for _, name := range slices.Sorted(maps.Keys(s.Pulsar.Brokers)) {
		if broker := s.Pulsar.Brokers[name]; broker.URL == url {
			return name
		}
		if node := s.Nodes[name]; node != nil && slices.Contains(slices.Collect(maps.Values(node.Addresses)), address) {
			return name
		}
	}
	return ""
}

// pulsarZnodeDeleted: a bundle is owned as long as /namespace/<tenant>/<namespace>/<range> is there; a namespace exists as long as
// /admin/policies/<tenant>/<namespace> does.
func (s *State) pulsarZnodeDeleted(path string) {
	if key, found := strings.CutPrefix(path, "/namespace/"); found {
		if bundle := s.Pulsar.Bundles[key]; bundle != nil {
			bundle.Owner = ""
		}
	}
	if namespace, found := strings.CutPrefix(path, "/admin/policies/"); found {
		for key, bundle := range s.Pulsar.Bundles {
			if bundle.Namespace == namespace {
				delete(s.Pulsar.Bundles, key)
			}
		}
	}
}

// applyPulsarTopic takes what the broker that serves a topic says about it and its producers.
func (s *State) applyPulsarTopic(node string, event trace.Event) {
	switch event := event.(type) {
	case trace.PulsarTopicLoaded:
		s.pulsarTopicLoaded(node, event)
	case trace.PulsarTopicUnloaded:
		if topic := s.Pulsar.Topics[event.Topic]; topic != nil && topic.Owner == node {
			topic.unload()
		}
	case trace.PulsarTopicDeleted:
		delete(s.Pulsar.Topics, event.Topic)
	case trace.PulsarProducerAttached:
		if topic := s.Pulsar.Topics[event.Topic]; topic != nil {
			topic.Producers[event.Producer] = event.Client
		}
	case trace.PulsarProducerDetached:
		if topic := s.Pulsar.Topics[event.Topic]; topic != nil && topic.Owner == node {
			delete(topic.Producers, event.Producer)
		}
	case trace.PulsarPublished:
		topic := s.Pulsar.Topics[event.Topic]
		if topic == nil {
			return
		}
		topic.LastPublished = Position{Ledger: event.Ledger, Entry: event.Entry}
		topic.Messages += int64(event.Messages)
		for _, subscription := range topic.Subscriptions {
			subscription.Backlog += int64(event.Folded.Events())
		}
	}
}

func (s *State) pulsarTopicLoaded(node string, event trace.PulsarTopicLoaded) {
	topic := s.Pulsar.Topics[event.Topic]
	if topic == nil {
		topic = &PulsarTopic{LastPublished: nowhere, Subscriptions: map[string]*Subscription{}}
		s.Pulsar.Topics[event.Topic] = topic
	}
	topic.unload()
	topic.Owner, topic.Namespace, topic.Bundle, topic.Hash = node, event.Namespace, event.Bundle, event.Hash
	topic.Ledgers = present(event.Ledgers)
	s.offloadedFound(node, event)
}

// unload: nobody serves the topic, so nobody is connected to it. Its ledgers and cursors are with the bookies.
func (topic *PulsarTopic) unload() {
	topic.Owner = ""
	topic.Producers = map[string]string{}
	for _, subscription := range topic.Subscriptions {
		subscription.Active = ""
		subscription.Consumers = map[string]*Consumer{}
		subscription.Pending, subscription.Replay, subscription.Delayed, subscription.Redelivered = 0, 0, 0, 0
	}
}

func (s *State) forgetPulsarBroker(node string) {
	if broker := s.Pulsar.Brokers[node]; broker != nil {
		broker.Load = BrokerLoad{}
	}
	for _, topic := range s.Pulsar.Topics {
		if topic.Owner == node {
			topic.unload()
		}
	}
}

// topicOf is the topic that a managed ledger holds: "public/default/persistent/orders" is persistent://public/default/orders. Nil
// when it is none or not known.
func (s *State) topicOf(managedLedger string) *PulsarTopic {
	parts := strings.SplitN(managedLedger, "/", 4)
	if len(parts) != 4 {
		return nil
	}
	name, err := url.PathUnescape(parts[3])
	if err != nil {
		return nil
	}
	return s.Pulsar.Topics[parts[2]+"://"+parts[0]+"/"+parts[1]+"/"+name]
}
