package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// PartitionedTopic is the value of /admin/partitioned-topics/{tenant}/{namespace}/{domain}/{topic}.
type PartitionedTopic struct {
	Partitions int               `json:"partitions"`
	Deleted    bool              `json:"deleted"`
	Properties map[string]string `json:"properties,omitempty"`
}

// MaxPartitions bounds the partitions of one topic.
const MaxPartitions = 10_000

func partitionedZnode(name TopicName) string {
	return partitionedPath + "/" + name.NamespaceName() + "/" + name.Domain + "/" + name.encodedLocal()
}

// PartitionedTopic reads a topic's partitions; the zero value for a topic without.
func (b *Broker) PartitionedTopic(name TopicName) (PartitionedTopic, error) {
	var metadata PartitionedTopic
	_, err := b.readJSON(partitionedZnode(name), &metadata)
	if errors.Is(err, ErrNotFound) {
		return PartitionedTopic{}, nil
	}
	return metadata, err
}

// PartitionsForClient answers how many partitions a topic has, 0 for a topic without. Where topics that do not exist are to be
// partitioned, asking creates the partitions; where they may not be created at all, it fails with "topic not found".
func (b *Broker) PartitionsForClient(ctx context.Context, name TopicName, create bool) (int, error) {
	metadata, err := b.PartitionedTopic(name)
	if err != nil {
		return 0, err
	}
	if metadata.Deleted {
		return 0, fmt.Errorf("%w: %s is being deleted", errTopicNotFound, name)
	}
	if metadata.Partitions > 0 {
		return metadata.Partitions, nil
	}
	policies, err := b.NamespacePolicies(name.NamespaceName())
	if errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("%w: namespace %s does not exist", errTopicNotFound, name.NamespaceName())
	}
	if err != nil {
		return 0, err
	}
	override := policies.known.AutoTopicCreation
	if create && (override == nil || override.Allow) {
		if override == nil || override.TopicType != "partitioned" || name.Partition() >= 0 {
			return 0, nil // PRODUCER or SUBSCRIBE will create it
		}
		there, err := b.TopicExists(ctx, name)
		if err != nil || there {
			return 0, err
		}
		partitions := max(1, override.Partitions)
		err = b.CreatePartitioned(ctx, name, PartitionedTopic{Partitions: partitions})
		if errors.Is(err, ErrExists) {
			metadata, err = b.PartitionedTopic(name)
			return metadata.Partitions, err
		}
		return partitions, err
	}
	there, err := b.TopicExists(ctx, name)
	if err != nil {
		return 0, err
	}
	if !there {
		return 0, fmt.Errorf("%w: %s", errTopicNotFound, name)
	}
	return 0, nil
}

// TopicExists tells whether a topic (or partition) is stored, or served here when it is not persistent.
func (b *Broker) TopicExists(ctx context.Context, name TopicName) (bool, error) {
	if !name.IsPersistent() {
		return b.topics.loadedTopic(name) != nil, nil
	}
	there, err := b.storage.Exists(ctx, name.storageName())
	if err != nil || there {
		return there, err
	}
	if err := b.catchUp(); err != nil {
		return false, err
	}
	return b.storage.Exists(ctx, name.storageName())
}

// checkPartition refuses names that contradict the partitions that a topic has.
func (b *Broker) checkPartition(ctx context.Context, name TopicName, create bool) error {
	metadata, err := b.PartitionedTopic(name.Parent())
	if err != nil {
		return err
	}
	index := name.Partition()
	switch {
	case metadata.Deleted && create:
		// Clients whose partition is just being deleted come back at once; they must not create it again.
		return fmt.Errorf("%w: %s is being deleted", errTopicNotFound, name.Parent())
	case index < 0 && metadata.Partitions > 0:
		return fmt.Errorf("%w: %s is partitioned; its partitions are %s0 to %d", errPartitionRefused, name, partitionSuffix, metadata.Partitions-1)
	case index >= 0 && metadata.Partitions == 0 && create:
		// Its partitioned topic is gone, and its clients are the last to hear of it: what is stored can be opened, nothing is created.
		there, err := b.TopicExists(ctx, name)
		if err == nil && !there {
			err = fmt.Errorf("%w: %s is no partitioned topic", errTopicNotFound, name.Parent())
		}
		return err
	case index >= 0 && metadata.Partitions > 0 && index >= metadata.Partitions:
		return fmt.Errorf("%w %s with max allowed %d partitions", errPartitionRefused, name, metadata.Partitions)
	}
	return nil
}

// CreatePartitioned creates a partitioned topic and its partitions.
func (b *Broker) CreatePartitioned(ctx context.Context, name TopicName, metadata PartitionedTopic) error {
	if metadata.Partitions < 1 || metadata.Partitions > MaxPartitions {
		return Refuse(ErrBadRequest, "Number of partitions should be 1 to %d, not %d", MaxPartitions, metadata.Partitions)
	}
	if name.Partition() >= 0 {
		return Refuse(ErrPreconditionFailed, "Partitioned Topic Name should not contain '%s'", partitionSuffix)
	}
	if _, err := b.NamespacePolicies(name.NamespaceName()); err != nil {
		return namespaceMissing(err)
	}
	there, err := b.TopicExists(ctx, name)
	if err != nil {
		return err
	}
	if there {
		return Refuse(ErrExists, "This topic already exists: %s", name)
	}
	if err := b.createJSON(partitionedZnode(name), metadata); err != nil {
		if errors.Is(err, ErrExists) {
			return Refuse(ErrExists, "This topic already exists: %s", name)
		}
		return err
	}
	return b.createPartitionLogs(name, 0, metadata.Partitions)
}

