package dissect

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
)

//go:embed kafka_schema.txt
var kafkaSchemaText string

// kafkaAPI is one request and its response.
type kafkaAPI struct {
	name              string
	request, response kafkaShape
}

type kafkaShape struct {
	flexible int // the first flexible version; math.MaxInt: none
	fields   []kafkaField
}

type kafkaField struct {
	name, kind string // kind: a type; "struct"; of an array that of its elements
	array      bool
	nullable   bool
	first      int // version
	last       int
	tag        int // -1: not a tagged field
	fields     []kafkaField
}

func (f kafkaField) in(version int) bool { return f.first <= version && version <= f.last }

var kafkaAPIs = sync.OnceValue(func() map[int16]*kafkaAPI {
	apis, err := parseKafkaSchema(kafkaSchemaText)
	if err != nil {
		panic("dissect: the table of Kafka's fields: " + err.Error()) // it is part of the program, and a test reads it
	}
	return apis
})

func parseKafkaSchema(text string) (map[int16]*kafkaAPI, error) {
	apis := map[int16]*kafkaAPI{}
	// open are the lists that the next lines may belong to, by their depth.
	var open []*[]kafkaField
	for number, line := range strings.Split(text, "\n") {
		name := strings.TrimLeft(line, "\t")
		if name == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(name)
		depth := len(line) - len(name)
		if depth == 0 {
			shape, err := kafkaShapeOf(apis, words)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", number+1, err)
			}
			open = []*[]kafkaField{&shape.fields}
			continue
		}
		field, err := kafkaFieldOf(words)
		if err != nil || depth > len(open) {
			return nil, fmt.Errorf("line %d: %q is no field of what is above it: %v", number+1, line, err)
		}
		open = open[:depth]
		list := open[depth-1]
		*list = append(*list, field)
		open = append(open, &(*list)[len(*list)-1].fields)
	}
	return apis, nil
}

func kafkaShapeOf(apis map[int16]*kafkaAPI, words []string) (*kafkaShape, error) {
	if len(words) < 3 {
		return nil, fmt.Errorf("%q is no heading", words)
	}
	key, err := strconv.ParseInt(words[1], 10, 16)
	if err != nil {
		return nil, err
	}
	api := apis[int16(key)]
	if api == nil {
		api = &kafkaAPI{name: words[2]}
		apis[int16(key)] = api
	}
	shape := &api.request
	if words[0] == "response" {
		shape = &api.response
	}
	shape.flexible = math.MaxInt
	if len(words) == 5 {
		shape.flexible, err = strconv.Atoi(words[4])
	}
	return shape, err
}

func kafkaFieldOf(words []string) (kafkaField, error) {
	f := kafkaField{name: words[0], first: 0, last: math.MaxInt, tag: -1}
	if len(words) < 2 {
		return f, fmt.Errorf("a field without a type")
	}
	f.kind, f.nullable = strings.CutSuffix(words[1], "?")
	f.kind, f.array = strings.CutPrefix(f.kind, "[]")
	if f.kind == "" {
		f.kind = "struct"
	}
	var err error
	for i := 2; i < len(words); i++ {
		if words[i] == "tag" && i+1 < len(words) {
			i++
			f.tag, err = strconv.Atoi(words[i])
		} else if first, open := strings.CutSuffix(words[i], "+"); open {
			f.first, err = strconv.Atoi(first)
		} else {
			_, err = fmt.Sscanf(words[i], "%d-%d", &f.first, &f.last)
		}
		if err != nil {
			return f, err
		}
	}
	return f, nil
}
