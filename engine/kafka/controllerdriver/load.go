package controllerdriver

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
)

// readers is how many reads are in flight at once while the controller loads: one after another, 10,000 partitions would take seconds.
const readers = 32

// load sets the watches and reads everything.
func (t *term) load() (controller.Snapshot, error) {
	var snapshot controller.Snapshot
	var err error
	if snapshot.Brokers, err = t.readBrokers(); err != nil {
		return snapshot, err
	}
	names, err := t.children(metadata.TopicsPath, "topics changed", (*term).topicsChanged)
	if err != nil {
		return snapshot, err
	}
	if snapshot.Topics, err = t.readTopics(names); err != nil {
		return snapshot, err
	}
	snapshot.Deletions, err = t.children(metadata.DeleteTopicsPath, "topic deletion", (*term).deletionsChanged)
	return snapshot, err
}

// children lists the children of a znode and watches for the next change.
func (t *term) children(path, name string, changed func(*term) error) ([]string, error) {
	var names []string
	var watch <-chan zk.Event
	err := t.driver.patiently(t.ctx, func() (err error) {
		names, _, watch, err = t.driver.config.ZooKeeper.ChildrenW(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the children of %s: %w", path, err)
	}
	t.on(watch, name, changed)
	return names, nil
}

// get reads a znode; found is false when it is not there.
func (t *term) get(path string) (data []byte, stat *zk.Stat, found bool, err error) {
	err = t.driver.patiently(t.ctx, func() (err error) {
		data, stat, err = t.driver.config.ZooKeeper.Get(path)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, stat, true, nil
}

func (t *term) readBrokers() ([]controller.Broker, error) {
	names, err := t.children(metadata.BrokerIDsPath, "brokers changed", (*term).brokersChanged)
	if err != nil {
		return nil, err
	}
	var brokers []controller.Broker
	for _, name := range names {
		id, valid := metadata.ParseBrokerID(name)
		if !valid {
			continue
		}
		data, stat, found, err := t.get(metadata.BrokerIDPath(id))
		if err != nil {
			return nil, err
		}
		if !found {
			continue // gone meanwhile; the watch will tell
		}
		registration, err := metadata.DecodeRegistration(id, data)
		if err != nil {
			t.driver.logger.Warn("a broker is left out", "broker", id, "error", err)
			continue
		}
		brokers = append(brokers, controller.Broker{ID: id, Epoch: stat.Czxid, Rack: registration.Rack, Endpoints: registration.Endpoints})
	}
	return brokers, nil
}

// readTopics reads topics with their partitions; those that are gone meanwhile or cannot be read are left out.
func (t *term) readTopics(names []string) ([]controller.TopicSnapshot, error) {
	snapshots := make([]*controller.TopicSnapshot, len(names))
	err := inParallel(t.ctx, len(names), func(i int) (err error) {
		snapshots[i], err = t.readTopic(names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var found []controller.TopicSnapshot
	for _, snapshot := range snapshots {
		if snapshot != nil {
			found = append(found, *snapshot)
			t.watched[snapshot.Name] = true
		}
	}
	return found, nil
}

func (t *term) readTopic(name string) (*controller.TopicSnapshot, error) {
	topic, err := t.readAssignment(name)
	if topic == nil || err != nil {
		return nil, err
	}
	snapshot := &controller.TopicSnapshot{Name: name, ID: topic.ID, Partitions: map[int32]controller.PartitionSnapshot{}}
	if snapshot.Config, _, err = t.driver.readConfig(t.ctx, metadata.ConfigTopics, name); err != nil {
		return nil, err
	}
	snapshot.UncleanElection = t.driver.config.Rules.UncleanElection(snapshot.Config)
	var existing []string
	err = t.driver.patiently(t.ctx, func() (err error) {
		existing, _, err = t.driver.config.ZooKeeper.Children(metadata.PartitionsPath(name))
		return err
	})
	switch {
	case err == nil:
		snapshot.HasPartitionsZnode = true
	case !errors.Is(err, zk.ErrNoNode):
		return nil, fmt.Errorf("reading %s: %w", metadata.PartitionsPath(name), err)
	}
	hasZnode := map[string]bool{}
	for _, child := range existing {
		hasZnode[child] = true
	}
	for _, index := range topic.Partitions() {
		partition := controller.PartitionSnapshot{
			Assignment: controller.Assignment{Replicas: topic.Replicas[index], Adding: topic.Adding[index], Removing: topic.Removing[index]},
			HasZnode:   hasZnode[strconv.Itoa(int(index))],
		}
		if partition.HasZnode {
			if partition.Leadership, err = t.readLeadership(name, index); err != nil {
				return nil, err
			}
		}
		snapshot.Partitions[index] = partition
	}
	return snapshot, nil
}

// readAssignment reads a topic's znode and watches for its next change; nil when it is gone or no assignment.
func (t *term) readAssignment(name string) (*metadata.Topic, error) {
	var data []byte
	var watch <-chan zk.Event
	err := t.driver.patiently(t.ctx, func() (err error) {
		data, _, watch, err = t.driver.config.ZooKeeper.GetW(metadata.TopicPath(name))
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", metadata.TopicPath(name), err)
	}
	t.on(watch, "partitions changed", func(t *term) error { return t.partitionsChanged(name) })
	topic, err := metadata.DecodeTopic(name, data)
	if err != nil {
		t.driver.logger.Warn("a topic is left out until its znode can be read", "topic", name, "error", err)
		return nil, nil
	}
	return &topic, nil
}

func (t *term) readLeadership(topic string, index int32) (*controller.Leadership, error) {
	path := metadata.PartitionStatePath(topic, index)
	data, stat, found, err := t.get(path)
	if err != nil || !found {
		return nil, err
	}
	state, err := metadata.DecodePartitionState(path, data)
	if err != nil {
		return nil, err // guessing a leader would lose records
	}
	return &controller.Leadership{
		Leader: state.Leader, LeaderEpoch: state.LeaderEpoch, ISR: state.ISR, Recovering: state.RecoveryState == metadata.Recovering,
		ControllerEpoch: state.ControllerEpoch, PartitionEpoch: stat.Version,
	}, nil
}

// inParallel calls work for 0 to count-1 with a bounded number at once and returns the first error.
func inParallel(ctx context.Context, count int, work func(i int) error) error {
	next := make(chan int)
	failed := make(chan error, readers)
	var workers sync.WaitGroup
	for range min(readers, count) {
		workers.Go(func() {
			for i := range next {
				if err := work(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for i := 0; i < count && err == nil; i++ {
		select {
		case next <- i:
		case err = <-failed:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	close(next)
	workers.Wait()
	if err == nil {
		select {
		case err = <-failed:
		default:
		}
	}
	return err
}
