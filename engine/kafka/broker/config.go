package broker

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"time"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// ListenerConfig is one address on which the broker listens, and how others reach it.
type ListenerConfig struct {
	// Name is the listener's name, PLAINTEXT when empty. A client that comes in by a listener is told the addresses of that listener.
	Name string
	// Address is where to listen: "127.0.0.1:9092", ":0".
	Address string
	// AdvertisedHost and AdvertisedPort are what others are told; empty and 0: the address itself.
	AdvertisedHost string
	AdvertisedPort int
}

// Config is what a broker needs.
type Config struct {
	BrokerID int32
	Rack     string
	// Listeners has at least one element.
	Listeners []ListenerConfig
	// InterBrokerListener names the listener by which brokers reach each other; the first one when empty.
	InterBrokerListener string
	// ZooKeeper lists the ensemble's client addresses.
	ZooKeeper []string
	// Properties is the broker's configuration as in server.properties, such as "replica.lag.time.max.ms": "10000". What is not in it has
	// Kafka's default.
	Properties map[string]string

	Network fabric.Network
	Disk    disk.Disk
	Tracer  *trace.Tracer
	Logger  *slog.Logger
}

// settings are the properties that the broker uses itself, read once.
type settings struct {
	lagMax                time.Duration
	fetchWait             time.Duration
	fetchBackoff          time.Duration
	fetchMinBytes         int32
	fetchMaxBytes         int32
	fetchResponseMaxBytes int32
	replicaSocketTimeout  time.Duration
	controllerTimeout     time.Duration
	requestTimeout        time.Duration
	checkpointInterval    time.Duration
	retentionInterval     time.Duration
	clientFetchMaxBytes   int32
	fetchSessions         int
	sessionTimeout        time.Duration
	shutdownRetries       int
	shutdownBackoff       time.Duration
	controlledShutdown    bool
	autoCreate            bool
	handlers              int
	processors            int
	queuedRequests        int
	maxRequestBytes       int
	maxConnections        int
	idleTimeout           time.Duration
	defaultPartitions     int32
}

func settingsOf(r *configs.Rules) settings {
	return settings{
		lagMax:                r.BrokerDuration("replica.lag.time.max.ms"),
		fetchWait:             r.BrokerDuration("replica.fetch.wait.max.ms"),
		fetchBackoff:          r.BrokerDuration("replica.fetch.backoff.ms"),
		fetchMinBytes:         int32(r.BrokerNumber("replica.fetch.min.bytes")),
		fetchMaxBytes:         int32(r.BrokerNumber("replica.fetch.max.bytes")),
		fetchResponseMaxBytes: int32(r.BrokerNumber("replica.fetch.response.max.bytes")),
		replicaSocketTimeout:  r.BrokerDuration("replica.socket.timeout.ms"),
		controllerTimeout:     r.BrokerDuration("controller.socket.timeout.ms"),
		requestTimeout:        r.BrokerDuration("request.timeout.ms"),
		checkpointInterval:    r.BrokerDuration("replica.high.watermark.checkpoint.interval.ms"),
		retentionInterval:     r.BrokerDuration("log.retention.check.interval.ms"),
		clientFetchMaxBytes:   int32(r.BrokerNumber("fetch.max.bytes")),
		fetchSessions:         int(r.BrokerNumber("max.incremental.fetch.session.cache.slots")),
		sessionTimeout:        r.BrokerDuration("zookeeper.session.timeout.ms"),
		shutdownRetries:       int(r.BrokerNumber("controlled.shutdown.max.retries")),
		shutdownBackoff:       r.BrokerDuration("controlled.shutdown.retry.backoff.ms"),
		controlledShutdown:    r.BrokerBool("controlled.shutdown.enable"),
		autoCreate:            r.BrokerBool("auto.create.topics.enable"),
		handlers:              int(r.BrokerNumber("num.io.threads")),
		processors:            int(r.BrokerNumber("num.network.threads")),
		queuedRequests:        int(r.BrokerNumber("queued.max.requests")),
		maxRequestBytes:       int(r.BrokerNumber("socket.request.max.bytes")),
		maxConnections:        int(r.BrokerNumber("max.connections")),
		idleTimeout:           r.BrokerDuration("connections.max.idle.ms"),
		defaultPartitions:     int32(r.BrokerNumber("num.partitions")),
	}
}

// prepare fills in what was left out and refuses what cannot work.
func (c *Config) prepare() error {
	switch {
	case c.BrokerID < 0:
		return fmt.Errorf("kafka broker: id %d is negative", c.BrokerID)
	case len(c.Listeners) == 0:
		return errors.New("kafka broker: Listeners is empty: name at least one address")
	case len(c.ZooKeeper) == 0:
		return errors.New("kafka broker: ZooKeeper is empty: name the ensemble's addresses")
	case c.Network == nil || c.Disk == nil:
		return errors.New("kafka broker: Network and Disk must be set")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	names := map[string]bool{}
	for i := range c.Listeners {
		listener := &c.Listeners[i]
		if listener.Name == "" {
			listener.Name = metadata.DefaultListener
		}
		if names[listener.Name] {
			return fmt.Errorf("kafka broker: two listeners are called %s", listener.Name)
		}
		names[listener.Name] = true
	}
	if c.InterBrokerListener == "" {
		c.InterBrokerListener = c.Listeners[0].Name
	}
	if !names[c.InterBrokerListener] {
		return fmt.Errorf("kafka broker: InterBrokerListener %s is not among the listeners", c.InterBrokerListener)
	}
	return nil
}

// static is the properties together with what Config says in fields, for DescribeConfigs.
func (c *Config) static() map[string]string {
	static := maps.Clone(c.Properties)
	if static == nil {
		static = map[string]string{}
	}
	var listeners []string
	for _, listener := range c.Listeners {
		listeners = append(listeners, listener.Name+"://"+listener.Address)
	}
	static["broker.id"] = strconv.Itoa(int(c.BrokerID))
	static["listeners"] = strings.Join(listeners, ",")
	static["zookeeper.connect"] = strings.Join(c.ZooKeeper, ",")
	static["inter.broker.listener.name"] = c.InterBrokerListener
	if c.Rack != "" {
		static["broker.rack"] = c.Rack
	}
	return static
}
