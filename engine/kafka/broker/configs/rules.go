package configs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Rules answers all questions about configurations for one broker: it knows what the broker's own (static) configuration says. It never
// changes, so any goroutine may ask.
type Rules struct {
	static map[string]string
	topic  map[string]Definition
	broker map[string]Definition
}

// NewRules returns the rules of a broker with a static configuration, as server.properties would hold it. Unknown keys are an error.
func NewRules(static map[string]string) (*Rules, error) {
	r := &Rules{static: static, topic: map[string]Definition{}, broker: map[string]Definition{}}
	for _, definition := range topicDefinitions {
		r.topic[definition.Name] = definition
		if definition.Synonym != "" {
			asBroker := definition
			asBroker.Name, asBroker.Synonym = definition.Synonym, ""
			r.broker[asBroker.Name] = asBroker
		}
	}
	for _, definition := range brokerDefinitions {
		definition.Dynamic = !slices.Contains(readOnlyBroker, definition.Name)
		r.broker[definition.Name] = definition
	}
	for key, value := range static {
		definition, known := r.broker[key]
		if !known {
			return nil, fmt.Errorf("configuration %s is not known", key)
		}
		if err := definition.check(value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// ValidateTopic refuses an unknown key or a bad value.
func (r *Rules) ValidateTopic(config map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		definition, known := r.topic[key]
		if !known {
			return fmt.Errorf("unknown topic config name: %s", key)
		}
		if err := definition.check(config[key]); err != nil {
			return err
		}
	}
	return nil
}

// ValidateBroker refuses what is unknown, bad, or cannot be changed while the broker runs. Default means all brokers' defaults.
func (r *Rules) ValidateBroker(config map[string]string, isDefault bool) error {
	for _, key := range slices.Sorted(maps.Keys(config)) {
		definition, known := r.broker[key]
		if !known {
			continue // Kafka lets plugins have keys of their own
		}
		if !definition.Dynamic {
			return fmt.Errorf("cannot update these configs dynamically: %s", key)
		}
		if err := definition.check(config[key]); err != nil {
			return err
		}
	}
	return nil
}

// IsList says whether a key is a list, to which values can be added one by one.
func (r *Rules) IsList(key string) bool {
	if definition, known := r.topic[key]; known {
		return definition.Type == typeList
	}
	return r.broker[key].Type == typeList
}

// Entry is a key with its effective value.
type Entry struct {
	Definition Definition
	Value      string
	Source     kmsg.ConfigSource
	Synonyms   []Synonym // in order of precedence, the effective one first
}

// Synonym is one place that gives, or would give, a key its value.
type Synonym struct {
	Name   string
	Value  string
	Source kmsg.ConfigSource
}

// Topic lists every key of a topic whose own configuration is given, by name. Defaults is the dynamic configuration of all brokers, own that
// of this one.
func (r *Rules) Topic(config, own, defaults map[string]string) []Entry {
	entries := make([]Entry, 0, len(topicDefinitions))
	for _, definition := range topicDefinitions {
		var synonyms []Synonym
		if value, set := config[definition.Name]; set {
			synonyms = append(synonyms, Synonym{definition.Name, value, kmsg.ConfigSourceDynamicTopicConfig})
		}
		if definition.Synonym != "" {
			synonyms = append(synonyms, r.brokerSynonyms(definition.Synonym, definition.Default, own, defaults)...)
		}
		entries = append(entries, entryOf(definition, synonyms))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Definition.Name, b.Definition.Name) })
	return entries
}

// Broker lists every key of a broker.
func (r *Rules) Broker(own, defaults map[string]string) []Entry {
	entries := make([]Entry, 0, len(r.broker))
	for _, definition := range r.broker {
		entries = append(entries, entryOf(definition, r.brokerSynonyms(definition.Name, definition.Default, own, defaults)))
	}
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Definition.Name, b.Definition.Name) })
	return entries
}

func (r *Rules) brokerSynonyms(key, standard string, own, defaults map[string]string) (synonyms []Synonym) {
	if value, set := own[key]; set {
		synonyms = append(synonyms, Synonym{key, value, kmsg.ConfigSourceDynamicBrokerConfig})
	}
	if value, set := defaults[key]; set {
		synonyms = append(synonyms, Synonym{key, value, kmsg.ConfigSourceDynamicDefaultBrokerConfig})
	}
	if value, set := r.static[key]; set {
		synonyms = append(synonyms, Synonym{key, value, kmsg.ConfigSourceStaticBrokerConfig})
	}
	return append(synonyms, Synonym{key, standard, kmsg.ConfigSourceDefaultConfig})
}

