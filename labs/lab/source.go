package lab

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// source is a lab's file, for problems that name their line.
type source struct {
	name     string
	content  []byte
	file     *ast.File
	problems *[]error
}

// problem notes what is wrong with what stands at a YAML path.
func (s *source) problem(where, format string, arguments ...any) {
	*s.problems = append(*s.problems, fmt.Errorf("%s:%d: %s", s.name, s.line(where), fmt.Sprintf(format, arguments...)))
}

// line is the line of what stands at a path such as $.tasks[2].condition; of the nearest thing around it when it is not there.
func (s *source) line(where string) int {
	if s.file == nil {
		s.file, _ = parser.ParseBytes(s.content, 0)
	}
	for s.file != nil && where != "$" && where != "" {
		if path, err := yaml.PathString(where); err == nil {
			if node, err := path.FilterFile(s.file); err == nil && node != nil {
				return firstLine(node)
			}
		}
		where = where[:max(strings.LastIndexAny(where, ".["), 0)]
	}
	return 1
}

// firstLine: the token of a mapping is its first colon, which may be lines below its beginning no more than that of its key.
func firstLine(node ast.Node) int {
	switch node := node.(type) {
	case *ast.MappingNode:
		if len(node.Values) > 0 {
			return firstLine(node.Values[0])
		}
	case *ast.MappingValueNode:
		return node.Key.GetToken().Position.Line
	}
	return node.GetToken().Position.Line
}

// yamlProblem names file and line of what the YAML decoder found.
func yamlProblem(name string, err error) error {
	var told yaml.Error
	if errors.As(err, &told) && told.GetToken() != nil {
		return fmt.Errorf("%s:%d: %s", name, told.GetToken().Position.Line, told.GetMessage())
	}
	return fmt.Errorf("%s: %w", name, err)
}

func index(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
