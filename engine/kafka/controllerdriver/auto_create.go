package controllerdriver

import (
	"context"
	"errors"
	"sync"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/controller"
)

// WantedTopic is a topic that a broker creates because a client asked for it.
type WantedTopic struct {
	Name       string
	Partitions int32 // -1: the broker's default
	Factor     int16 // -1: the broker's default
	Config     map[string]string
}

// CreateMissingTopics creates topics that were asked for, as auto.create.topics.enable does and FindCoordinator for __consumer_offsets.
// Any broker may do so. It returns at once; the client is told LEADER_NOT_AVAILABLE or COORDINATOR_NOT_AVAILABLE and asks again. What
// cannot be created now (too few brokers, say) is logged and tried again with the next request. A topic that is being created already is
// left out: clients that wait for it ask often.
func (d *Driver) CreateMissingTopics(topics ...WantedTopic) {
	for _, topic := range topics {
		if !d.creating.begin(topic.Name) {
			continue
		}
		accepted := d.configs.do(func(ctx context.Context) {
			defer d.creating.end(topic.Name)
			d.createMissingTopic(ctx, topic)
		})
		if !accepted {
			d.creating.end(topic.Name)
			d.logger.Warn("a topic is not created now: too many changes wait", "topic", topic.Name, "waiting", maxConfigJobs)
		}
	}
}

// underWay is a set of names of things that are being done.
type underWay struct {
	mu    sync.Mutex
	names map[string]bool
}

// begin returns false when it was begun before and has not ended.
func (u *underWay) begin(name string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.names[name] {
		return false
	}
	u.names[name] = true
	return true
}

func (u *underWay) end(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.names, name)
}

func (d *Driver) createMissingTopic(ctx context.Context, wanted WantedTopic) {
	snapshot := d.config.Metadata()
	if _, known := snapshot.Topic(wanted.Name); known {
		return
	}
	topic := &newTopic{name: wanted.Name, partitions: wanted.Partitions, factor: wanted.Factor, config: wanted.Config, id: newTopicID()}
	var brokers []controller.Broker
	for _, broker := range snapshot.Brokers() {
		brokers = append(brokers, controller.Broker{ID: broker.ID, Rack: broker.Rack})
	}
	if len(brokers) == 0 {
		return // no controller has told this broker about the cluster yet; the topic may be there, and who wants it asks again
	}
	refused := judgeName(topic.name, snapshot.TopicNames())
	if refused == nil {
		refused = d.place(topic, brokers)
	}
	if refused != nil {
		d.logger.Warn("a topic that was asked for cannot be created", "topic", topic.name, "reason", *refused.message())
		return
	}
	if err := d.writeTopic(ctx, topic); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		d.logger.Warn("a topic that was asked for cannot be created", "topic", topic.name, "error", err)
	}
}
