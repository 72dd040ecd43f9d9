package controllerdriver

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/sentence"
)

// write turns the writes of a plan into znode operations and does them.
func (t *term) write(writes []controller.Write) error {
	var operations []any
	topics := topicZnodes{}
	for _, write := range writes {
		translated, err := t.operations(write, topics)
		if err != nil {
			return err
		}
		operations = append(operations, translated...)
	}
	if err := t.multi(operations); err != nil {
		return fmt.Errorf("writing %d znodes as controller of epoch %d: %w", len(operations), t.state.Epoch(), err)
	}
	return nil
}

// multi does operations, each batch of them in one transaction with a check that no newer controller was elected.
func (t *term) multi(operations []any) error {
	for len(operations) > 0 {
		size := min(len(operations), maxOperations)
		batch := append([]any{&zk.CheckVersionRequest{Path: metadata.ControllerEpochPath, Version: t.epochVersion}}, operations[:size]...)
		results, err := t.driver.config.ZooKeeper.Multi(batch...)
		if err := firstError(results, err); err != nil {
			if len(results) > 0 && errors.Is(results[0].Error, zk.ErrBadVersion) {
				return sentence.Error(nil, "newerController", "a newer controller was elected: {why}", err)
			}
			return err
		}
		operations = operations[size:]
	}
	return nil
}

func create(path string, data []byte) *zk.CreateRequest {
	return &zk.CreateRequest{Path: path, Data: data, Acl: zk.WorldACL(zk.PermAll)}
}

// topicZnodes are the znodes of topics as the operations so far leave them.
type topicZnodes map[string]*topicZnode

type topicZnode struct {
	payload metadata.Topic
	version int32
}

func (t *term) operations(write controller.Write, topics topicZnodes) ([]any, error) {
	switch write := write.(type) {
	case controller.CreatePartitionsParent:
		return []any{create(metadata.PartitionsPath(write.Topic), nil)}, nil
	case controller.CreatePartition:
		return []any{create(metadata.PartitionPath(write.Partition.Topic, write.Partition.Index), nil)}, nil
	case controller.CreateLeadership:
		path := metadata.PartitionStatePath(write.Partition.Topic, write.Partition.Index)
		return []any{create(path, encodeLeadership(write.Leadership))}, nil
	case controller.SetLeadership:
		path := metadata.PartitionStatePath(write.Partition.Topic, write.Partition.Index)
		return []any{&zk.SetDataRequest{Path: path, Data: encodeLeadership(write.Leadership), Version: write.ExpectedVersion}}, nil
	case controller.SetAssignment:
		return t.setAssignment(write, topics)
	case controller.DeleteTopic:
		return t.deleteTopic(write)
	case controller.ForgetDeletion:
		return []any{&zk.DeleteRequest{Path: metadata.DeleteTopicPath(write.Topic), Version: -1}}, nil
	}
	return nil, fmt.Errorf("controllerdriver: a write of type %T cannot be carried out", write)
}

func encodeLeadership(l controller.Leadership) []byte {
	state := metadata.PartitionState{ControllerEpoch: l.ControllerEpoch, Leader: l.Leader, LeaderEpoch: l.LeaderEpoch, ISR: l.ISR}
	if l.Recovering {
		state.RecoveryState = metadata.Recovering
	}
	return state.Encode()
}

// setAssignment changes one partition in its topic's znode; what others wrote there meanwhile (new partitions) stays.
func (t *term) setAssignment(write controller.SetAssignment, topics topicZnodes) ([]any, error) {
	name, index := write.Partition.Topic, write.Partition.Index
	znode := topics[name]
	if znode == nil {
		data, stat, found, err := t.get(metadata.TopicPath(name))
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, fmt.Errorf("%s is gone", metadata.TopicPath(name))
		}
		payload, err := metadata.DecodeTopic(name, data)
		if err != nil {
			return nil, err
		}
		znode = &topicZnode{payload, stat.Version}
		topics[name] = znode
	}
	setOrDelete := func(replicas map[int32][]int32, ids []int32) {
		if len(ids) == 0 {
			delete(replicas, index)
		} else {
			replicas[index] = ids
		}
	}
	setOrDelete(znode.payload.Replicas, write.Assignment.Replicas)
	setOrDelete(znode.payload.Adding, write.Assignment.Adding)
	setOrDelete(znode.payload.Removing, write.Assignment.Removing)
	operation := &zk.SetDataRequest{Path: metadata.TopicPath(name), Data: znode.payload.Encode(), Version: znode.version}
	znode.version++
	return []any{operation}, nil
}

// deleteTopic removes a topic's znodes from the leaves up. The mark in /admin/delete_topics goes last: while it is there, a new controller
// goes on with the deletion.
func (t *term) deleteTopic(write controller.DeleteTopic) ([]any, error) {
	var operations []any
	remove := func(path string) { operations = append(operations, &zk.DeleteRequest{Path: path, Version: -1}) }
	for _, index := range write.Partitions {
		if write.HasState[index] {
			remove(metadata.PartitionStatePath(write.Topic, index))
		}
		remove(metadata.PartitionPath(write.Topic, index))
	}
	if write.HasPartitionsZnode {
		remove(metadata.PartitionsPath(write.Topic))
	}
	remove(metadata.TopicPath(write.Topic))
	for _, path := range []string{metadata.ConfigPath(metadata.ConfigTopics, write.Topic), metadata.DeleteTopicPath(write.Topic)} {
		_, _, exists, err := t.get(path)
		if err != nil {
			return nil, err
		}
		if exists {
			remove(path)
		}
	}
	return operations, nil
}
