package controllerdriver

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
)

// What the watches tell. A watch fires once and says only that something changed, so each of these sets it again and then reads.

func (t *term) brokersChanged() error {
	brokers, err := t.readBrokers()
	if err != nil {
		return err
	}
	return t.carryOut(t.state.BrokersChanged(brokers))
}

func (t *term) topicsChanged() error {
	names, err := t.children(metadata.TopicsPath, "topics changed", (*term).topicsChanged)
	if err != nil {
		return err
	}
	plan := t.state.TopicsGone(names)
	present := map[string]bool{}
	var added []string
	for _, name := range names {
		present[name] = true
		if !t.state.HasTopic(name) {
			added = append(added, name)
		}
	}
	for name := range t.watched {
		if !present[name] {
			delete(t.watched, name)
		}
	}
	snapshots, err := t.readTopics(added)
	if err != nil {
		return err
	}
	plan.Append(t.state.NewTopics(snapshots))
	return t.carryOut(plan)
}

// partitionsChanged reads a topic's assignment again: somebody added partitions.
func (t *term) partitionsChanged(name string) error {
	topic, err := t.readAssignment(name)
	if topic == nil || err != nil {
		return err
	}
	added := map[int32]controller.PartitionSnapshot{}
	for _, index := range topic.Partitions() {
		if _, known := t.state.Assignment(controller.Partition{Topic: name, Index: index}); !known {
			added[index] = controller.PartitionSnapshot{Assignment: controller.Assignment{Replicas: topic.Replicas[index]}}
		}
	}
	return t.carryOut(t.state.NewPartitions(name, added))
}

func (t *term) deletionsChanged() error {
	names, err := t.children(metadata.DeleteTopicsPath, "topic deletion", (*term).deletionsChanged)
	if err != nil {
		return err
	}
	var wanted []string
	for _, name := range names {
		if !t.state.BeingDeleted(name) {
			wanted = append(wanted, name)
		}
	}
	return t.carryOut(t.state.DeleteTopics(wanted))
}

// discardNotifications removes what brokers told an earlier controller: this one reads everything anyway. ISR changes come as
// AlterPartition requests; the znodes for them are from brokers of another time.
func (t *term) discardNotifications() error {
	if _, err := t.failedLogDirs(); err != nil {
		return err
	}
	names, err := t.driver.childrenOf(t.ctx, metadata.ISRChangesPath)
	if err != nil {
		return err
	}
	return t.removeAll(metadata.ISRChangesPath, names)
}

// failedLogDirs reads and removes the notices of brokers that lost a log directory, and watches for the next one.
func (t *term) failedLogDirs() ([]string, error) {
	names, err := t.children(metadata.LogDirEventsPath, "log directory failed", (*term).logDirsFailed)
	if err != nil {
		return nil, err
	}
	return names, t.removeAll(metadata.LogDirEventsPath, names)
}

// logDirsFailed asks all brokers about their replicas: those that cannot be served answer KAFKA_STORAGE_ERROR.
func (t *term) logDirsFailed() error {
	names, err := t.failedLogDirs()
	if err != nil || len(names) == 0 {
		return err
	}
	var plan controller.Plan
	for _, broker := range t.state.Brokers() {
		plan.Append(t.state.CheckReplicas(broker.ID))
	}
	return t.carryOut(plan)
}

func (t *term) removeAll(path string, names []string) error {
	var operations []any
	for _, name := range names {
		operations = append(operations, &zk.DeleteRequest{Path: path + "/" + name, Version: -1})
	}
	if err := t.multi(operations); err != nil {
		return fmt.Errorf("removing the children of %s: %w", path, err)
	}
	return nil
}

// preferredElectionWanted obeys the old way of asking for a preferred election: a znode that lists partitions. It is removed when done.
func (t *term) preferredElectionWanted() error {
	path := metadata.PreferredElectionPath
	conn := t.driver.config.ZooKeeper
	var exists bool
	var changed <-chan zk.Event
	err := t.driver.patiently(t.ctx, func() (err error) {
		exists, _, changed, err = conn.ExistsW(path)
		return err
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", path, err)
	}
	t.on(changed, "preferred election asked for", (*term).preferredElectionWanted)
	if !exists {
		return nil
	}
	data, _, found, err := t.get(path)
	if err != nil || !found {
		return err
	}
	list, err := metadata.DecodePartitionList(path, data)
	if err != nil {
		t.driver.logger.Warn("the wish for a preferred election is dropped", "error", err)
	}
	wanted := []controller.Partition{}
	for _, p := range list.Partitions {
		wanted = append(wanted, controller.Partition{Topic: p.Topic, Index: p.Partition})
	}
	_, plan := t.state.Elect(controller.PreferredElection, wanted)
	if err := t.carryOut(plan); err != nil {
		return err
	}
	err = t.multi([]any{&zk.DeleteRequest{Path: path, Version: -1}})
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}
