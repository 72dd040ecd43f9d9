package controllerdriver

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/metadata"
)

// doomedTopic is a topic that somebody wants to be gone.
type doomedTopic struct {
	name    string // "" while only the id is known
	id      metadata.TopicID
	refused *refusal
}

// handleDeleteTopics serves DeleteTopics v0 to v6; from v6 on topics may be named by id.
func (d *Driver) handleDeleteTopics(r *reactor.Request) {
	request := r.Body.(*kmsg.DeleteTopicsRequest)
	topics := readDoomedTopics(request)
	respond := func() { r.Respond(deleteTopicsResponse(topics)) }
	refuseAll := func(kind *kerr.Error) {
		for _, topic := range topics {
			topic.refused = plainRefusal(kind)
		}
		respond()
	}
	d.ask("DeleteTopics", func(t *term) error {
		if d.config.DisableTopicDeletion {
			if r.Version < 3 {
				refuseAll(kerr.InvalidRequest)
			} else {
				refuseAll(kerr.TopicDeletionDisabled)
			}
			return nil
		}
		for _, topic := range topics {
			if err := t.markForDeletion(topic); err != nil {
				refuseAll(kerr.NotController)
				return err
			}
		}
		d.awaitDeletion(r, request.TimeoutMillis, topics, respond)
		return nil
	}, func() { refuseAll(kerr.NotController) })
}

func readDoomedTopics(request *kmsg.DeleteTopicsRequest) []*doomedTopic {
	var topics []*doomedTopic
	for _, name := range request.TopicNames {
		topics = append(topics, &doomedTopic{name: name})
	}
	for _, asked := range request.Topics {
		topic := &doomedTopic{id: asked.TopicID}
		if asked.Topic != nil {
			topic.name = *asked.Topic
		}
		if (topic.name == "") == (topic.id == metadata.TopicID{}) {
			topic.refused = refuse(kerr.InvalidRequest, "Topic name and topic ID can not both be specified, and one of them must be.")
		}
		topics = append(topics, topic)
	}
	for i, topic := range topics {
		if slices.ContainsFunc(topics[:i], func(other *doomedTopic) bool { return other.name == topic.name && other.id == topic.id }) {
			topic.refused = refuse(kerr.InvalidRequest, "The topic is named more than once.")
		}
	}
	return topics
}

// markForDeletion writes the mark that makes this controller, or the next one, delete the topic. An error ends the term.
func (t *term) markForDeletion(topic *doomedTopic) error {
	if topic.refused != nil {
		return nil
	}
	if topic.name == "" {
		name, known := t.state.TopicByID(topic.id)
		if !known {
			topic.refused = plainRefusal(kerr.UnknownTopicID)
			return nil
		}
		topic.name = name
	}
	if !t.state.HasTopic(topic.name) {
		topic.refused = plainRefusal(kerr.UnknownTopicOrPartition)
		return nil
	}
	err := t.multi([]any{create(metadata.DeleteTopicPath(topic.name), nil)})
	if errors.Is(err, zk.ErrNodeExists) {
		return nil // marked before: this request waits with the earlier one
	}
	if err != nil {
		return fmt.Errorf("marking topic %s for deletion: %w", topic.name, err)
	}
	return nil
}

// awaitDeletion answers when this broker does not tell clients about the topics any more.
func (d *Driver) awaitDeletion(r *reactor.Request, timeoutMillis int32, topics []*doomedTopic, respond func()) {
	goneNow := func(snapshot *metadata.Snapshot, topic *doomedTopic) bool {
		_, known := snapshot.Topic(topic.name)
		return topic.refused != nil || !known
	}
	d.await(r, timeoutMillis, func(snapshot *metadata.Snapshot) bool {
		return !slices.ContainsFunc(topics, func(topic *doomedTopic) bool { return !goneNow(snapshot, topic) })
	}, func(expired bool) {
		for _, topic := range topics {
			if expired && !goneNow(d.config.Metadata(), topic) {
				topic.refused = plainRefusal(kerr.RequestTimedOut)
			}
		}
		respond()
	})
}

func deleteTopicsResponse(topics []*doomedTopic) kmsg.Response {
	response := kmsg.NewPtrDeleteTopicsResponse()
	for _, topic := range topics {
		result := kmsg.NewDeleteTopicsResponseTopic()
		if topic.name != "" {
			result.Topic = &topic.name
		}
		result.TopicID, result.ErrorCode, result.ErrorMessage = topic.id, topic.refused.code(), topic.refused.message()
		response.Topics = append(response.Topics, result)
	}
	return response
}
