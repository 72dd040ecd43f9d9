package broker

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// coordination is the broker's side of the ensemble: its session, its registration, and the configurations that it reads there.
//
// The client library opens a new session by itself when the old one expired, and its event channel drops what it has no room for. So the
// truth is asked, not listened to: at every event, and every few seconds, the registration is looked at and made again when it is not this
// session's.
type coordination struct {
	broker *Broker
	conn   *zk.Conn
	events <-chan zk.Event

	registration metadata.Registration
	registered   chan struct{} // closed at the first registration
	once         sync.Once
}

func newCoordination(b *Broker) (*coordination, error) {
	dialer := func(_, address string, timeout time.Duration) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		return b.config.Network.Dial(ctx, address)
	}
	conn, events, err := zk.Connect(b.config.ZooKeeper, b.settings.sessionTimeout, zk.WithDialer(dialer), zk.WithLogger(quiet{b}), zk.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("kafka broker %d: the ensemble %s: %w", b.config.BrokerID, strings.Join(b.config.ZooKeeper, ","), err)
	}
	return &coordination{broker: b, conn: conn, events: events, registered: make(chan struct{})}, nil
}

// quiet passes the client library's lines on at debug level.
type quiet struct{ broker *Broker }

func (q quiet) Printf(format string, args ...any) {
	q.broker.logger.Debug("zookeeper client: " + fmt.Sprintf(format, args...))
}

// transient tells whether an operation may succeed when it is tried again: the ensemble, or the way to it, did not answer. The client
// library hands on what the network said as it is.
func transient(err error) bool {
	var network net.Error
	return errors.Is(err, zk.ErrNoServer) || errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved) || errors.Is(err, io.EOF) || errors.As(err, &network)
}

const coordinationBackoff = 100 * time.Millisecond

