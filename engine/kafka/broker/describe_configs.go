package broker

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/configs"
	"twinlog/engine/kafka/broker/reactor"
)

// handleDescribeConfigs lists configurations with their effective values and where those come from.
func (b *Broker) handleDescribeConfigs(r *reactor.Request) {
	body := r.Body.(*kmsg.DescribeConfigsRequest)
	response := kmsg.NewPtrDescribeConfigsResponse()
	for _, resource := range body.Resources {
		answer := kmsg.NewDescribeConfigsResponseResource()
		answer.ResourceType, answer.ResourceName = resource.ResourceType, resource.ResourceName
		entries, kafka, text := b.configEntries(resource)
		if kafka != nil {
			answer.ErrorCode, answer.ErrorMessage = kafka.Code, kmsg.StringPtr(text)
		}
		for _, entry := range entries {
			if resource.ConfigNames == nil || slices.Contains(resource.ConfigNames, entry.Definition.Name) {
				answer.Configs = append(answer.Configs, describeConfig(body, resource.ResourceType, entry))
			}
		}
		response.Resources = append(response.Resources, answer)
	}
	r.Respond(response)
}

func (b *Broker) configEntries(resource kmsg.DescribeConfigsRequestResource) ([]configs.Entry, *kerr.Error, string) {
	switch resource.ResourceType {
	case kmsg.ConfigResourceTypeTopic:
		if _, known := b.metadata.Load().Topic(resource.ResourceName); !known {
			return nil, kerr.UnknownTopicOrPartition, "the topic " + resource.ResourceName + " does not exist"
		}
		return b.topicConfigs.topic(resource.ResourceName), nil, ""
	case kmsg.ConfigResourceTypeBroker:
		if resource.ResourceName == "" {
			return b.topicConfigs.defaultsOnly(), nil, ""
		}
		if id, err := strconv.Atoi(resource.ResourceName); err != nil || int32(id) != b.config.BrokerID {
			return nil, kerr.InvalidRequest, fmt.Sprintf("this is broker %d; ask broker %s about its own configuration", b.config.BrokerID, resource.ResourceName)
		}
		return b.topicConfigs.broker(), nil, ""
	case kmsg.ConfigResourceTypeBrokerLogger:
		return nil, nil, ""
	}
	return nil, kerr.InvalidRequest, fmt.Sprintf("configurations of resource type %d are not kept here", resource.ResourceType)
}

func describeConfig(body *kmsg.DescribeConfigsRequest, resource kmsg.ConfigResourceType, entry configs.Entry) kmsg.DescribeConfigsResponseResourceConfig {
	config := kmsg.NewDescribeConfigsResponseResourceConfig()
	config.Name, config.Value = entry.Definition.Name, kmsg.StringPtr(entry.Value)
	config.ReadOnly = resource == kmsg.ConfigResourceTypeBroker && !entry.Definition.Dynamic
	config.Source = entry.Source
	config.IsDefault = entry.Source == kmsg.ConfigSourceDefaultConfig
	config.ConfigType = entry.Definition.Type
	if body.IncludeDocumentation {
		config.Documentation = kmsg.StringPtr(entry.Definition.Doc)
	}
	if body.IncludeSynonyms {
		for _, synonym := range entry.Synonyms {
			item := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			item.Name, item.Value, item.Source = synonym.Name, kmsg.StringPtr(synonym.Value), synonym.Source
			config.ConfigSynonyms = append(config.ConfigSynonyms, item)
		}
	}
	return config
}
