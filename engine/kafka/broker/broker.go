package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controllerdriver"
	_ "twinlog/engine/kafka/errorname" // errors by their names of today
	"twinlog/engine/kafka/groupcoordinator"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// Broker is one Kafka-mode node. It runs once.
type Broker struct {
	config   Config
	settings settings
	rules    *configs.Rules
	logger   *slog.Logger

	ready   chan struct{}
	failure chan error // holds the first one

	clusterID    string
	brokerEpoch  atomic.Int64 // czxid of the registration; -1 before it
	metadata     atomic.Pointer[metadata.Snapshot]
	readyOnce    sync.Once
	coordination *coordination
	topicConfigs *topicConfigs

	produceLatencies     *trace.Latencies
	purgatory            *reactor.Purgatory
	replicas             *replicas
	fetchers             *fetchers
	control              *control
	alterPartition       *isrProposals
	logDirEvents         *logDirEvents
	producerIDs          *producerIDs
	sessions             *fetchSessions
	driver               *controllerdriver.Driver
	groups               *groupcoordinator.Coordinator
	table                *reactor.Table
	listeners            []reactor.Listener
	endpoints            []metadata.Endpoint
	controllerConnection controllerConnection
}

// New checks the configuration; Run does everything else.
func New(config Config) (*Broker, error) {
	if err := config.prepare(); err != nil {
		return nil, err
	}
	rules, err := configs.NewRules(config.static())
	if err != nil {
		return nil, fmt.Errorf("kafka broker %d: %w", config.BrokerID, err)
	}
	b := &Broker{
		config: config, settings: settingsOf(rules), rules: rules, logger: config.Logger.With("broker", config.BrokerID),
		ready: make(chan struct{}), failure: make(chan error, 1), topicConfigs: newTopicConfigs(rules),
		produceLatencies: trace.NewLatencies("produce"),
	}
	b.brokerEpoch.Store(-1)
	b.metadata.Store(metadata.EmptySnapshot())
	b.controllerConnection.broker = b
	b.alterPartition = newISRProposals(b)
	b.logDirEvents = newLogDirEvents(b)
	b.control = newControl(b)
	b.producerIDs = newProducerIDs(b)
	b.sessions = newFetchSessions(b.settings.fetchSessions)
	return b, nil
}

// Ready is closed when the broker is registered, listens, and has heard from the controller.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// fail ends the broker. It never waits.
func (b *Broker) fail(err error) {
	select {
	case b.failure <- err:
	default:
	}
}

// Run serves until the context ends, then gives its leaderships away, makes its logs durable and leaves. It returns after all its
// goroutines have ended.
func (b *Broker) Run(ctx context.Context) error {
	if err := b.listen(); err != nil {
		return err
	}
	defer b.closeListeners()
	coordination, err := newCoordination(b)
	if err != nil {
		return err
	}
	b.coordination = coordination
	defer coordination.conn.Close()
	coordination.registration = metadata.Registration{Endpoints: b.endpoints, Rack: b.config.Rack}
	if err := b.load(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // it was told to stop before it had started
		}
		return err
	}
	return b.serve(ctx)
}

// load reads what the ensemble and the disk know.
func (b *Broker) load(ctx context.Context) (err error) {
	if b.clusterID, err = b.coordination.prepare(ctx); err != nil {
		return fmt.Errorf("kafka broker %d: %w", b.config.BrokerID, err)
	}
	if err := b.coordination.readAllConfigs(ctx); err != nil {
		return fmt.Errorf("kafka broker %d: %w", b.config.BrokerID, err)
	}
	if b.replicas, err = newReplicas(b); err != nil {
		return fmt.Errorf("kafka broker %d: %w", b.config.BrokerID, err)
	}
	return nil
}

