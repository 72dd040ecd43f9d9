// Package configs knows the configurations of topics and brokers: names, types, defaults, where a value came from, and which of them can
// be changed while a broker runs. The names and defaults are Apache Kafka 3.9's.
package configs

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Definition is one configuration key.
type Definition struct {
	Name    string
	Type    kmsg.ConfigType
	Default string
	// Synonym is the broker's key that gives a topic's default; "" for none.
	Synonym string
	// Allowed lists the values of a key that has few.
	Allowed []string
	Min     int64
	Max     int64
	// Dynamic: may be changed while the broker runs. All topic keys may.
	Dynamic bool
	Doc     string
}

const (
	typeBool   = kmsg.ConfigTypeBoolean
	typeString = kmsg.ConfigTypeString
	typeInt    = kmsg.ConfigTypeInt
	typeLong   = kmsg.ConfigTypeLong
	typeDouble = kmsg.ConfigTypeDouble
	typeList   = kmsg.ConfigTypeList
)

var booleans = []string{"true", "false"}

// check refuses a value that is not of the definition's type or range.
func (d Definition) check(value string) error {
	switch d.Type {
	case typeBool:
		if !slices.Contains(booleans, strings.ToLower(value)) {
			return fmt.Errorf("invalid value %s for configuration %s: expected value to be either true or false", value, d.Name)
		}
	case typeInt, typeLong:
		bits := 64
		if d.Type == typeInt {
			bits = 32
		}
		number, err := strconv.ParseInt(strings.TrimSpace(value), 10, bits)
		if err != nil {
			return fmt.Errorf("invalid value %s for configuration %s: not a number of type %s", value, d.Name, d.Type)
		}
		if number < d.Min || number > d.Max {
			return fmt.Errorf("invalid value %s for configuration %s: value must be between %d and %d", value, d.Name, d.Min, d.Max)
		}
	case typeDouble:
		number, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || number < float64(d.Min) || number > float64(d.Max) || math.IsNaN(number) {
			return fmt.Errorf("invalid value %s for configuration %s: value must be a number between %d and %d", value, d.Name, d.Min, d.Max)
		}
	}
	if len(d.Allowed) == 0 {
		return nil
	}
	values := []string{value}
	if d.Type == typeList {
		values = strings.Split(value, ",")
	}
	for _, value := range values {
		if !slices.Contains(d.Allowed, strings.TrimSpace(value)) {
			return fmt.Errorf("invalid value %s for configuration %s: must be one of %s", value, d.Name, strings.Join(d.Allowed, ", "))
		}
	}
	return nil
}

func number(name string, kind kmsg.ConfigType, value, synonym string, low, high int64, doc string) Definition {
	return Definition{Name: name, Type: kind, Default: value, Synonym: synonym, Min: low, Max: high, Dynamic: true, Doc: doc}
}

func long(name, value, synonym string, low int64, doc string) Definition {
	return number(name, typeLong, value, synonym, low, math.MaxInt64, doc)
}

func integer(name, value, synonym string, low int64, doc string) Definition {
	return number(name, typeInt, value, synonym, low, math.MaxInt32, doc)
}

func boolean(name, value, synonym, doc string) Definition {
	return Definition{Name: name, Type: typeBool, Default: value, Synonym: synonym, Dynamic: true, Doc: doc}
}

func choice(name string, kind kmsg.ConfigType, value, synonym, doc string, allowed ...string) Definition {
	return Definition{Name: name, Type: kind, Default: value, Synonym: synonym, Allowed: allowed, Dynamic: true, Doc: doc}
}

