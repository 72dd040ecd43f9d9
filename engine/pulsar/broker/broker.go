// Package broker is a Pulsar-mode broker: it serves topics to clients and keeps nothing itself. Topics lie in managed ledgers on
// bookies; which broker serves a topic is an ephemeral znode of the topic's bundle; any broker tells any client who that is.
//
// A broker's goroutines: two for each client connection (reader, writer), one for each loaded topic, which owns the topic's
// producers, subscriptions and dispatch; and a few for the cluster (ZooKeeper session, leader election, load report, maintenance).
// Requests that wait for ZooKeeper or bookies run in a goroutine of their own, and hand their result to the topic's.
package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/trace"
)

// Broker is one Pulsar-mode broker.
type Broker struct {
	config Config
	logger *slog.Logger
	tracer *trace.Tracer

	ready    chan struct{}
	urls     urls  // primary endpoint
	internal *urls // Config.Internal, nil without it
	id       string

	zookeeper *zk.Conn
	session   sync.WaitGroup // ends after the session

	disconnected chan struct{} // capacity 1: ZooKeeper is not reached at the moment
	storage      storage

	context context.Context // ends when the broker stops serving
	tasks   sync.WaitGroup  // goroutines of requests, connections and topics

	topics      *topicTable
	ownership   *ownership
	leadership  *leadership
	connections *connectionTable
	names       producerNames

	publishLatencies *trace.Latencies

	flowed      throughput
	nudgeReport chan struct{} // capacity 1: the load report is out of date
}

// New checks the configuration.
func New(config Config) (*Broker, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	b := &Broker{
		config: config, logger: config.Logger, tracer: config.Tracer,
		ready:       make(chan struct{}),
		nudgeReport: make(chan struct{}, 1), disconnected: make(chan struct{}, 1),
		publishLatencies: trace.NewLatencies("publish"),
	}
	b.topics = newTopicTable()
	b.ownership = newOwnership()
	b.leadership = newLeadership()
	b.connections = newConnectionTable(config.MaxConnections)
	return b, nil
}

// Ready is closed when the broker serves.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// ID is how Pulsar names a broker: host:port of its HTTP service.
func (b *Broker) ID() string { return b.id }

// Cluster is the name of the cluster.
func (b *Broker) Cluster() string { return b.config.Cluster }

// Context ends when the broker stops serving.
func (b *Broker) Context() context.Context { return b.context }

// OperationTimeout bounds an administrator's request.
func (b *Broker) OperationTimeout() time.Duration { return b.config.OperationTimeout }

// Run serves until ctx ends. An orderly end closes the topics, gives up the bundles and closes the ZooKeeper session; where the
// network has failed before, each of these fails at once.
func (b *Broker) Run(ctx context.Context) error {
	err := b.run(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // the end came before the start was complete
	}
	return err
}

func (b *Broker) run(ctx context.Context) error {
	listeners, err := b.listen()
	if err != nil {
		return err
	}
	defer listeners.close()

	sessionContext, endSession := context.WithCancel(context.WithoutCancel(ctx))
	defer endSession()
	events, err := b.connectZooKeeper(ctx)
	if err != nil {
		return err
	}
	defer b.session.Wait()
	defer b.zookeeper.Close()
	finished := make(chan struct{})
	defer close(finished)
	b.session.Go(func() {
		select {
		case <-ctx.Done():
			b.endSessionWhenCut(finished)
		case <-finished:
		}
	})

	opened, runStorage, storageReady, err := b.config.storage(b.config, b.zookeeper)
	if err != nil {
		return err
	}
	b.storage = opened
	var background sync.WaitGroup
	defer background.Wait()
	defer endSession()
	storageFailed := make(chan error, 1)
	background.Go(func() { storageFailed <- runStorage(sessionContext) })

	if err := retryUntil(ctx, "creating the cluster's metadata", b.bootstrap); err != nil {
		return err
	}
	select {
	case <-storageReady:
	case err := <-storageFailed:
		return fmt.Errorf("storage of broker %s: %w", b.id, err)
	case <-ctx.Done():
		return nil
	}
	return b.serve(ctx, listeners, events, storageFailed)
}

func (b *Broker) serve(ctx context.Context, listeners *listeners, events <-chan zk.Event, storageFailed <-chan error) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	b.context = serving

	var cluster sync.WaitGroup
	clusterContext, leaveCluster := context.WithCancel(serving)
	defer leaveCluster()
	if err := retryUntil(ctx, "registering the broker", b.register); err != nil {
		return err
	}
	cluster.Go(func() { b.watchSession(clusterContext, events) })
	cluster.Go(func() { b.runElection(clusterContext) })
	cluster.Go(func() { b.publishLatencies.Run(clusterContext, b.tracer) })
	cluster.Go(func() { b.runReports(clusterContext) })
	cluster.Go(func() { b.runGauges(clusterContext) })
	cluster.Go(func() { b.runMaintenance(clusterContext) })

	failed := listeners.serve(b)
	close(b.ready)
	b.logger.Info("broker serves", "broker", b.id, "pulsar", b.urls.pulsar, "http", b.urls.http)

	var result error
	select {
	case <-ctx.Done():
	case result = <-failed:
	case result = <-storageFailed:
	}
	leaveCluster()
	b.shutDown(listeners, &cluster)
	stop()
	b.tasks.Wait()
	return result
}

