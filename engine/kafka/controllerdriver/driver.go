// Package controllerdriver runs a broker's part in the control of the cluster: it races for /controller, and while it holds that znode it
// carries out what the pure package controller decides.
//
//	watches ----+                                       +--> znodes: one multi with a check of the controller's epoch
//	handlers ---+--> events --> one goroutine, the ----+
//	answers ----+    (bounded)  owner of all state      +--> a queue and a goroutine per broker: LeaderAndIsr, UpdateMetadata, StopReplica
//
// Time in office is a [term]. Anything unexpected (a write that failed, a lost session, a newer controller) ends the term: its state is
// thrown away and the race begins again, since what the znodes say is the only truth. Two brokers may believe that they are the
// controller at the same time, but only one can write: every write checks the version of /controller_epoch, which the newer one raised.
//
// Requests that only the controller may serve are answered NOT_CONTROLLER by every other broker; clients find the controller by Metadata.
package controllerdriver

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// ConfigRules is what the broker knows about configurations.
type ConfigRules interface {
	// ValidateTopic refuses an unknown key or a bad value; its text is shown to the user.
	ValidateTopic(config map[string]string) error
	// ValidateBroker refuses what is unknown, bad, or cannot be changed while the broker runs. Default means all brokers' defaults.
	ValidateBroker(config map[string]string, isDefault bool) error
	// IsList says whether a topic's or broker's config is a list, to which values can be added one by one.
	IsList(key string) bool
	// DescribeTopic lists every config of a topic with its effective value.
	DescribeTopic(config map[string]string) []kmsg.CreateTopicsResponseTopicConfig
	// UncleanElection is the effective unclean.leader.election.enable of a topic.
	UncleanElection(config map[string]string) bool
}

// Config is what a Driver needs. Zero values of plain settings are replaced by Kafka's defaults.
type Config struct {
	BrokerID int32
	// ZooKeeper is the broker's connection; the driver never closes it.
	ZooKeeper *zk.Conn
	Network   fabric.Network
	// Listener is the name of the listener by which brokers reach each other.
	Listener string
	Tracer   *trace.Tracer
	Logger   *slog.Logger
	// Purgatory holds the requests that wait until the cluster has done what they ask for.
	Purgatory *reactor.Purgatory
	// Metadata is what this broker tells clients now.
	Metadata func() *metadata.Snapshot
	Rules    ConfigRules

	NumPartitions             int32 // num.partitions; 1
	DefaultReplicationFactor  int16 // default.replication.factor; 1
	DisableTopicDeletion      bool  // delete.topic.enable=false
	DisableLeaderRebalance    bool  // auto.leader.rebalance.enable=false
	LeaderImbalancePercentage int   // leader.imbalance.per.broker.percentage; 10
	// LeaderImbalanceCheckInterval is leader.imbalance.check.interval.seconds; 300 s.
	LeaderImbalanceCheckInterval time.Duration
	// SocketTimeout is controller.socket.timeout.ms; 30 s.
	SocketTimeout time.Duration
}

