package visualizer

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
)

// TestDocumentIsTrueToTheRoutes compares the paths of openapi.json with what gin serves.
func TestDocumentIsTrueToTheRoutes(t *testing.T) {
	s := &Server{config: Config{Web: testPage}}
	var served []string
	for _, route := range s.routes().(*gin.Engine).Routes() {
		served = append(served, route.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(route.Path, "{$1}"))
	}
	slices.Sort(served)

	_, url := serving(t, Config{})
	status, _, body := ask(t, "GET", url+"/api/v1/openapi.json", "")
	document := decode[struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
			Parameters  []struct{ Name, In string }
		}
		Components struct{ Schemas map[string]any }
	}](t, body)
	if status != http.StatusOK || document.OpenAPI != "3.1.0" {
		t.Fatalf("%d %s", status, document.OpenAPI)
	}
	var described []string
	ids := map[string]bool{}
	for path, operations := range document.Paths {
		for method, operation := range operations {
			described = append(described, strings.ToUpper(method)+" "+path)
			if operation.OperationID == "" || ids[operation.OperationID] {
				t.Errorf("%s %s: operationId %q is empty or used twice", method, path, operation.OperationID)
			}
			ids[operation.OperationID] = true
			inPath := 0
			for _, parameter := range operation.Parameters {
				if parameter.In == "path" {
					inPath++
				}
			}
			if inPath != strings.Count(path, "{") {
				t.Errorf("%s %s: %d path parameters", method, path, inPath)
			}
		}
	}
	slices.Sort(described)
	if !reflect.DeepEqual(served, described) {
		t.Errorf("served\n  %s\ndescribed\n  %s", strings.Join(served, "\n  "), strings.Join(described, "\n  "))
	}
	// Every schema that is referred to is there, with properties.
	for _, match := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(body, -1) {
		schema, _ := document.Components.Schemas[match[1]].(map[string]any)
		if properties, _ := schema["properties"].(map[string]any); len(properties) == 0 {
			t.Errorf("schema %s is missing or empty", match[1])
		}
	}
}
