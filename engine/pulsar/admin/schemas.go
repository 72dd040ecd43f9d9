package admin

import (
	"net/http"
	"strconv"

	"github.com/gin-gonic/gin"

	"twinlog/engine/pulsar/broker"
	"twinlog/engine/pulsar/pulsarpb"
)

// schemaNames are the admin interface's names of the protocol's schema types, where they differ from upper case.
var schemaNames = map[pulsarpb.Schema_Type]string{
	pulsarpb.Schema_None: "NONE", pulsarpb.Schema_String: "STRING", pulsarpb.Schema_Json: "JSON", pulsarpb.Schema_Protobuf: "PROTOBUF",
	pulsarpb.Schema_Avro: "AVRO", pulsarpb.Schema_Bool: "BOOLEAN", pulsarpb.Schema_Int8: "INT8", pulsarpb.Schema_Int16: "INT16",
	pulsarpb.Schema_Int32: "INT32", pulsarpb.Schema_Int64: "INT64", pulsarpb.Schema_Float: "FLOAT", pulsarpb.Schema_Double: "DOUBLE",
	pulsarpb.Schema_Date: "DATE", pulsarpb.Schema_Time: "TIME", pulsarpb.Schema_Timestamp: "TIMESTAMP",
	pulsarpb.Schema_KeyValue: "KEY_VALUE", pulsarpb.Schema_Instant: "INSTANT", pulsarpb.Schema_LocalDate: "LOCAL_DATE",
	pulsarpb.Schema_LocalTime: "LOCAL_TIME", pulsarpb.Schema_LocalDateTime: "LOCAL_DATE_TIME",
	pulsarpb.Schema_ProtobufNative: "PROTOBUF_NATIVE",
}

type schemaAnswer struct {
	Version    int64             `json:"version"`
	Type       string            `json:"type"`
	Timestamp  int64             `json:"timestamp"`
	Data       string            `json:"data"`
	Properties map[string]string `json:"properties"`
}

type schemaBody struct {
	Type       string            `json:"type"`
	Schema     string            `json:"schema"`
	Properties map[string]string `json:"properties"`
}

func (h *handler) routeSchemas(group *gin.RouterGroup) {
	topic := group.Group("/:tenant/:namespace/:topic")
	topic.GET("/schema", func(c *gin.Context) { h.schema(c, -1) })
	topic.GET("/schema/:version", func(c *gin.Context) {
		version, err := number(c, "version")
		if err != nil {
			fail(c, err)
			return
		}
		h.schema(c, version)
	})
	topic.GET("/schemas", h.allSchemas)
	topic.POST("/schema", h.postSchema)
	topic.DELETE("/schema", func(c *gin.Context) {
		name, err := topicName(c, broker.Persistent)
		if err != nil {
			fail(c, err)
			return
		}
		version, err := h.broker.DeleteSchema(name)
		answer(c, gin.H{"version": version}, err)
	})
}

func describe(schema broker.SchemaVersion) schemaAnswer {
	properties := schema.Properties
	if properties == nil {
		properties = map[string]string{}
	}
	return schemaAnswer{
		Version: schema.Version, Type: schemaNames[pulsarpb.Schema_Type(schema.Type)], Timestamp: schema.Timestamp,
		Data: string(schema.Data), Properties: properties,
	}
}

// schema answers one version, the latest for -1.
func (h *handler) schema(c *gin.Context, version int64) {
	name, err := topicName(c, broker.Persistent)
	if err != nil {
		fail(c, err)
		return
	}
	versions, err := h.broker.Schemas(name)
	if err != nil {
		fail(c, err)
		return
	}
	for i := len(versions) - 1; i >= 0; i-- {
		if (version < 0 || versions[i].Version == version) && !versions[i].Deleted {
			c.JSON(http.StatusOK, describe(versions[i]))
			return
		}
	}
	refuse(c, http.StatusNotFound, "Schema not found")
}

func (h *handler) allSchemas(c *gin.Context) {
	name, err := topicName(c, broker.Persistent)
	if err != nil {
		fail(c, err)
		return
	}
	versions, err := h.broker.Schemas(name)
	all := []schemaAnswer{}
	for _, version := range versions {
		if !version.Deleted {
			all = append(all, describe(version))
		}
	}
	answer(c, gin.H{"getSchemaResponses": all}, err)
}

func (h *handler) postSchema(c *gin.Context) {
	name, err := topicName(c, broker.Persistent)
	var posted schemaBody
	if err == nil {
		err = body(c, &posted)
	}
	if err != nil {
		fail(c, err)
		return
	}
	for number, text := range schemaNames {
		if text != posted.Type {
			continue
		}
		version, err := h.broker.AddSchema(name, broker.SchemaVersion{
			Type: int32(number), Name: name.Local, Data: []byte(posted.Schema), Properties: posted.Properties,
		})
		answer(c, gin.H{"version": version}, err)
		return
	}
	refuse(c, http.StatusUnprocessableEntity, "unknown schema type "+strconv.Quote(posted.Type))
}