func (c *Config) setDefaults() {
	setDefault(&c.Listener, metadata.DefaultListener)
	setDefault(&c.NumPartitions, 1)
	setDefault(&c.DefaultReplicationFactor, 1)
	setDefault(&c.LeaderImbalancePercentage, 10)
	setDefault(&c.LeaderImbalanceCheckInterval, 300*time.Second)
	setDefault(&c.SocketTimeout, 30*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const (
	// maxEvents bounds the events that wait for the owner's goroutine. A handler that meets the bound answers as if its time had run out.
	maxEvents = 1024
	// maxQueuedRequests bounds what waits for one broker. A broker that takes nothing for so long while its session lives ends the term.
	maxQueuedRequests = 1024
	// maxOperations bounds a multi: 1 MiB is the limit of the ensemble (jute.maxbuffer), and a state znode takes some 200 bytes.
	maxOperations = 500
	// firstImbalanceCheck is how long after its election a controller looks for the first time whether leaders are where they should be.
	firstImbalanceCheck = 5 * time.Second
	// retryPause is the pause before something that failed for want of a connection is tried again.
	retryPause = 100 * time.Millisecond
)

// Driver is one broker's part in the control of the cluster.
type Driver struct {
	config Config
	logger *slog.Logger
	events chan event
	// inOffice mirrors whether a term runs, so that handlers can refuse at once.
	inOffice atomic.Bool
	configs  *configWriter
	creating underWay
	random   func(n int) int
}

// New returns a driver that Run starts.
func New(config Config) (*Driver, error) {
	config.setDefaults()
	if config.ZooKeeper == nil || config.Network == nil || config.Purgatory == nil || config.Metadata == nil || config.Rules == nil {
		return nil, errors.New("controllerdriver: ZooKeeper, Network, Purgatory, Metadata and Rules must be set")
	}
	d := &Driver{
		config: config, logger: config.Logger.With("component", "controller"), events: make(chan event, maxEvents), random: rand.IntN,
		creating: underWay{names: map[string]bool{}},
	}
	d.configs = newConfigWriter(d)
	return d, nil
}

// event is something that the owner's goroutine has to deal with.
type event struct {
	name string
	// term is the term that the event belongs to; nil for a request of a client, which any term may serve.
	term *term
	// run deals with the event. An error ends the term.
	run func(*term) error
	// refuse is called instead of run when this broker is not the controller; may be nil.
	refuse func()
}

func (e event) drop() {
	if e.refuse != nil {
		e.refuse()
	}
}

// ask hands a client's request to the owner's goroutine.
func (d *Driver) ask(name string, run func(*term) error, refuse func()) {
	e := event{name: name, run: run, refuse: refuse}
	if !d.inOffice.Load() {
		e.drop()
		return
	}
	select {
	case d.events <- e:
	default:
		d.logger.Warn("the controller has too much to do; a request is refused", "request", name, "waiting", maxEvents)
		e.drop()
	}
}

// Active says whether this broker is the controller, as far as it knows.
func (d *Driver) Active() bool { return d.inOffice.Load() }

// Run takes part in the control of the cluster until the context ends. It returns after all its goroutines have ended.
func (d *Driver) Run(ctx context.Context) error {
	defer d.configs.run(ctx)()
	for ctx.Err() == nil {
		won, err := d.race(ctx)
		if err != nil {
			d.logger.Warn("the race for /controller failed; it begins again", "error", err)
			d.pause(ctx)
			continue
		}
		if won == nil {
			continue // the context ended
		}
		reason := won.serve(ctx)
		d.retire(ctx, won, reason)
	}
	d.refuseWaiting()
	return nil
}

// refuseWaiting answers what was asked of a term that is over.
func (d *Driver) refuseWaiting() {
	for {
		select {
		case e := <-d.events:
			e.drop()
		default:
			return
		}
	}
}

// retire ends a term: first nobody asks any more, then its goroutines end, then the znode goes, so that others can race for it.
func (d *Driver) retire(ctx context.Context, t *term, reason error) {
	d.inOffice.Store(false)
	t.cancel()
	t.goroutines.Wait()
	d.refuseWaiting()
	resigned := trace.KafkaControllerResigned{Broker: d.config.BrokerID, Epoch: t.state.Epoch(), Reason: reason.Error()}
	if why, ok := sentence.In(reason); ok {
		resigned.Why = &why
	}
	d.config.Tracer.Emit(resigned)
	d.logger.Info("no longer the controller", "epoch", t.state.Epoch(), "reason", reason)
	if ctx.Err() == nil {
		d.release(t)
	}
}

// MetadataUpdated completes requests that waited for what this broker now tells clients.
func (d *Driver) MetadataUpdated() { d.config.Purgatory.Wake(metadataKey{}) }

// TopicConfigChanged is called when the broker has read a topic's configuration again.
func (d *Driver) TopicConfigChanged(topic string, config map[string]string) {
	if !d.inOffice.Load() {
		return
	}
	unclean := d.config.Rules.UncleanElection(config)
	d.ask("TopicConfigChanged", func(t *term) error { return t.carryOut(t.state.SetUncleanElection(topic, unclean)) }, nil)
}

// metadataKey is what waiting requests watch in the purgatory.
type metadataKey struct{}

func (d *Driver) pause(ctx context.Context) {
	select {
	case <-time.After(retryPause):
	case <-ctx.Done():
	}
}

// patiently tries again while the ensemble cannot be reached: the session may outlive the connection. Reads only: a write whose answer
// was lost may have been done.
func (d *Driver) patiently(ctx context.Context, read func() error) error {
	for {
		err := read()
		if !errors.Is(err, zk.ErrNoServer) && !errors.Is(err, zk.ErrConnectionClosed) {
			return err
		}
		d.pause(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

func (d *Driver) settings() controller.Settings {
	return controller.Settings{DeleteTopics: !d.config.DisableTopicDeletion, ImbalancePercentage: d.config.LeaderImbalancePercentage}
}
