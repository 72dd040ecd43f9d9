package dissect

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"twinlog/engine/ensemble/protocol"
	"twinlog/engine/ensemble/tree"
)

//go:embed zookeeper_schema.txt
var zookeeperSchemaText string

type juteField struct{ name, kind string }

type zookeeperSchema struct {
	requests, answers, records map[string][]juteField
}

var zookeeperRecords = sync.OnceValue(func() zookeeperSchema {
	s := zookeeperSchema{map[string][]juteField{}, map[string][]juteField{}, map[string][]juteField{}}
	for line := range strings.Lines(zookeeperSchemaText) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		into, name := s.requests, words[0]
		rest := words[1:]
		if name == "record" {
			into, name, rest = s.records, words[1], words[2:]
		}
		into[name] = nil
		for _, word := range rest {
			if word == "->" {
				into = s.answers
				into[name] = nil
				continue
			}
			field, kind, _ := strings.Cut(word, ":")
			into[name] = append(into[name], juteField{field, kind})
		}
	}
	return s
})

// zookeeperMessage takes a request or an answer apart. An answer does not say what it answers, so the operation is told.
//
//	| length int | xid int | type int | request |
//	| length int | xid int | zxid long | err int | answer |        the answer only when err is 0
func zookeeperMessage(bytes []byte, op int16, answer bool) Message {
	operation := protocol.Op(op)
	m := Message{Protocol: "zookeeper", Name: operation.String()}
	r := newReader(bytes)
	failed := false
	m.Fields = append(m.Fields, r.group("header", "record", func() (fields []Field) {
		fields = r.jute(fields, []juteField{{"length", "int"}, {"xid", "int"}})
		if !answer {
			fields = r.jute(fields, []juteField{{"type", "int"}})
			if r.err == nil {
				fields[2].Meaning = operation.String()
			}
			return fields
		}
		fields = r.jute(fields, []juteField{{"zxid", "long"}, {"err", "int"}})
		if r.err == nil {
			code, _ := strconv.Atoi(fields[3].Value)
			failed = code != 0
			fields[3].Meaning = zookeeperError(code)
		}
		return fields
	}))
	if r.err == nil && !failed {
		body := r.group("body", "record", func() []Field { return r.zookeeper(operation, answer) })
		if body.Size > 0 {
			m.Fields = append(m.Fields, body)
		}
	}
	r.finish(&m)
	return m
}

func zookeeperError(code int) string {
	if code == 0 {
		return "OK"
	}
	return tree.Error(code).Error()
}

func (r *reader) zookeeper(op protocol.Op, answer bool) []Field {
	schema := zookeeperRecords()
	if op == protocol.OpMulti || op == protocol.OpMultiRead {
		return r.multi(answer)
	}
	shapes := schema.requests
	if answer {
		shapes = schema.answers
	}
	shape, known := shapes[op.String()]
	if !known && r.remaining() > 0 {
		return []Field{r.blob("bytes", r.remaining())}
	}
	return r.jute(nil, shape)
}

// multi reads a list of operations or of their results, each behind a header, up to the header that says that it is the last.
// An operation may be a list itself.
func (r *reader) multi(answer bool) (fields []Field) {
	if r.depth++; r.depth > maxDepth {
		r.fail(errTooMany)
	}
	defer func() { r.depth-- }()
	for r.err == nil {
		header := r.group("header", "MultiHeader", func() []Field {
			return r.jute(nil, []juteField{{"type", "int"}, {"done", "bool"}, {"err", "int"}})
		})
		if r.err != nil {
			return fields
		}
		kind, _ := strconv.Atoi(header.Fields[0].Value)
		op := protocol.Op(kind)
		part := Field{Name: op.String(), Type: "operation", At: header.At, Fields: []Field{header}}
		switch {
		case header.Fields[1].Value == "true":
			part.Name = "end"
		case kind == -1:
			part.Name = "failed"
			part.Fields = r.jute(part.Fields, []juteField{{"err", "int"}})
		default:
			part.Fields[0].Fields[0].Meaning = op.String()
			part.Fields = append(part.Fields, r.zookeeper(op, answer)...)
		}
		part.Size = r.at - part.At
		fields = append(fields, part)
		if part.Name == "end" {
			return fields
		}
	}
	return fields
}

// jute reads fields of a record.
func (r *reader) jute(fields []Field, shape []juteField) []Field {
	if r.depth++; r.depth > maxDepth {
		r.fail(errTooMany)
	}
	defer func() { r.depth-- }()
	for _, field := range shape {
		f := r.juteField(field)
		if r.err != nil && len(f.Fields) == 0 {
			return fields
		}
		fields = append(fields, f)
	}
	return fields
}

func (r *reader) juteField(shape juteField) Field {
	f := Field{Name: shape.name, Type: shape.kind, At: r.at}
	if element, isVector := strings.CutPrefix(shape.kind, "[]"); isVector {
		count := r.integer(4)
		f.Value = countOf(int(max(count, 0)), "element")
		for i := int64(0); i < count && r.err == nil; i++ {
			one := r.juteField(juteField{fmt.Sprintf("%s[%d]", shape.name, i), element})
			if r.err == nil || len(one.Fields) > 0 {
				f.Fields = append(f.Fields, one)
			}
		}
		f.Size = r.at - f.At
		return f
	}
	switch shape.kind {
	case "int":
		value := r.integer(4)
		f.Value, f.Meaning = strconv.FormatInt(value, 10), zookeeperMeaning(shape.name, value)
	case "long":
		value := r.integer(8)
		f.Value, f.Meaning = strconv.FormatInt(value, 10), zookeeperMeaning(shape.name, value)
	case "bool":
		f.Value = strconv.FormatBool(r.integer(1) != 0)
	case "bytes16":
		f.Value = text(r.take(16))
	case "ustring", "buffer":
		length := r.integer(4)
		if f.Value = "null"; length >= 0 {
			f.Value = text(r.take(int(length)))
		}
	default:
		f.Fields = r.jute(nil, zookeeperRecords().records[shape.kind])
	}
	f.Size = r.at - f.At
	return f
}

func zookeeperMeaning(name string, value int64) string {
	switch name {
	case "zxid", "czxid", "mzxid", "pzxid", "relativeZxid":
		return fmt.Sprintf("0x%x", value)
	case "ephemeralOwner":
		if value == 0 {
			return "no ephemeral"
		}
		return fmt.Sprintf("0x%x", uint64(value))
	case "ctime", "mtime", "time":
		return milliseconds(value)
	case "flags":
		return map[int64]string{0: "persistent", 1: "ephemeral", 2: "persistent sequential", 3: "ephemeral sequential", 4: "container", 5: "TTL", 6: "TTL sequential"}[value]
	case "version":
		if value == -1 {
			return "whatever it is"
		}
	case "perms":
		told := ""
		for i, letter := range "rwcda" {
			if value&(1<<i) != 0 {
				told += string(letter)
			}
		}
		return told
	case "xid":
		return map[int64]string{-1: "a watch fired", -2: "ping", -4: "auth", -8: "set watches again"}[value]
	}
	return ""
}
