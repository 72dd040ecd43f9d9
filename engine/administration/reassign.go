package administration

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"

	"twinlog/engine/kafka/placement"
	"twinlog/engine/sentence"
)

// Reassignment asks for a partition to be moved, or for many to be spread anew.
type Reassignment struct {
	// Topic is the topic of the one partition, or the one whose partitions are spread; empty with Balance: all topics.
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"` // of the one partition, the preferred leader first
	// Balance are the brokers over which partitions are to be spread evenly. It stands instead of Partition and Replicas.
	Balance []int32 `json:"balance"`
	// Cancel takes back what is under way for the one partition.
	Cancel bool `json:"cancel"`
}

// MovingPartition is a partition whose reassignment is under way (KIP-455).
type MovingPartition struct {
	Topic     string  `json:"topic"`
	Partition int32   `json:"partition"`
	Replicas  []int32 `json:"replicas"` // now: the old and the new ones
	Adding    []int32 `json:"adding"`
	Removing  []int32 `json:"removing"`
	ISR       []int32 `json:"isr"`
	Leader    int32   `json:"leader"`
}

// Reassignments lists what is under way, by topic and partition.
func (a *Administrator) Reassignments(ctx context.Context) ([]MovingPartition, error) {
	moving := []MovingPartition{}
	err := a.withKafka(func(admin *kadm.Client) error {
		topics, err := admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return kafkaError(err, "", sentence.Of("listingTopics", "listing the topics"))
		}
		answers, err := admin.ListPartitionReassignments(ctx, topics.TopicsSet())
		if err != nil {
			return kafkaError(err, "", sentence.Of("listingReassignments", "listing the reassignments"))
		}
		for _, one := range answers.Sorted() {
			detail := topics[one.Topic].Partitions[one.Partition]
			moving = append(moving, MovingPartition{
				Topic: one.Topic, Partition: one.Partition, Replicas: notNil(one.Replicas), Adding: notNil(one.AddingReplicas),
				Removing: notNil(one.RemovingReplicas), ISR: notNil(detail.ISR), Leader: detail.Leader,
			})
		}
		return nil
	})
	return moving, err
}

func notNil(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

// Reassign begins reassignments and returns once the controller has taken them; [Administrator.Reassignments] tells how far they are. It
// returns what each partition is to become.
func (a *Administrator) Reassign(ctx context.Context, wanted Reassignment) (moved []MovingPartition, err error) {
	if err := wanted.check(); err != nil {
		return nil, err
	}
	err = a.withKafka(func(admin *kadm.Client) error {
		var request kadm.AlterPartitionAssignmentsReq
		topics, err := admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return kafkaError(err, "", sentence.Of("listingTopics", "listing the topics"))
		}
		if topic, known := topics[wanted.Topic]; wanted.Topic != "" && (!known || topic.Err != nil) {
			return sentence.Error(ErrNotFound, "noSuchTopic", `there is no topic "{topic}"`, wanted.Topic)
		}
		switch {
		case wanted.Cancel:
			request.CancelAssign(wanted.Topic, wanted.Partition)
		case len(wanted.Balance) > 0:
			brokers, err := admin.ListBrokers(ctx)
			if err != nil {
				return kafkaError(err, "", listingBrokers())
			}
			for _, id := range wanted.Balance {
				if !slices.Contains(brokers.NodeIDs(), id) {
					return sentence.Error(ErrInvalid, "brokerNotRunning", "broker {broker} is not running; those that are: {brokers}", id, brokers.NodeIDs())
				}
			}
			if request, err = spread(topics, wanted); err != nil {
				return err
			}
		default:
			request.Assign(wanted.Topic, wanted.Partition, wanted.Replicas)
		}
		moved, err = begin(ctx, admin, topics, request)
		return err
	})
	return moved, err
}

func (r Reassignment) check() error {
	one := len(r.Replicas) > 0
	switch {
	case len(r.Balance) > mostReplicas || len(r.Replicas) > mostReplicas:
		return sentence.Error(ErrInvalid, "notSoManyBrokers", "there are at most {most} {most|broker|brokers}", mostReplicas)
	case r.Cancel && (one || len(r.Balance) > 0), one && len(r.Balance) > 0:
		return sentence.Error(ErrInvalid, "reassignOneThing",
			"a reassignment has replicas for one partition, or brokers to balance over, or is cancelled: one of the three")
	case !r.Cancel && !one && len(r.Balance) == 0:
		return sentence.Error(ErrInvalid, "reassignNothing", "a reassignment needs replicas for one partition, or brokers to balance over")
	case (r.Cancel || one) && (r.Topic == "" || r.Partition < 0):
		return sentence.Error(ErrInvalid, "reassignWhich", "which partition is to be moved? topic and partition are missing")
	}
	return nil
}