// serve runs all parts. They end in the reverse order of their dependence: first nobody asks any more, then what was asked is answered,
// then the logs are closed.
func (b *Broker) serve(ctx context.Context) error {
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	b.purgatory = reactor.NewPurgatory(2)
	b.fetchers = newFetchers(work, b)
	server, err := b.assemble()
	if err != nil {
		b.purgatory.Close()
		return err
	}
	var parts sync.WaitGroup
	part := func(run func(context.Context) error) {
		parts.Go(func() {
			if err := run(work); err != nil {
				b.fail(err)
			}
		})
	}
	part(func(ctx context.Context) error { return server.Serve(ctx, b.listeners...) })
	part(func(ctx context.Context) error { b.produceLatencies.Run(ctx, b.config.Tracer); return nil })
	part(func(ctx context.Context) error { b.control.run(ctx); return nil })
	part(func(ctx context.Context) error { b.alterPartition.run(ctx); return nil })
	part(func(ctx context.Context) error { b.logDirEvents.run(ctx); return nil })
	part(func(ctx context.Context) error { b.producerIDs.run(ctx); return nil })
	part(func(ctx context.Context) error { b.replicas.maintain(ctx); return nil })
	part(func(ctx context.Context) error { b.coordination.watchConfigs(ctx); return nil })
	part(b.coordination.run)
	part(b.groups.Run)
	part(func(ctx context.Context) error {
		select { // a controller has to be a registered broker
		case <-b.coordination.registered:
			return b.driver.Run(ctx)
		case <-ctx.Done():
			return nil
		}
	})

	select {
	case <-ctx.Done():
	case err = <-b.failure:
	}
	orderly := err == nil && b.leave()
	b.controllerConnection.close()
	stop()
	b.purgatory.Close()
	parts.Wait()
	b.fetchers.close()
	b.replicas.close(orderly)
	return err
}

// leave gives the broker's leaderships away. It tells whether an orderly end is possible at all: it is not when the disk is gone.
func (b *Broker) leave() bool {
	if err := b.replicas.checkpoint(); err != nil {
		b.logger.Info("ends without goodbye: the disk does not answer", "error", err)
		return false
	}
	if !b.settings.controlledShutdown {
		return true
	}
	if err := b.controlledShutdown(); err != nil {
		b.logger.Warn("leaves without having given its partitions away", "error", err)
	}
	return true
}

// assemble builds the parts that need each other.
func (b *Broker) assemble() (server *reactor.Server, err error) {
	b.driver, err = controllerdriver.New(controllerdriver.Config{
		BrokerID: b.config.BrokerID, ZooKeeper: b.coordination.conn, Network: b.config.Network, Listener: b.config.InterBrokerListener,
		Tracer: b.config.Tracer, Logger: b.logger, Purgatory: b.purgatory, Metadata: b.metadata.Load, Rules: b.rules,
		NumPartitions:                b.settings.defaultPartitions,
		DefaultReplicationFactor:     int16(b.rules.BrokerNumber("default.replication.factor")),
		DisableTopicDeletion:         !b.rules.BrokerBool("delete.topic.enable"),
		DisableLeaderRebalance:       !b.rules.BrokerBool("auto.leader.rebalance.enable"),
		LeaderImbalancePercentage:    int(b.rules.BrokerNumber("leader.imbalance.per.broker.percentage")),
		LeaderImbalanceCheckInterval: time.Duration(b.rules.BrokerNumber("leader.imbalance.check.interval.seconds")) * time.Second,
		SocketTimeout:                b.settings.controllerTimeout,
	})
	if err != nil {
		return nil, err
	}
	if b.groups, err = b.newGroups(); err != nil {
		return nil, err
	}
	b.table = &reactor.Table{}
	b.table.Add(b.apis()...)
	b.table.Add(b.groups.APIs()...)
	b.table.Add(b.driver.APIs()...)
	return reactor.NewServer(reactor.Config{
		Table: b.table, Tracer: b.config.Tracer, Logger: b.logger, TopicNames: b.topicName, Purgatory: b.purgatory,
		Processors: b.settings.processors, Handlers: b.settings.handlers, QueuedRequests: b.settings.queuedRequests,
		MaxConnections: b.settings.maxConnections, MaxRequestBytes: b.settings.maxRequestBytes, IdleTimeout: b.settings.idleTimeout,
	})
}

