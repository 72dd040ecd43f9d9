package controllerdriver

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/metadata"
)

// writeTopic creates a topic's configuration and its assignment in one transaction, together with a check where there is one. ErrNodeExists
// means that the topic is there already.
func (d *Driver) writeTopic(ctx context.Context, topic *newTopic, check ...any) error {
	configPath := metadata.ConfigPath(metadata.ConfigTopics, topic.name)
	_, version, err := d.readConfig(ctx, metadata.ConfigTopics, topic.name)
	if err != nil {
		return err
	}
	config := metadata.NewConfig(topic.config).Encode()
	var configOperation any = create(configPath, config)
	if version >= 0 { // set before the topic was there, which Kafka allows
		configOperation = &zk.SetDataRequest{Path: configPath, Data: config, Version: version}
	}
	payload := metadata.Topic{ID: topic.id, Replicas: topic.assignment}.Encode()
	operations := append(check, configOperation, create(metadata.TopicPath(topic.name), payload))
	results, err := d.config.ZooKeeper.Multi(operations...)
	if err := firstError(results, err); err != nil {
		return fmt.Errorf("creating the znodes of topic %s: %w", topic.name, err)
	}
	return nil
}
