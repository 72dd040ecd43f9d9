package workload

import (
	"cmp"
	"regexp"
	"slices"

	"twinlog/engine/sentence"
)

// The engines.
const (
	EngineKafka  = "kafka"
	EnginePulsar = "pulsar"
	EngineBoth   = "both"
)

// The bounds of a workload: enough to bring a laptop's classroom to its limit, not enough to take the laptop with it.
const (
	maxMessagesPerSecond = 20_000
	minMessageBytes      = headerBytes
	maxMessageBytes      = 256 << 10
	maxClients           = 16 // producers, and consumers, on a side
	maxPartitions        = 100
	maxKeys              = 1_000_000
	// NoConsumers and NoPartitions are what to give where 0 means "unless told".
	NoConsumers  = -1
	NoPartitions = -1
)

// topicName is what both engines take for a topic.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)

// withDefaults fills in what is zero and refuses what cannot be run.
func (s Spec) withDefaults() (Spec, error) {
	s.Engine = cmp.Or(s.Engine, EngineBoth)
	s.Topic = cmp.Or(s.Topic, "demo")
	s.Partitions = cmp.Or(s.Partitions, 3)
	s.ReplicationFactor = cmp.Or(s.ReplicationFactor, 3)
	s.MessagesPerSecond = cmp.Or(s.MessagesPerSecond, 20)
	s.MessageBytes = cmp.Or(s.MessageBytes, 100)
	s.Acks = cmp.Or(s.Acks, "all")
	s.Producers = cmp.Or(s.Producers, 1)
	s.Consumers = cmp.Or(s.Consumers, 1)
	s.Group = cmp.Or(s.Group, "demo")
	s.SubscriptionType = cmp.Or(s.SubscriptionType, "Shared")
	s.Strategy = cmp.Or(s.Strategy, "cooperative-sticky")
	return s, s.validate()
}

func (s Spec) validate() error {
	oneOf := func(field, value string, allowed ...string) error {
		if slices.Contains(allowed, value) {
			return nil
		}
		return sentence.Error(ErrInvalid, "notOneOf", `{field} is one of {allowed}, not "{given}"`, field, allowed, value)
	}
	between := func(field string, value, least, most int) error {
		if value >= least && value <= most {
			return nil
		}
		return sentence.Error(ErrInvalid, "notANumberBetween", "{field} is a number from {least} to {most}, not {given}", field, least, most, value)
	}
	name := func(field, value string) error {
		if topicName.MatchString(value) && value != "." && value != ".." {
			return nil
		}
		return sentence.Error(ErrInvalid, "notAName", `{field} is 1 to 200 letters, digits, dots, underscores and hyphens, not "{given}"`, field, value)
	}
	return cmp.Or(
		oneOf("engine", s.Engine, EngineKafka, EnginePulsar, EngineBoth),
		name("topic", s.Topic),
		between("partitions", s.Partitions, NoPartitions, maxPartitions),
		between("replicationFactor", s.ReplicationFactor, 1, 100),
		between("messagesPerSecond", s.MessagesPerSecond, 1, maxMessagesPerSecond),
		between("messageBytes", s.MessageBytes, minMessageBytes, maxMessageBytes),
		between("keys", s.Keys, 0, maxKeys),
		oneOf("acks", s.Acks, "all", "1", "0"),
		between("producers", s.Producers, 1, maxClients),
		between("consumers", s.Consumers, NoConsumers, maxClients),
		name("group", s.Group),
		oneOf("subscriptionType", s.SubscriptionType, subscriptionTypes...),
		oneOf("strategy", s.Strategy, strategies...),
		between("maxMessages", int(min(s.MaxMessages, 1)), 0, 1),
	)
}

var strategies = []string{"range", "roundrobin", "sticky", "cooperative-sticky"}

var subscriptionTypes = []string{"Exclusive", "Shared", "Failover", "Key_Shared"}

func (s Spec) engines() []string {
	if s.Engine == EngineBoth {
		return []string{EngineKafka, EnginePulsar}
	}
	return []string{s.Engine}
}