// topicDefinitions are all keys of a topic.
var topicDefinitions = []Definition{
	choice("cleanup.policy", typeList, "delete", "log.cleanup.policy", "What happens to old segments: delete, compact, or both.", "compact", "delete"),
	choice("compression.type", typeString, "producer", "compression.type", "The codec that batches are stored in.", "uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
	integer("compression.gzip.level", "-1", "compression.gzip.level", -1, "The gzip level."),
	integer("compression.lz4.level", "9", "compression.lz4.level", 1, "The lz4 level."),
	integer("compression.zstd.level", "3", "compression.zstd.level", -131072, "The zstd level."),
	long("delete.retention.ms", "86400000", "log.cleaner.delete.retention.ms", 0, "How long tombstones of a compacted topic are kept."),
	long("file.delete.delay.ms", "60000", "log.segment.delete.delay.ms", 0, "How long a removed segment's file stays."),
	long("flush.messages", "9223372036854775807", "log.flush.interval.messages", 1, "After how many records the log is synced."),
	long("flush.ms", "9223372036854775807", "log.flush.interval.ms", 0, "After how long the log is synced."),
	{Name: "follower.replication.throttled.replicas", Type: typeList, Dynamic: true, Doc: "Replicas whose fetching is throttled: partition:broker, or *."},
	integer("index.interval.bytes", "4096", "log.index.interval.bytes", 0, "How many bytes lie between two entries of the offset index."),
	{Name: "leader.replication.throttled.replicas", Type: typeList, Dynamic: true, Doc: "Replicas to which serving is throttled: partition:broker, or *."},
	long("local.retention.bytes", "-2", "log.local.retention.bytes", -2, "With remote storage: how many bytes stay here."),
	long("local.retention.ms", "-2", "log.local.retention.ms", -2, "With remote storage: how long records stay here."),
	integer("max.message.bytes", "1048588", "message.max.bytes", 0, "The largest record batch, in bytes."),
	long("max.compaction.lag.ms", "9223372036854775807", "log.cleaner.max.compaction.lag.ms", 1, "How long a record may stay uncompacted."),
	boolean("message.downconversion.enable", "true", "log.message.downconversion.enable", "Whether old clients get old record formats."),
	choice("message.format.version", typeString, "3.0-IV1", "log.message.format.version", "The record format; only the present one is stored."),
	long("message.timestamp.after.max.ms", "9223372036854775807", "log.message.timestamp.after.max.ms", 0, "How far a record's time may be ahead of the broker's."),
	long("message.timestamp.before.max.ms", "9223372036854775807", "log.message.timestamp.before.max.ms", 0, "How far a record's time may be behind the broker's."),
	long("message.timestamp.difference.max.ms", "9223372036854775807", "log.message.timestamp.difference.max.ms", 0, "Older name of the two bounds above."),
	choice("message.timestamp.type", typeString, "CreateTime", "log.message.timestamp.type", "Whose clock gives a record its time.", "CreateTime", "LogAppendTime"),
	{Name: "min.cleanable.dirty.ratio", Type: typeDouble, Default: "0.5", Synonym: "log.cleaner.min.cleanable.ratio", Min: 0, Max: 1, Dynamic: true, Doc: "When a log is compacted."},
	long("min.compaction.lag.ms", "0", "log.cleaner.min.compaction.lag.ms", 0, "How long a record is never compacted."),
	integer("min.insync.replicas", "1", "min.insync.replicas", 1, "How many replicas must be in sync for acks=all."),
	boolean("preallocate", "false", "log.preallocate", "Whether segment files get their size at once."),
	boolean("remote.storage.enable", "false", "", "Whether old segments move to remote storage."),
	long("retention.bytes", "-1", "log.retention.bytes", -1, "How many bytes a partition keeps."),
	long("retention.ms", "604800000", "log.retention.ms", -1, "How long a partition keeps records."),
	integer("segment.bytes", "1073741824", "log.segment.bytes", 14, "The largest segment file, in bytes."),
	integer("segment.index.bytes", "10485760", "log.index.size.max.bytes", 4, "The largest index file, in bytes."),
	long("segment.jitter.ms", "0", "log.roll.jitter.ms", 0, "Random part of segment.ms."),
	long("segment.ms", "604800000", "log.roll.ms", 1, "When a segment is sealed at the latest."),
	boolean("unclean.leader.election.enable", "false", "unclean.leader.election.enable", "Whether a replica outside the ISR may lead rather than nobody."),
}

// brokerDefinitions are the keys of a broker that are not only defaults of a topic's key.
var brokerDefinitions = []Definition{
	{Name: "advertised.listeners", Type: typeString, Doc: "Where clients reach the broker."},
	boolean("auto.create.topics.enable", "true", "", "Whether asking for a topic creates it."),
	boolean("auto.leader.rebalance.enable", "true", "", "Whether leadership goes back to preferred leaders by itself."),
	integer("background.threads", "10", "", 1, "Threads for background work."),
	integer("broker.id", "-1", "", -1, "The broker's number."),
	{Name: "broker.rack", Type: typeString, Doc: "Where the broker stands."},
	long("connections.max.idle.ms", "600000", "", 0, "After how long an idle connection is closed."),
	boolean("controlled.shutdown.enable", "true", "", "Whether a broker gives its partitions away before it leaves."),
	integer("controlled.shutdown.max.retries", "3", "", 0, "How often it tries to."),
	integer("default.replication.factor", "1", "", 1, "Replicas of a topic that is created without saying how many."),
	boolean("delete.topic.enable", "true", "", "Whether topics can be deleted."),
	integer("group.initial.rebalance.delay.ms", "3000", "", 0, "How long a new group waits for more members."),
	integer("group.max.session.timeout.ms", "1800000", "", 0, "The longest session timeout of a group member."),
	integer("group.min.session.timeout.ms", "6000", "", 0, "The shortest session timeout of a group member."),
	{Name: "inter.broker.listener.name", Type: typeString, Doc: "By which listener brokers reach each other."},
	{Name: "inter.broker.protocol.version", Type: typeString, Default: "3.9-IV0", Doc: "The release whose protocol brokers speak to each other."},
	long("leader.imbalance.check.interval.seconds", "300", "", 1, "How often leadership is looked at."),
	integer("leader.imbalance.per.broker.percentage", "10", "", 0, "From which imbalance on leadership goes back."),
	long("leader.replication.throttled.rate", "9223372036854775807", "", 0, "Bytes a second for throttled replicas, at the leader."),
	long("follower.replication.throttled.rate", "9223372036854775807", "", 0, "Bytes a second for throttled replicas, at the follower."),
	{Name: "listeners", Type: typeString, Default: "PLAINTEXT://:9092", Doc: "Where the broker listens."},
	{Name: "log.dirs", Type: typeString, Default: "/tmp/kafka-logs", Doc: "Where the logs are."},
	integer("log.retention.hours", "168", "", -1, "How long a partition keeps records, when log.retention.ms does not say."),
	integer("log.roll.hours", "168", "", 1, "When a segment is sealed at the latest, when log.roll.ms does not say."),
	long("log.retention.check.interval.ms", "300000", "", 1, "How often old segments are looked for."),
	integer("max.connections", "2147483647", "", 0, "Connections of a broker."),
	integer("num.io.threads", "8", "", 1, "Handlers."),
	integer("num.network.threads", "3", "", 1, "Processors."),
	integer("num.partitions", "1", "", 1, "Partitions of a topic that is created without saying how many."),
	integer("num.recovery.threads.per.data.dir", "2", "", 1, "Threads that open logs at the start."),
	integer("num.replica.fetchers", "1", "", 1, "Fetchers from each leader."),
	integer("offsets.retention.minutes", "10080", "", 1, "How long an empty group's offsets are kept."),
	integer("offsets.topic.num.partitions", "50", "", 1, "Partitions of __consumer_offsets."),
	integer("offsets.topic.replication.factor", "3", "", 1, "Replicas of __consumer_offsets."),
	integer("queued.max.requests", "500", "", 1, "Requests that wait for a handler."),
	long("controlled.shutdown.retry.backoff.ms", "5000", "", 1, "How long it waits before it tries again."),
	integer("controller.socket.timeout.ms", "30000", "", 1, "How long a request between controller and broker may take."),
	integer("fetch.max.bytes", "57671680", "", 1024, "Bytes that one Fetch response holds at most."),
	integer("max.incremental.fetch.session.cache.slots", "1000", "", 0, "Fetch sessions of a broker."),
	integer("replica.fetch.backoff.ms", "1000", "", 0, "How long a follower waits after an error."),
	integer("replica.fetch.response.max.bytes", "10485760", "", 0, "Bytes that a follower's Fetch response holds at most."),
	long("replica.high.watermark.checkpoint.interval.ms", "5000", "", 1, "How often high watermarks are written to disk."),
	integer("replica.socket.timeout.ms", "30000", "", 1, "How long a follower waits for a response."),
	integer("request.timeout.ms", "30000", "", 0, "How long a client's request may take."),
	integer("replica.fetch.max.bytes", "1048576", "", 0, "Bytes that a follower fetches of one partition at a time."),
	integer("replica.fetch.min.bytes", "1", "", 0, "Bytes for which a follower's fetch waits."),
	integer("replica.fetch.wait.max.ms", "500", "", 0, "How long a follower's fetch waits."),
	long("replica.lag.time.max.ms", "30000", "", 1, "After how long without catching up a follower leaves the ISR."),
	integer("socket.request.max.bytes", "104857600", "", 1, "The largest request, in bytes."),
	integer("transaction.max.timeout.ms", "900000", "", 1, "The longest timeout of a transaction."),
	{Name: "zookeeper.connect", Type: typeString, Doc: "The ensemble."},
	integer("zookeeper.session.timeout.ms", "18000", "", 0, "The ensemble session's timeout."),
}

// readOnlyBroker are broker keys that need a restart.
var readOnlyBroker = []string{
	"broker.id", "advertised.listeners", "listeners", "log.dirs", "zookeeper.connect", "broker.rack", "inter.broker.listener.name",
	"inter.broker.protocol.version", "default.replication.factor", "num.partitions", "auto.create.topics.enable", "delete.topic.enable",
	"controlled.shutdown.retry.backoff.ms", "controller.socket.timeout.ms", "fetch.max.bytes", "max.incremental.fetch.session.cache.slots",
	"replica.fetch.backoff.ms", "replica.fetch.response.max.bytes", "replica.high.watermark.checkpoint.interval.ms",
	"replica.socket.timeout.ms", "request.timeout.ms", "controlled.shutdown.enable", "controlled.shutdown.max.retries", "group.initial.rebalance.delay.ms", "group.max.session.timeout.ms",
	"group.min.session.timeout.ms", "auto.leader.rebalance.enable", "leader.imbalance.check.interval.seconds",
	"leader.imbalance.per.broker.percentage", "connections.max.idle.ms", "log.retention.check.interval.ms", "offsets.retention.minutes",
	"offsets.topic.num.partitions", "offsets.topic.replication.factor", "queued.max.requests", "replica.fetch.max.bytes",
	"replica.fetch.min.bytes", "replica.fetch.wait.max.ms", "replica.lag.time.max.ms", "socket.request.max.bytes",
	"transaction.max.timeout.ms", "zookeeper.session.timeout.ms", "num.recovery.threads.per.data.dir", "log.retention.hours", "log.roll.hours",
}