// shutDown hands everything over: no new connections, topics closed (so that the next owner has nothing to recover), bundles given
// up, registration withdrawn. Each step is bounded; with a severed network each fails at once.
func (b *Broker) shutDown(listeners *listeners, cluster *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), b.config.OperationTimeout)
	defer cancel()
	cluster.Wait()
	listeners.close()
	b.ownership.stopAcquiring()
	for _, owned := range b.ownership.list() {
		if err := b.unloadBundle(ctx, owned, trace.ReasonShutdown); err != nil {
			b.logger.Debug("giving up a bundle at the shutdown", "bundle", owned.String(), "error", err)
		}
	}
	b.topics.closeAll(ctx, trace.ReasonShutdown)
	b.connections.closeAll(errors.New("the broker shuts down"))
	if err := b.storage.Close(ctx); err != nil {
		b.logger.Debug("closing the managed ledgers", "error", err)
	}
	if err := b.unregister(); err != nil {
		b.logger.Debug("withdrawing the registration", "error", err)
	}
}

// listeners are the broker's open ports.
type listeners struct {
	pulsar []net.Listener
	http   []net.Listener
	server *http.Server
	once   sync.Once
}

func (l *listeners) close() {
	l.once.Do(func() {
		if l.server != nil {
			l.server.Close()
		}
		for _, listener := range append(l.pulsar, l.http...) {
			listener.Close()
		}
	})
}

func (b *Broker) listen() (*listeners, error) {
	opened := &listeners{}
	endpoints := []Endpoint{b.config.Endpoint}
	if b.config.Internal != nil {
		endpoints = append(endpoints, *b.config.Internal)
	}
	for i, endpoint := range endpoints {
		binary, err := b.config.Network.Listen(endpoint.ListenPulsar)
		if err != nil {
			opened.close()
			return nil, fmt.Errorf("opening the Pulsar port %s of broker %d: %w", endpoint.ListenPulsar, b.config.BrokerID, err)
		}
		opened.pulsar = append(opened.pulsar, binary)
		web, err := b.config.Network.Listen(endpoint.ListenHTTP)
		if err != nil {
			opened.close()
			return nil, fmt.Errorf("opening the HTTP port %s of broker %d: %w", endpoint.ListenHTTP, b.config.BrokerID, err)
		}
		opened.http = append(opened.http, web)
		found := urls{
			pulsar: "pulsar://" + advertised(endpoint.AdvertisedPulsar, binary),
			http:   "http://" + advertised(endpoint.AdvertisedHTTP, web),
		}
		if i == 0 {
			b.urls = found
			b.id = advertised(endpoint.AdvertisedHTTP, web)
		} else {
			b.internal = &found
		}
	}
	return opened, nil
}

func advertised(configured string, listener net.Listener) string {
	if configured != "" {
		return configured
	}
	return listener.Addr().String()
}

func (l *listeners) serve(b *Broker) <-chan error {
	failed := make(chan error, len(l.pulsar)+len(l.http))
	l.server = &http.Server{
		Handler:           b.config.Admin(b),
		ReadHeaderTimeout: 30 * time.Second,
		MaxHeaderBytes:    64 << 10,
		ConnContext:       connectionContext,
		BaseContext:       func(net.Listener) context.Context { return b.context },
		ErrorLog:          slog.NewLogLogger(b.logger.Handler(), slog.LevelDebug),
	}
	for i, listener := range l.pulsar {
		listenerName := ""
		if i > 0 {
			listenerName = InternalListener
		}
		b.tasks.Go(func() { failed <- b.accept(listener, listenerName) })
	}
	for i, listener := range l.http {
		if i > 0 {
			listener = internalListener{listener}
		}
		b.tasks.Go(func() {
			if err := l.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("HTTP port %s: %w", listener.Addr(), err)
			}
		})
	}
	return failed
}

// retryUntil runs step until it succeeds or ctx ends. It is for the start of a cluster, where ZooKeeper may have no leader yet.
func retryUntil(ctx context.Context, doing string, step func() error) error {
	const pause = 200 * time.Millisecond
	for {
		err := step()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", doing, err, ctx.Err())
		case <-time.After(pause):
		}
	}
}