// patiently tries until it succeeds, fails for good, or the context ends.
func (c *coordination) patiently(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || !transient(err) {
			return err
		}
		if !pause(ctx, coordinationBackoff) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// prepare makes the znodes that every cluster has and reads, or gives, the cluster's id.
func (c *coordination) prepare(ctx context.Context) (clusterID string, err error) {
	for _, path := range metadata.PersistentPaths() {
		if err := c.ensure(ctx, path, nil); err != nil {
			return "", err
		}
	}
	raw := make([]byte, 16)
	rand.Read(raw) // never fails
	if err := c.ensure(ctx, metadata.ClusterIDPath, metadata.NewClusterID(base64.RawURLEncoding.EncodeToString(raw)).Encode()); err != nil {
		return "", err
	}
	var data []byte
	err = c.patiently(ctx, func() (err error) { data, _, err = c.conn.Get(metadata.ClusterIDPath); return err })
	if err != nil {
		return "", fmt.Errorf("read %s: %w", metadata.ClusterIDPath, err)
	}
	id, err := metadata.DecodeClusterID(data)
	return id.ID, err
}

func (c *coordination) ensure(ctx context.Context, path string, data []byte) error {
	err := c.patiently(ctx, func() error {
		if exists, _, err := c.conn.Exists(path); exists || err != nil {
			return err
		}
		_, err := c.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// register makes the broker's ephemeral znode and learns the broker epoch, which is the znode's czxid. A znode that this broker's earlier
// session left is removed first; one of a session that lives is somebody else's.
func (c *coordination) register(ctx context.Context) error {
	path := metadata.BrokerIDPath(c.broker.config.BrokerID)
	c.registration.TimestampMS = time.Now().UnixMilli()
	payload := c.registration.Encode()
	return c.patiently(ctx, func() error {
		for {
			_, stat, err := c.conn.Get(path)
			switch {
			case err == nil && stat.EphemeralOwner == c.conn.SessionID():
				c.isRegistered(stat.Czxid)
				return nil
			case err == nil:
				if err := c.replaceable(path, stat); err != nil {
					return err
				}
				if err := c.conn.Delete(path, stat.Version); err != nil && !errors.Is(err, zk.ErrNoNode) {
					return err
				}
			case !errors.Is(err, zk.ErrNoNode):
				return err
			}
			if err := c.create(path, payload); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
			// Only another look tells whose the znode is now, and its czxid.
		}
	})
}

// create makes the znode and sets it in one transaction, as Kafka does: whoever finds it finds it complete.
func (c *coordination) create(path string, payload []byte) error {
	_, err := c.conn.Multi(
		&zk.CreateRequest{Path: path, Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAll)},
		&zk.SetDataRequest{Path: path, Data: payload, Version: 0},
	)
	return err
}

// errOtherBroker: another process is registered under this broker's id.
var errOtherBroker = errors.New("another broker is registered under the same id; stop it or choose another id")

// replaceable tells whether a registration that is not this session's may be removed: it is when it says where this broker listens, which
// no other process can.
func (c *coordination) replaceable(path string, stat *zk.Stat) error {
	data, _, err := c.conn.Get(path)
	if err != nil {
		return err
	}
	other, err := metadata.DecodeRegistration(c.broker.config.BrokerID, data)
	if err != nil {
		return err
	}
	if !slices.Equal(other.Endpoints, c.registration.Endpoints) {
		return fmt.Errorf("%s (session 0x%x, %v): %w", path, stat.EphemeralOwner, other.Endpoints, errOtherBroker)
	}
	return nil
}

func (c *coordination) isRegistered(epoch int64) {
	if c.broker.brokerEpoch.Swap(epoch) != epoch {
		endpoint := c.registration.Endpoints[0]
		c.broker.config.Tracer.Emit(trace.KafkaBrokerRegistered{Broker: c.broker.config.BrokerID, Epoch: epoch, Host: endpoint.Host, Port: endpoint.Port})
		c.broker.logger.Info("registered", "path", metadata.BrokerIDPath(c.broker.config.BrokerID), "epoch", epoch)
	}
	c.once.Do(func() { close(c.registered) })
	// The controller may have told of this broker before this broker knew its own epoch.
	c.broker.readyWhenListed()
}

// registrationCheck is how often the registration is looked at without an event.
const registrationCheck = 5 * time.Second

// run keeps the broker registered until the context ends.
func (c *coordination) run(ctx context.Context) error {
	ticker := time.NewTicker(registrationCheck)
	defer ticker.Stop()
	for {
		if err := c.register(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("kafka broker %d cannot register: %w", c.broker.config.BrokerID, err)
		}
		for again := false; !again; {
			select {
			case event := <-c.events:
				again = event.State == zk.StateHasSession
			case <-ticker.C:
				again = true
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// watchConfigs reads configurations again whenever a change notice appears under /config/changes.
func (c *coordination) watchConfigs(ctx context.Context) {
	seen := map[string]bool{}
	for ctx.Err() == nil {
		var children []string
		var changed <-chan zk.Event
		err := c.patiently(ctx, func() (err error) {
			children, _, changed, err = c.conn.ChildrenW(metadata.ConfigChangesPath)
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				c.broker.logger.Warn("changed configurations cannot be seen", "error", err)
				pause(ctx, time.Second)
			}
			continue
		}
		if !c.readChanges(ctx, children, seen) {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// readChanges reads what the notices name. Notices that are gone are forgotten.
func (c *coordination) readChanges(ctx context.Context, children []string, seen map[string]bool) bool {
	slices.Sort(children)
	maps.DeleteFunc(seen, func(name string, _ bool) bool { return !slices.Contains(children, name) })
	for _, name := range children {
		if seen[name] {
			continue
		}
		path := metadata.ConfigChangesPath + "/" + name
		var data []byte
		err := c.patiently(ctx, func() (err error) { data, _, err = c.conn.Get(path); return err })
		if ctx.Err() != nil {
			return false
		}
		seen[name] = true
		if err != nil {
			continue // purged meanwhile
		}
		if change, err := metadata.DecodeConfigChange(path, data); err == nil {
			c.readEntity(ctx, change.EntityPath)
		}
	}
	return true
}

func (c *coordination) readEntity(ctx context.Context, entityPath string) {
	entityType, entity, _ := strings.Cut(entityPath, "/")
	switch entityType {
	case metadata.ConfigTopics:
		config, err := c.readConfig(ctx, metadata.ConfigTopics, entity)
		if err != nil {
			c.broker.logger.Warn("a topic's configuration cannot be read", "topic", entity, "error", err)
			return
		}
		c.broker.topicConfigured(entity, config)
	case metadata.ConfigBrokers:
		if err := c.readBrokerConfigs(ctx); err != nil {
			c.broker.logger.Warn("the brokers' configuration cannot be read", "error", err)
		}
	}
}

// readConfig is what was set on an entity; nil when nothing was.
func (c *coordination) readConfig(ctx context.Context, entityType, entity string) (map[string]string, error) {
	path := metadata.ConfigPath(entityType, entity)
	var data []byte
	err := c.patiently(ctx, func() (err error) { data, _, err = c.conn.Get(path); return err })
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := metadata.DecodeConfig(path, data)
	return config.Config, err
}

// newTopicConfig is what was set on a topic that the controller has just told of. No notice follows for what was set when it was created, and
// the server that this broker is connected to may be behind the controller's: what it has not got yet would be missed for good.
func (c *coordination) newTopicConfig(ctx context.Context, topic string) (map[string]string, error) {
	if err := c.patiently(ctx, func() error { _, err := c.conn.Sync("/"); return err }); err != nil {
		return nil, fmt.Errorf("catch up with the ensemble: %w", err)
	}
	return c.readConfig(ctx, metadata.ConfigTopics, topic)
}

func (c *coordination) readBrokerConfigs(ctx context.Context) error {
	own, err := c.readConfig(ctx, metadata.ConfigBrokers, fmt.Sprint(c.broker.config.BrokerID))
	if err != nil {
		return err
	}
	defaults, err := c.readConfig(ctx, metadata.ConfigBrokers, metadata.DefaultEntity)
	if err != nil {
		return err
	}
	c.broker.brokersConfigured(own, defaults)
	return nil
}

// readAllConfigs reads what was set on topics and brokers before this broker started.
func (c *coordination) readAllConfigs(ctx context.Context) error {
	var topics []string
	err := c.patiently(ctx, func() (err error) {
		topics, _, err = c.conn.Children("/config/" + metadata.ConfigTopics)
		return err
	})
	if err != nil {
		return fmt.Errorf("list the topics' configurations: %w", err)
	}
	for _, topic := range topics {
		config, err := c.readConfig(ctx, metadata.ConfigTopics, topic)
		if err != nil {
			return err
		}
		c.broker.topicConfigs.setTopic(topic, config)
	}
	return c.readBrokerConfigs(ctx)
}