// ErrPreconditionFailed: the state of the topic or namespace does not allow what is asked.
var ErrPreconditionFailed = errors.New("precondition failed")

func namespaceMissing(err error) error {
	if errors.Is(err, ErrNotFound) {
		return fmt.Errorf("Namespace does not exist: %w", err)
	}
	return err
}

// createPartitionLogs makes the partitions exist, as empty managed ledgers that have no owner yet.
func (b *Broker) createPartitionLogs(name TopicName, from, to int) error {
	if !name.IsPersistent() {
		return nil
	}
	for index := from; index < to; index++ {
		err := b.create(managedLedgersPath+"/"+name.PartitionName(index).storageName(), []byte{}, 0)
		if err != nil && !errors.Is(err, ErrExists) {
			return err
		}
	}
	return nil
}

// GrowPartitions adds partitions to a topic; it never takes any away, because keys would change their partition's history.
func (b *Broker) GrowPartitions(name TopicName, partitions int) error {
	for {
		var metadata PartitionedTopic
		version, err := b.readJSON(partitionedZnode(name), &metadata)
		if errors.Is(err, ErrNotFound) {
			return Refuse(ErrConflict, "Topic is not partitioned topic: %s", name)
		}
		if err != nil {
			return err
		}
		if partitions <= metadata.Partitions {
			return Refuse(ErrPreconditionFailed, "number of partitions must be more than the %d that there are", metadata.Partitions)
		}
		if partitions > MaxPartitions {
			return Refuse(ErrPreconditionFailed, "at most %d partitions", MaxPartitions)
		}
		before := metadata.Partitions
		metadata.Partitions = partitions
		// Partitions exist before they are announced: a client that sees the new number finds them.
		if err := b.createPartitionLogs(name, before, partitions); err != nil {
			return err
		}
		err = b.writeJSON(partitionedZnode(name), metadata, version)
		if errors.Is(err, ErrConflict) {
			continue
		}
		return err
	}
}

// RemovePartitionedMetadata ends a partitioned topic whose partitions are deleted.
func (b *Broker) RemovePartitionedMetadata(name TopicName) error {
	return b.remove(partitionedZnode(name))
}

// MarkPartitionedDeleted keeps clients from creating partitions again while they are being deleted.
func (b *Broker) MarkPartitionedDeleted(name TopicName) error {
	metadata, err := b.PartitionedTopic(name)
	if err != nil {
		return err
	}
	metadata.Deleted = true
	return b.writeJSON(partitionedZnode(name), metadata, -1)
}

// TopicsMode selects topics by domain.
type TopicsMode string

// The modes, by the protocol's names.
const (
	PersistentTopics    TopicsMode = "PERSISTENT"
	NonPersistentTopics TopicsMode = "NON_PERSISTENT"
	AllTopics           TopicsMode = "ALL"
)

// TopicsOfNamespace lists a namespace's topics by full name, partitions one by one, sorted. Of the non-persistent ones, which are
// stored nowhere, it knows those that this broker serves and the partitions of partitioned ones.
func (b *Broker) TopicsOfNamespace(ctx context.Context, namespace string, mode TopicsMode) ([]string, error) {
	if _, err := b.NamespacePolicies(namespace); err != nil {
		return nil, namespaceMissing(err)
	}
	topics := []string{}
	if mode != NonPersistentTopics {
		if err := b.catchUp(); err != nil {
			return nil, err
		}
		stored, err := b.storage.List(ctx, namespace+"/"+Persistent)
		if err != nil {
			return nil, err
		}
		for _, encoded := range stored {
			local, err := decodeZnode(encoded)
			if err != nil {
				return nil, fmt.Errorf("topic %q of %s: %w", encoded, namespace, err)
			}
			topics = append(topics, Persistent+"://"+namespace+"/"+local)
		}
	}
	if mode != PersistentTopics {
		partitioned, err := b.PartitionedTopics(namespace, NonPersistent)
		if err != nil {
			return nil, err
		}
		for _, full := range partitioned {
			name, err := ParseTopicName(full)
			if err != nil {
				continue
			}
			metadata, err := b.PartitionedTopic(name)
			if err != nil {
				return nil, err
			}
			for index := range metadata.Partitions {
				topics = append(topics, name.PartitionName(index).String())
			}
		}
		for _, t := range b.topics.all() {
			if !t.name.IsPersistent() && t.name.NamespaceName() == namespace {
				topics = append(topics, t.name.String())
			}
		}
	}
	slices.Sort(topics)
	return slices.Compact(topics), nil
}

// PartitionedTopics lists the partitioned topics of a namespace and domain by full name, sorted.
func (b *Broker) PartitionedTopics(namespace, domain string) ([]string, error) {
	elements, err := b.children(strings.Join([]string{partitionedPath, namespace, domain}, "/"))
	if err != nil {
		return nil, err
	}
	topics := make([]string, 0, len(elements))
	for _, element := range elements {
		local, err := decodeZnode(element)
		if err != nil {
			return nil, fmt.Errorf("partitioned topic %q of %s: %w", element, namespace, err)
		}
		topics = append(topics, domain+"://"+namespace+"/"+local)
	}
	slices.Sort(topics)
	return topics, nil
}
