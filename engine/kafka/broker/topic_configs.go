package broker

import (
	"maps"
	"sync"

	"twinlog/engine/kafka/broker/configs"
)

// topicConfigs is what this broker has read of /config: the topics' own configurations and the brokers' dynamic ones.
type topicConfigs struct {
	rules *configs.Rules

	mu       sync.RWMutex
	topics   map[string]map[string]string
	own      map[string]string // this broker's
	defaults map[string]string // all brokers'
}

func newTopicConfigs(rules *configs.Rules) *topicConfigs {
	return &topicConfigs{rules: rules, topics: map[string]map[string]string{}}
}

// settings are the effective settings of a topic.
func (t *topicConfigs) settings(topic string) configs.TopicSettings {
	return t.rules.Settings(t.merged(topic))
}

// merged is a topic's configuration with the dynamic broker configurations below it.
func (t *topicConfigs) merged(topic string) map[string]string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	merged := map[string]string{}
	for _, entry := range t.rules.Topic(t.topics[topic], t.own, t.defaults) {
		merged[entry.Definition.Name] = entry.Value
	}
	return merged
}

func (t *topicConfigs) setTopic(topic string, config map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if config == nil {
		delete(t.topics, topic)
		return
	}
	t.topics[topic] = maps.Clone(config)
}

func (t *topicConfigs) setBroker(own, defaults map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.own, t.defaults = own, defaults
}

// topic lists all keys of a topic for DescribeConfigs.
func (t *topicConfigs) topic(name string) []configs.Entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rules.Topic(t.topics[name], t.own, t.defaults)
}

// broker lists all keys of this broker for DescribeConfigs.
func (t *topicConfigs) broker() []configs.Entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.rules.Broker(t.own, t.defaults)
}

// defaultsOnly lists what is set for all brokers.
func (t *topicConfigs) defaultsOnly() []configs.Entry {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var list []configs.Entry
	for _, entry := range t.rules.Broker(nil, t.defaults) {
		if _, set := t.defaults[entry.Definition.Name]; set {
			list = append(list, entry)
		}
	}
	return list
}
