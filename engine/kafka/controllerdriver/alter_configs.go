package controllerdriver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/metadata"
)

// alteration is what one resource of an AlterConfigs or IncrementalAlterConfigs request asks for.
type alteration struct {
	kind    kmsg.ConfigResourceType
	name    string
	change  func(map[string]string) (map[string]string, error)
	refused *refusal
}

// handleAlterConfigs serves AlterConfigs v0 to v2: the given values replace all that was set.
func (d *Driver) handleAlterConfigs(r *reactor.Request) {
	request := r.Body.(*kmsg.AlterConfigsRequest)
	var alterations []*alteration
	for i := range request.Resources {
		resource := &request.Resources[i]
		alterations = append(alterations, &alteration{
			kind: resource.ResourceType, name: resource.ResourceName,
			change: func(map[string]string) (map[string]string, error) {
				config := map[string]string{}
				for _, c := range resource.Configs {
					if c.Value == nil {
						return nil, fmt.Errorf("Null value not supported for : %s", c.Name)
					}
					config[c.Name] = *c.Value
				}
				return config, nil
			},
		})
	}
	d.alter(alterations, request.ValidateOnly, func() {
		response := kmsg.NewPtrAlterConfigsResponse()
		for _, a := range alterations {
			result := kmsg.NewAlterConfigsResponseResource()
			result.ResourceType, result.ResourceName = a.kind, a.name
			result.ErrorCode, result.ErrorMessage = a.refused.code(), a.refused.message()
			response.Resources = append(response.Resources, result)
		}
		r.Respond(response)
	})
}

// handleIncrementalAlterConfigs serves IncrementalAlterConfigs v0 and v1: what is not named stays (KIP-339).
func (d *Driver) handleIncrementalAlterConfigs(r *reactor.Request) {
	request := r.Body.(*kmsg.IncrementalAlterConfigsRequest)
	var alterations []*alteration
	for i := range request.Resources {
		resource := &request.Resources[i]
		alterations = append(alterations, &alteration{
			kind: resource.ResourceType, name: resource.ResourceName,
			change: func(config map[string]string) (map[string]string, error) { return d.applyIncrements(config, resource) },
		})
	}
	d.alter(alterations, request.ValidateOnly, func() {
		response := kmsg.NewPtrIncrementalAlterConfigsResponse()
		for _, a := range alterations {
			result := kmsg.NewIncrementalAlterConfigsResponseResource()
			result.ResourceType, result.ResourceName = a.kind, a.name
			result.ErrorCode, result.ErrorMessage = a.refused.code(), a.refused.message()
			response.Resources = append(response.Resources, result)
		}
		r.Respond(response)
	})
}

// errInvalidRequest marks errors that are the request's form, not a bad value.
var errInvalidRequest = errors.New("invalid request")

func (d *Driver) applyIncrements(config map[string]string, resource *kmsg.IncrementalAlterConfigsRequestResource) (map[string]string, error) {
	named := map[string]bool{}
	for _, c := range resource.Configs {
		if named[c.Name] {
			return nil, fmt.Errorf("%w: Error due to duplicate config keys", errInvalidRequest)
		}
		named[c.Name] = true
		if c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete {
			return nil, fmt.Errorf("%w: Null value not supported for : %s", errInvalidRequest, c.Name)
		}
		isList := c.Op == kmsg.IncrementalAlterConfigOpAppend || c.Op == kmsg.IncrementalAlterConfigOpSubtract
		if isList && !d.config.Rules.IsList(c.Name) {
			return nil, fmt.Errorf("Config value append is not allowed for config key: %s", c.Name)
		}
		switch c.Op {
		case kmsg.IncrementalAlterConfigOpSet:
			config[c.Name] = *c.Value
		case kmsg.IncrementalAlterConfigOpDelete:
			delete(config, c.Name)
		case kmsg.IncrementalAlterConfigOpAppend:
			config[c.Name] = appendToList(config[c.Name], *c.Value)
		case kmsg.IncrementalAlterConfigOpSubtract:
			config[c.Name] = subtractFromList(config[c.Name], *c.Value)
		default:
			return nil, fmt.Errorf("%w: operation %d is not known", errInvalidRequest, c.Op)
		}
	}
	return config, nil
}

func splitList(list string) []string {
	var values []string
	for value := range strings.SplitSeq(list, ",") {
		if value = strings.TrimSpace(value); value != "" {
			values = append(values, value)
		}
	}
	return values
}

func appendToList(list, added string) string {
	values := splitList(list)
	for _, value := range splitList(added) {
		if !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return strings.Join(values, ",")
}

func subtractFromList(list, removed string) string {
	unwanted := splitList(removed)
	return strings.Join(slices.DeleteFunc(splitList(list), func(value string) bool { return slices.Contains(unwanted, value) }), ",")
}

// alter carries out alterations one after another, then responds.
func (d *Driver) alter(alterations []*alteration, dry bool, respond func()) {
	for i, a := range alterations {
		for _, other := range alterations[:i] {
			if other.kind == a.kind && other.name == a.name {
				a.refused = refuse(kerr.InvalidRequest, "Each resource must appear at most once.")
			}
		}
	}
	accepted := d.configs.do(func(ctx context.Context) {
		for _, a := range alterations {
			if a.refused == nil {
				a.refused = d.alterOne(ctx, a, dry)
			}
		}
		respond()
	})
	if !accepted {
		for _, a := range alterations {
			a.refused = refuse(kerr.RequestTimedOut, "%d configuration changes wait already", maxConfigJobs)
		}
		respond()
	}
}

func (d *Driver) alterOne(ctx context.Context, a *alteration, dry bool) *refusal {
	var entityType, entity string
	var validate func(map[string]string) error
	switch a.kind {
	case kmsg.ConfigResourceTypeTopic:
		if !metadata.ValidTopicName(a.name) {
			return refuse(kerr.InvalidTopicException, "Topic name '%s' is invalid.", a.name)
		}
		if _, known := d.config.Metadata().Topic(a.name); !known {
			return refuse(kerr.UnknownTopicOrPartition, "The topic '%s' does not exist.", a.name)
		}
		entityType, entity, validate = metadata.ConfigTopics, a.name, d.config.Rules.ValidateTopic
	case kmsg.ConfigResourceTypeBroker:
		entityType, entity = metadata.ConfigBrokers, a.name
		if a.name == "" {
			entity = metadata.DefaultEntity
		} else if id, err := strconv.ParseInt(a.name, 10, 32); err != nil || int32(id) != d.config.BrokerID {
			return refuse(kerr.InvalidRequest, "Unexpected broker id, expected %d or empty string, but received %s", d.config.BrokerID, a.name)
		}
		validate = func(config map[string]string) error { return d.config.Rules.ValidateBroker(config, a.name == "") }
	default:
		return refuse(kerr.InvalidRequest, "Configurations of resource type %s cannot be altered here: only TOPIC and BROKER.", a.kind)
	}
	var refused *refusal
	err := d.changeConfig(ctx, entityType, entity, dry, func(config map[string]string) (map[string]string, error) {
		refused = nil
		changed, err := a.change(config)
		if errors.Is(err, errInvalidRequest) {
			refused = refuse(kerr.InvalidRequest, "%s", strings.TrimPrefix(err.Error(), errInvalidRequest.Error()+": "))
			return nil, err
		}
		if err == nil {
			err = validate(changed)
		}
		if err != nil {
			refused = refuse(kerr.InvalidConfig, "%v", err)
		}
		return changed, err
	})
	if err != nil && refused == nil {
		return ensembleFailed(err)
	}
	return refused
}
