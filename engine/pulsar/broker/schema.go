package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// SchemaVersion is one version of a topic's schema.
type SchemaVersion struct {
	Version    int64             `json:"version"`
	Type       int32             `json:"type"` // as in the protocol
	Name       string            `json:"name"`
	Data       []byte            `json:"data"`
	Properties map[string]string `json:"properties,omitempty"`
	Timestamp  int64             `json:"timestamp"` // ms since 1970
	Deleted    bool              `json:"deleted,omitempty"`
}

// schemaHistory is the value of /schemas/{tenant}/{namespace}/{topic}. All versions are in the znode itself (Pulsar puts a locator
// there and the versions into a ledger); it changes by compare and set.
type schemaHistory struct {
	Versions []SchemaVersion `json:"versions"`
}

// maxSchemaBytes keeps a history well below ZooKeeper's limit of 1 MiB a znode.
const maxSchemaBytes = 512 << 10

func schemaZnode(name TopicName) string {
	parent := name.Parent()
	return schemasPath + "/" + parent.NamespaceName() + "/" + parent.encodedLocal()
}

// versionBytes is how the protocol writes a version.
func versionBytes(version int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(version)) }

// Schemas lists the versions of a topic's schema, oldest first; none when it has no schema or it was deleted.
func (b *Broker) Schemas(name TopicName) ([]SchemaVersion, error) {
	history, _, err := b.schemaHistory(name)
	if err != nil {
		return nil, err
	}
	if n := len(history.Versions); n > 0 && history.Versions[n-1].Deleted {
		return nil, nil
	}
	return history.Versions, nil
}

func (b *Broker) schemaHistory(name TopicName) (schemaHistory, int32, error) {
	var history schemaHistory
	version, err := b.readJSON(schemaZnode(name), &history)
	if errors.Is(err, ErrNotFound) {
		return schemaHistory{}, -1, nil
	}
	return history, version, err
}

// AddSchema registers a schema and returns its version; one that is registered already keeps its version. A schema of another type
// than the latest is refused.
func (b *Broker) AddSchema(name TopicName, added SchemaVersion) (int64, error) {
	for {
		history, stat, err := b.schemaHistory(name)
		if err != nil {
			return 0, err
		}
		live := liveVersions(history.Versions)
		for _, known := range live {
			if sameSchema(known, added) {
				return known.Version, nil
			}
		}
		if len(live) > 0 && live[len(live)-1].Type != added.Type {
			return 0, fmt.Errorf("%w: schema of type %s, while topic %s has %s",
				errSchema, schemaTypeName(added.Type), name.Parent(), schemaTypeName(live[len(live)-1].Type))
		}
		added.Version = int64(len(history.Versions))
		added.Timestamp = time.Now().UnixMilli()
		history.Versions = append(history.Versions, added)
		if err := b.storeSchemas(name, history, stat); !errors.Is(err, ErrConflict) && !errors.Is(err, ErrExists) {
			return added.Version, err
		}
	}
}

func (b *Broker) storeSchemas(name TopicName, history schemaHistory, version int32) error {
	total := 0
	for _, stored := range history.Versions {
		total += len(stored.Data)
	}
	if total > maxSchemaBytes {
		return fmt.Errorf("%w: the schemas of topic %s would take more than %d bytes", errSchema, name.Parent(), maxSchemaBytes)
	}
	if version < 0 {
		return b.createJSON(schemaZnode(name), history)
	}
	return b.writeJSON(schemaZnode(name), history, version)
}

// liveVersions are those since the last deletion.
func liveVersions(versions []SchemaVersion) []SchemaVersion {
	for i := len(versions) - 1; i >= 0; i-- {
		if versions[i].Deleted {
			return versions[i+1:]
		}
	}
	return versions
}

// DeleteSchema marks a topic's schema deleted and returns the version of the mark.
func (b *Broker) DeleteSchema(name TopicName) (int64, error) {
	for {
		history, stat, err := b.schemaHistory(name)
		if err != nil {
			return 0, err
		}
		if len(liveVersions(history.Versions)) == 0 {
			return 0, Refuse(ErrNotFound, "Schema not found: topic %s", name.Parent())
		}
		version := int64(len(history.Versions))
		history.Versions = append(history.Versions, SchemaVersion{Version: version, Deleted: true, Timestamp: time.Now().UnixMilli()})
		if err := b.storeSchemas(name, history, stat); !errors.Is(err, ErrConflict) {
			return version, err
		}
	}
}

func sameSchema(a, b SchemaVersion) bool { return a.Type == b.Type && bytes.Equal(a.Data, b.Data) }