func entryOf(definition Definition, synonyms []Synonym) Entry {
	entry := Entry{Definition: definition, Value: definition.Default, Source: kmsg.ConfigSourceDefaultConfig, Synonyms: synonyms}
	if len(synonyms) > 0 {
		entry.Value, entry.Source = synonyms[0].Value, synonyms[0].Source
	}
	return entry
}

// DescribeTopic is what CreateTopics answers about a topic's configuration.
func (r *Rules) DescribeTopic(config map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	var list []kmsg.CreateTopicsResponseTopicConfig
	for _, entry := range r.Topic(config, nil, nil) {
		item := kmsg.NewCreateTopicsResponseTopicConfig()
		item.Name, item.Value, item.Source = entry.Definition.Name, kmsg.StringPtr(entry.Value), int8(entry.Source)
		list = append(list, item)
	}
	return list
}

// UncleanElection is the effective unclean.leader.election.enable of a topic.
func (r *Rules) UncleanElection(config map[string]string) bool {
	return r.effective(config, "unclean.leader.election.enable") == "true"
}

func (r *Rules) effective(config map[string]string, key string) string {
	if value, set := config[key]; set {
		return value
	}
	definition := r.topic[key]
	if value, set := r.static[definition.Synonym]; set && definition.Synonym != "" {
		return value
	}
	return definition.Default
}

// TopicSettings are the effective values that a replica needs.
type TopicSettings struct {
	MinISR          int
	MaxMessageBytes int
	SegmentBytes    int64
	SegmentMS       int64
	IndexInterval   int64
	Compacted       bool
	DeletesOld      bool
	AppendTime      bool
	BeforeMaxMS     int64
	AfterMaxMS      int64
	RetentionMS     int64 // -1: for ever
	RetentionBytes  int64 // -1: no bound
	FlushMessages   int64
	FlushMS         int64
}

// Settings reads the effective values of a topic whose own configuration is given; it was validated when it was set.
func (r *Rules) Settings(config map[string]string) TopicSettings {
	policies := strings.Split(r.effective(config, "cleanup.policy"), ",")
	return TopicSettings{
		MinISR:          int(r.number(config, "min.insync.replicas")),
		MaxMessageBytes: int(r.number(config, "max.message.bytes")),
		SegmentBytes:    r.number(config, "segment.bytes"),
		SegmentMS:       r.number(config, "segment.ms"),
		IndexInterval:   r.number(config, "index.interval.bytes"),
		Compacted:       slices.Contains(policies, "compact"),
		DeletesOld:      slices.Contains(policies, "delete"),
		AppendTime:      r.effective(config, "message.timestamp.type") == "LogAppendTime",
		BeforeMaxMS:     unbounded(r.number(config, "message.timestamp.before.max.ms")),
		AfterMaxMS:      unbounded(r.number(config, "message.timestamp.after.max.ms")),
		RetentionMS:     r.number(config, "retention.ms"),
		RetentionBytes:  r.number(config, "retention.bytes"),
		FlushMessages:   r.number(config, "flush.messages"),
		FlushMS:         r.number(config, "flush.ms"),
	}
}

// unbounded turns a bound that no clock reaches into none.
func unbounded(milliseconds int64) int64 {
	if milliseconds > 1<<52 {
		return -1
	}
	return milliseconds
}

func (r *Rules) number(config map[string]string, key string) int64 {
	value, err := strconv.ParseInt(strings.TrimSpace(r.effective(config, key)), 10, 64)
	if err != nil {
		value, _ = strconv.ParseInt(r.topic[key].Default, 10, 64)
	}
	return value
}

// BrokerNumber is a number of the broker's static configuration, or its default.
func (r *Rules) BrokerNumber(key string) int64 {
	definition, known := r.broker[key]
	if !known {
		panic("configs: " + key + " is no broker configuration")
	}
	text := definition.Default
	if value, set := r.static[key]; set {
		text = value // was checked by NewRules
	}
	value, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		panic("configs: the default of " + key + " is no number")
	}
	return value
}

// BrokerBool is a truth value of the broker's static configuration, or its default.
func (r *Rules) BrokerBool(key string) bool {
	if value, set := r.static[key]; set {
		return strings.EqualFold(value, "true")
	}
	return r.broker[key].Default == "true"
}

// BrokerDuration is a number of milliseconds as a duration.
func (r *Rules) BrokerDuration(key string) time.Duration {
	return time.Duration(r.BrokerNumber(key)) * time.Millisecond
}