func (b *Broker) listen() error {
	for _, listener := range b.config.Listeners {
		socket, err := b.config.Network.Listen(listener.Address)
		if err != nil {
			b.closeListeners()
			return fmt.Errorf("kafka broker %d, listener %s: %w", b.config.BrokerID, listener.Name, err)
		}
		b.listeners = append(b.listeners, reactor.Listener{Name: listener.Name, Listener: socket})
		endpoint, err := advertised(listener, socket.Addr())
		if err != nil {
			b.closeListeners()
			return fmt.Errorf("kafka broker %d, listener %s: %w", b.config.BrokerID, listener.Name, err)
		}
		b.endpoints = append(b.endpoints, endpoint)
	}
	return nil
}

// advertised is what others are told of a listener.
func advertised(listener ListenerConfig, address net.Addr) (metadata.Endpoint, error) {
	host, portText, err := net.SplitHostPort(address.String())
	if err != nil {
		return metadata.Endpoint{}, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return metadata.Endpoint{}, err
	}
	if listener.AdvertisedHost != "" {
		host = listener.AdvertisedHost
	}
	if listener.AdvertisedPort != 0 {
		port = listener.AdvertisedPort
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return metadata.Endpoint{}, errors.New("it listens on every address, so set the host that others are told")
	}
	return metadata.Endpoint{Listener: listener.Name, Host: host, Port: int32(port)}, nil
}

func (b *Broker) closeListeners() {
	for _, listener := range b.listeners {
		listener.Listener.Close()
	}
}

// Endpoints are the addresses that the broker tells others; known once it is ready.
func (b *Broker) Endpoints() []metadata.Endpoint { return b.endpoints }

// partitionChanged wakes whoever waits for a partition. It is called by the partition's own goroutine.
func (b *Broker) partitionChanged(p *partition, c change) {
	if c.appended || c.highWatermark || c.role {
		b.purgatory.Wake(fetchKey(p.name))
	}
	if c.highWatermark || c.role {
		b.purgatory.Wake(produceKey(p.name))
	}
}

// metadataUpdated is called after every UpdateMetadata.
func (b *Broker) metadataUpdated() {
	b.readyWhenListed()
	b.purgatory.Wake(heardKey{})
	b.driver.MetadataUpdated()
}

// readyWhenListed: the broker can do its work once it knows its own epoch and the controller has told of it, whichever comes last.
func (b *Broker) readyWhenListed() {
	if _, listed := b.metadata.Load().Broker(b.config.BrokerID); listed && b.brokerEpoch.Load() >= 0 {
		b.readyOnce.Do(func() { close(b.ready) })
	}
}

// topicConfigured is called when a topic's configuration was read again.
func (b *Broker) topicConfigured(topic string, config map[string]string) {
	b.topicConfigs.setTopic(topic, config)
	b.driver.TopicConfigChanged(topic, config)
	settings := b.topicConfigs.settings(topic)
	for _, p := range b.replicas.all() {
		if p.name.Topic == topic {
			p.post(func() { p.configure(settings) })
		}
	}
}

// brokersConfigured is called when the brokers' dynamic configuration was read.
func (b *Broker) brokersConfigured(own, defaults map[string]string) {
	b.topicConfigs.setBroker(own, defaults)
	if b.replicas == nil {
		return
	}
	for _, p := range b.replicas.all() {
		settings := b.topicConfigs.settings(p.name.Topic)
		p.post(func() { p.configure(settings) })
	}
}

// topicName finds a topic's name by its id.
func (b *Broker) topicName(id [16]byte) (string, bool) {
	if topic, known := b.metadata.Load().TopicByID(id); known {
		return topic.Name, true
	}
	return b.replicas.topicName(id)
}