func schemaTypeName(number int32) string { return pulsarpb.Schema_Type(number).String() }

// addSchema registers a producer's schema and returns the version as the protocol writes it.
func (b *Broker) addSchema(_ context.Context, name TopicName, schema *pulsarpb.Schema) ([]byte, error) {
	if schema.GetType() == pulsarpb.Schema_AutoConsume {
		return nil, nil
	}
	version, err := b.AddSchema(name, SchemaVersion{
		Type: int32(schema.GetType()), Name: schema.GetName(), Data: schema.GetSchemaData(), Properties: pairs(schema.GetProperties()),
	})
	if err != nil {
		return nil, err
	}
	return versionBytes(version), nil
}

// checkConsumerSchema registers a consumer's schema, or refuses a consumer that could not read what is there.
func (b *Broker) checkConsumerSchema(ctx context.Context, name TopicName, schema *pulsarpb.Schema) error {
	_, err := b.addSchema(ctx, name, schema)
	return err
}

// GET_SCHEMA: one version of a topic's schema, or the latest.
func (c *connection) handleGetSchema(command *pulsarpb.BaseCommand, size int) error {
	ask := command.GetGetSchema()
	c.traceReceived(command, size, ask.GetTopic(), int64(ask.GetRequestId()), -1, 0)
	return c.request(func(context.Context) {
		response := &pulsarpb.CommandGetSchemaResponse{RequestId: ask.RequestId}
		if schema, err := c.broker.findSchema(ask.GetTopic(), ask.GetSchemaVersion()); err != nil {
			response.ErrorCode = serverError(err).Enum()
			if errors.Is(err, ErrNotFound) {
				response.ErrorCode = pulsarpb.ServerError_TopicNotFound.Enum()
			}
			response.ErrorMessage = proto.String(err.Error())
		} else {
			response.Schema = protocolSchema(schema)
			response.SchemaVersion = versionBytes(schema.Version)
		}
		c.send(&pulsarpb.BaseCommand{Type: pulsarpb.BaseCommand_GET_SCHEMA_RESPONSE.Enum(), GetSchemaResponse: response})
	})
}

func protocolSchema(schema SchemaVersion) *pulsarpb.Schema {
	encoded := &pulsarpb.Schema{
		Name: proto.String(schema.Name), Type: pulsarpb.Schema_Type(schema.Type).Enum(), SchemaData: append([]byte{}, schema.Data...),
	}
	for key, value := range schema.Properties {
		encoded.Properties = append(encoded.Properties, &pulsarpb.KeyValue{Key: proto.String(key), Value: proto.String(value)})
	}
	return encoded
}

func (b *Broker) findSchema(topic string, version []byte) (SchemaVersion, error) {
	name, err := ParseTopicName(topic)
	if err != nil {
		return SchemaVersion{}, err
	}
	versions, err := b.Schemas(name)
	if err != nil {
		return SchemaVersion{}, err
	}
	missing := Refuse(ErrNotFound, "Topic not found or no-schema: %s", topic)
	if len(version) != 8 {
		if live := liveVersions(versions); len(live) > 0 {
			return live[len(live)-1], nil
		}
		return SchemaVersion{}, missing
	}
	wanted := int64(binary.BigEndian.Uint64(version))
	for _, known := range versions {
		if known.Version == wanted && !known.Deleted {
			return known, nil
		}
	}
	return SchemaVersion{}, missing
}

// GET_OR_CREATE_SCHEMA: the version of a schema, which is registered where it is not.
func (c *connection) handleGetOrCreateSchema(command *pulsarpb.BaseCommand, size int) error {
	ask := command.GetGetOrCreateSchema()
	c.traceReceived(command, size, ask.GetTopic(), int64(ask.GetRequestId()), -1, 0)
	return c.request(func(ctx context.Context) {
		response := &pulsarpb.CommandGetOrCreateSchemaResponse{RequestId: ask.RequestId}
		name, err := ParseTopicName(ask.GetTopic())
		var version []byte
		if err == nil {
			version, err = c.broker.addSchema(ctx, name, ask.GetSchema())
		}
		if err != nil {
			response.ErrorCode, response.ErrorMessage = serverError(err).Enum(), proto.String(err.Error())
		} else {
			response.SchemaVersion = append([]byte{}, version...)
		}
		c.send(&pulsarpb.BaseCommand{
			Type: pulsarpb.BaseCommand_GET_OR_CREATE_SCHEMA_RESPONSE.Enum(), GetOrCreateSchemaResponse: response,
		})
	})
}
