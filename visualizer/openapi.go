package visualizer

import (
	"encoding/json"
	"net/http"
	"path"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/visualizer/wire"
)

// openAPI serves a description of the routes. It is made once, of the table that serves them.
func (s *Server) openAPI(routes []route) gin.HandlerFunc {
	document, err := json.MarshalIndent(describe(routes), "", "  ")
	if err != nil {
		panic(err) // maps and strings only
	}
	return func(c *gin.Context) { c.Data(http.StatusOK, "application/json", document) }
}

type object = map[string]any

// describe is the OpenAPI 3.1 document of the routes.
func describe(routes []route) object {
	schemas := schemas{}
	paths := object{}
	for _, route := range routes {
		name := pathParameter.ReplaceAllString(apiPrefix+route.path, "{$1}")
		operations, _ := paths[name].(object)
		if operations == nil {
			operations = object{}
			paths[name] = operations
		}
		operations[strings.ToLower(route.method)] = schemas.operation(route)
	}
	paths[apiPrefix+"/openapi.json"] = object{"get": object{"summary": "This document", "operationId": "getOpenapiJson",
		"responses": object{"200": object{"description": "OK"}}}}
	return object{
		"openapi": "3.1.0",
		"info": object{"title": "twinlog", "version": "1",
			"description": "The classroom: its nodes, its trace, its faults, its labs. Refusals are {\"error\":{\"code\",\"message\"}}."},
		"paths": paths,
		"components": object{"schemas": schemas, "securitySchemes": object{
			"token": object{"type": "http", "scheme": "bearer", "description": "asked for when the server can be reached from other machines"}}},
		"security": []object{{}, {"token": []string{}}},
	}
}

var pathParameter = regexp.MustCompile(`:(\w+)`)

// schemas are the JSON Schemas of the types met so far, by name.
type schemas map[string]any

func (s schemas) operation(route route) object {
	parameters := []object{}
	for _, match := range pathParameter.FindAllStringSubmatch(route.path, -1) {
		schema := object{"type": "string"}
		if match[1] == "action" {
			schema["enum"] = actionsOf(route.path)
		}
		parameters = append(parameters, object{"name": match[1], "in": "path", "required": true, "schema": schema})
	}
	for _, query := range route.query {
		parameters = append(parameters, object{"name": query.name, "in": "query", "description": query.about, "schema": object{"type": query.kind}})
	}
	success := object{"description": http.StatusText(route.status)}
	if route.status != http.StatusSwitchingProtocols {
		schema := object{"type": "object"}
		if route.answer != nil {
			schema = s.of(reflect.TypeOf(route.answer))
		}
		success["content"] = object{"application/json": object{"schema": schema}}
		if route.answerType != "" {
			success["content"] = object{route.answerType: object{}}
		}
	}
	responses := object{strconv.Itoa(route.status): success}
	problem := object{"application/json": object{"schema": s.of(reflect.TypeFor[wire.Problem]())}}
	for _, status := range append([]int{400, 401, 403, 500}, route.problems...) {
		responses[strconv.Itoa(status)] = object{"description": http.StatusText(status), "content": problem}
	}
	operation := object{"summary": route.about, "operationId": operationID(route), "parameters": parameters, "responses": responses}
	if route.bodyType != "" {
		operation["requestBody"] = object{"content": object{route.bodyType: object{}}}
	}
	if route.body != nil {
		operation["requestBody"] = object{"content": object{"application/json": object{"schema": s.of(reflect.TypeOf(route.body))}}}
	}
	return operation
}

func actionsOf(path string) []string {
	switch {
	case strings.HasPrefix(path, "/labs"):
		return labActions
	case strings.HasPrefix(path, "/pulsar/bundles"):
		return bundleActions
	}
	return nodeActions
}

// operationID: POST /nodes/:name/:action is postNodesAction.
func operationID(route route) string {
	id := strings.ToLower(route.method)
	for _, part := range strings.Split(strings.ReplaceAll(route.path, ":", ""), "/") {
		if part != "" {
			id += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return id
}

// of is the schema of a type; a struct's is put among the components and referred to.
func (s schemas) of(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage](), t.Kind() == reflect.Interface:
		return object{"type": "object"}
	}
	switch t.Kind() {
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Struct:
		return s.structure(t)
	}
	return object{"type": "integer"} // the kinds of number: the API has no fractions
}

func (s schemas) structure(t reflect.Type) object {
	name := path.Base(t.PkgPath())
	name = strings.ToUpper(name[:1]) + name[1:] + t.Name()
	reference := object{"$ref": "#/components/schemas/" + name}
	if _, known := s[name]; known {
		return reference
	}
	properties := object{}
	s[name] = object{"type": "object", "properties": properties}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			s.of(field.Type)
			embedded := path.Base(field.Type.PkgPath())
			embedded = strings.ToUpper(embedded[:1]) + embedded[1:] + field.Type.Name()
			for key, value := range s[embedded].(object)["properties"].(object) {
				properties[key] = value
			}
			continue
		}
		if jsonName, _, _ := strings.Cut(field.Tag.Get("json"), ","); jsonName != "" && field.IsExported() {
			properties[jsonName] = s.of(field.Type)
		}
	}
	return reference
}