// spread places the partitions of each topic as if they were created on the brokers, each topic beginning at another one. What comes out
// where it is already is not moved.
func spread(topics kadm.TopicDetails, wanted Reassignment) (kadm.AlterPartitionAssignmentsReq, error) {
	request := kadm.AlterPartitionAssignmentsReq{}
	var brokers []placement.Broker
	for _, id := range wanted.Balance {
		brokers = append(brokers, placement.Broker{ID: id})
	}
	for turn, topic := range topics.Sorted() {
		if topic.Err != nil || wanted.Topic != "" && topic.Topic != wanted.Topic {
			continue
		}
		partitions := topic.Partitions.Sorted()
		if len(partitions) == 0 {
			continue
		}
		factor := topic.Partitions.NumReplicas()
		assignment, err := placement.Assign(brokers, placement.Request{
			Partitions: len(partitions), ReplicationFactor: factor, StartIndex: turn % len(brokers),
		})
		if err != nil {
			return nil, sentence.Error(ErrInvalid, "tooFewBrokers", "the topic {topic} has {count} {count|replica|replicas} of each partition, "+
				"and cannot be on {brokers} {brokers|broker|brokers}: leave more brokers, or make fewer replicas first", topic.Topic, factor, len(brokers))
		}
		for i, partition := range partitions {
			if !slices.Equal(partition.Replicas, assignment[i]) {
				request.Assign(topic.Topic, partition.Partition, assignment[i])
			}
		}
	}
	return request, nil
}

// begin asks the controller for reassignments. One that is refused is told of; the others go on.
func begin(ctx context.Context, admin *kadm.Client, topics kadm.TopicDetails, request kadm.AlterPartitionAssignmentsReq) ([]MovingPartition, error) {
	moved := []MovingPartition{}
	answers, err := admin.AlterPartitionAssignments(ctx, request)
	if err != nil {
		return nil, kafkaError(err, "", sentence.Of("reassigningPartitions", "reassigning partitions"))
	}
	for _, answer := range answers.Sorted() {
		if answer.Err != nil {
			return moved, kafkaError(answer.Err, answer.ErrMessage, sentence.Of("reassigning", "reassigning {topic}-{partition}", answer.Topic, answer.Partition))
		}
		now := topics[answer.Topic].Partitions[answer.Partition]
		target := request[answer.Topic][answer.Partition]
		moved = append(moved, MovingPartition{
			Topic: answer.Topic, Partition: answer.Partition, Replicas: notNil(target), Adding: except(target, now.Replicas),
			Removing: except(now.Replicas, target), ISR: notNil(now.ISR), Leader: now.Leader,
		})
	}
	slices.SortFunc(moved, func(a, b MovingPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return moved, nil
}

func except(ids, others []int32) []int32 {
	return notNil(slices.DeleteFunc(slices.Clone(ids), func(id int32) bool { return slices.Contains(others, id) }))
}

// Election asks for new leaders.
type Election struct {
	Topic     string `json:"topic"`     // empty: all topics
	Partition *int32 `json:"partition"` // missing: all partitions of the topic
	// Type is preferred (the first replica leads again) or unclean (a replica that is not in the ISR may lead; what it does not have is lost).
	Type string `json:"type"`
}

// Elected is how an election of one partition ended.
type Elected struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Outcome is OK, or Kafka's name of the error, such as ELECTION_NOT_NEEDED.
	Outcome string `json:"outcome"`
	Message string `json:"message"`
}

// Elect holds elections.
func (a *Administrator) Elect(ctx context.Context, wanted Election) ([]Elected, error) {
	how, known := map[string]kadm.ElectLeadersHow{"preferred": kadm.ElectPreferredReplica, "unclean": kadm.ElectLiveReplica}[wanted.Type]
	if !known {
		return nil, sentence.Error(ErrInvalid, "notAnElection", `type is preferred or unclean, not "{given}"`, wanted.Type)
	}
	if wanted.Topic == "" && wanted.Partition != nil {
		return nil, sentence.Error(ErrInvalid, "electWhich", "the topic of partition {partition} is missing", *wanted.Partition)
	}
	elected := []Elected{}
	err := a.withKafka(func(admin *kadm.Client) error {
		topics, err := admin.ListTopicsWithInternal(ctx)
		if err != nil {
			return kafkaError(err, "", sentence.Of("listingTopics", "listing the topics"))
		}
		asked := kadm.TopicsSet{}
		for _, topic := range topics.Sorted() {
			if wanted.Topic != "" && topic.Topic != wanted.Topic || topic.Err != nil {
				continue
			}
			for _, partition := range topic.Partitions.Sorted() {
				if wanted.Partition == nil || partition.Partition == *wanted.Partition {
					asked.Add(topic.Topic, partition.Partition)
				}
			}
		}
		if len(asked) == 0 {
			return sentence.Error(ErrNotFound, "noPartitionOf", `there is no such partition of "{topic}"`, wanted.Topic)
		}
		answers, err := admin.ElectLeaders(ctx, how, asked)
		if err != nil {
			return kafkaError(err, "", sentence.Of("electingLeaders", "electing leaders"))
		}
		for _, partitions := range answers {
			for _, one := range partitions {
				elected = append(elected, outcomeOf(one))
			}
		}
		return nil
	})
	slices.SortFunc(elected, func(a, b Elected) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return elected, err
}

func outcomeOf(result kadm.ElectLeadersResult) Elected {
	elected := Elected{Topic: result.Topic, Partition: result.Partition, Outcome: "OK"}
	if result.Err != nil {
		elected.Outcome, elected.Message = codeOf(result.Err), result.ErrMessage
		if elected.Message == "" {
			elected.Message = fmt.Sprint(result.Err)
		}
	}
	return elected
}
