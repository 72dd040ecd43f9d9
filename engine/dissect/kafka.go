package dissect

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"twinlog/engine/sentence"
)

// A Kafka message on the wire, request and response:
//
//	| size int32 | api key int16 | version int16 | correlation id int32 | client id string | tags | body |
//	| size int32 | correlation id int32 | tags | body |
//
// Tags are there in flexible versions only, and never in the response to ApiVersions.
const (
	keyApiVersions        = 18
	keyControlledShutdown = 7
)

// kafkaMessage takes a request or response apart. A response does not say what it answers, so key and version are told.
func kafkaMessage(bytes []byte, key, version int16, response bool) Message {
	m := Message{Protocol: "kafka", Version: strconv.Itoa(int(version))}
	api := kafkaAPIs()[key]
	if api == nil {
		m.Name = fmt.Sprintf("API key %d", key)
		m.cannot(sentence.Of("requestNotInTable", "the fields of this request are not in the table"))
		return m
	}
	m.Name = api.name
	shape := api.request
	if response {
		shape = api.response
	}
	r := &kafkaReader{reader: newReader(bytes), api: api.name, version: int(version), flexible: int(version) >= shape.flexible, response: response}
	m.Fields = append(m.Fields, r.group("header", "struct", func() []Field { return r.header(key) }))
	if r.err == nil {
		m.Fields = append(m.Fields, r.group("body", "struct", func() []Field { return r.structure(shape.fields) }))
	}
	r.finish(&m)
	return m
}

type kafkaReader struct {
	*reader
	api      string
	version  int
	flexible bool
	response bool
}

func (r *kafkaReader) header(key int16) (fields []Field) {
	add := func(name string, size int) {
		if f, value := r.number(name, size); r.err == nil {
			f.Meaning = r.meaning(name, value)
			if name == "ApiKey" {
				f.Meaning = r.api
			}
			fields = append(fields, f)
		}
	}
	add("Size", 4)
	if r.response {
		add("CorrelationID", 4)
		if r.flexible && key != keyApiVersions {
			fields = r.tags(fields, nil)
		}
		return fields
	}
	add("ApiKey", 2)
	add("ApiVersion", 2)
	add("CorrelationID", 4)
	if key == keyControlledShutdown && r.version == 0 {
		return fields
	}
	// The client id keeps its old form in flexible versions too.
	flexible := r.flexible
	r.flexible = false
	fields = r.append(fields, kafkaField{name: "ClientID", kind: "string", nullable: true, tag: -1})
	if r.flexible = flexible; flexible {
		fields = r.tags(fields, nil)
	}
	return fields
}

// structure reads the fields of a struct that its version has, and in a flexible version the tagged fields behind them.
func (r *kafkaReader) structure(shape []kafkaField) (fields []Field) {
	if r.depth++; r.depth > maxDepth {
		r.fail(errTooMany)
	}
	defer func() { r.depth-- }()
	for _, f := range shape {
		if r.err != nil {
			return fields
		}
		if f.tag < 0 && f.in(r.version) {
			fields = r.append(fields, f)
		}
	}
	if r.flexible && r.err == nil {
		fields = r.tags(fields, shape)
	}
	return fields
}

// append reads a field. Of a field that is cut off, what is there of its own fields is kept.
func (r *kafkaReader) append(fields []Field, shape kafkaField) []Field {
	f := r.field(shape)
	if r.err != nil && len(f.Fields) == 0 {
		return fields
	}
	return append(fields, f)
}

func (r *kafkaReader) field(shape kafkaField) Field {
	if shape.array {
		return r.array(shape)
	}
	if shape.kind == "struct" {
		return r.group(shape.name, "struct", func() []Field { return r.structure(shape.fields) })
	}
	f := Field{Name: shape.name, Type: shape.kind, At: r.at}
	switch shape.kind {
	case "int8", "int16", "int32", "int64":
		bits, _ := strconv.Atoi(shape.kind[3:])
		value := r.integer(bits / 8)
		f.Value, f.Meaning = strconv.FormatInt(value, 10), r.meaning(shape.name, value)
	case "uint16", "uint32":
		bits, _ := strconv.Atoi(shape.kind[4:])
		f.Value = strconv.FormatUint(uint64(r.integer(bits/8))&(1<<bits-1), 10)
	case "float64":
		f.Value = strconv.FormatFloat(math.Float64frombits(uint64(r.integer(8))), 'g', -1, 64)
	case "bool":
		f.Value = strconv.FormatBool(r.integer(1) != 0)
	case "uuid":
		f.Value = base64.RawURLEncoding.EncodeToString(r.take(16))
	case "string":
		r.string(&f, 2)
	case "bytes":
		r.string(&f, 4)
	default:
		r.fail(sentence.Error(nil, "fieldOfType", "a field of type {type}", fmt.Sprint(shape.kind)))
	}
	f.Size = r.at - f.At
	return f
}

// length reads a length or a count; -1 is null.
func (r *kafkaReader) length(size int) int {
	if r.flexible {
		length := r.uvarint()
		if length > math.MaxInt32 {
			r.fail(sentence.Error(nil, "lengthOf", "a length of {length}", strconv.FormatInt(int64(length), 10)))
			return -1
		}
		return int(length) - 1
	}
	return int(r.integer(size))
}

// string reads a string or bytes. Of bytes that hold something known, that becomes the field's own fields.
func (r *kafkaReader) string(f *Field, lengthSize int) {
	if r.flexible {
		f.Type = "compact " + f.Type
	}
	length := r.length(lengthSize)
	if r.err != nil {
		return
	}
	if length < 0 {
		f.Value = "null"
		return
	}
	if lengthSize == 4 {
		if inside := r.insideOf(f.Name); inside != nil {
			f.Value = countOf(length, "byte")
			within := r.within(length)
			f.Fields = inside(within)
			if within.err != nil && r.err == nil && within.end == len(r.bytes) {
				r.fail(within.err)
			}
			return
		}
	}
	f.Value = text(r.take(length))
}

func (r *kafkaReader) array(shape kafkaField) Field {
	f := Field{Name: shape.name, Type: "[]" + shape.kind, At: r.at}
	count := r.length(4)
	if count < 0 {
		f.Value = "null"
	} else if r.err == nil {
		f.Value = countOf(count, "element")
	}
	element := shape
	element.array, element.nullable = false, false
	for i := 0; i < count && r.err == nil; i++ {
		if *r.left--; *r.left < 0 { // an element can be of no bytes at all
			r.fail(errTooMany)
			break
		}
		element.name = fmt.Sprintf("%s[%d]", shape.name, i)
		one := r.field(element)
		if r.err != nil && len(one.Fields) == 0 {
			break
		}
		if shape.kind != "struct" {
			one.Meaning = ""
		}
		f.Fields = append(f.Fields, one)
	}
	f.Size = r.at - f.At
	return f
}

// tags reads tagged fields: a count, and for each its tag, its size and its bytes (KIP-482).
func (r *kafkaReader) tags(fields []Field, shape []kafkaField) []Field {
	at := r.at
	count := r.uvarint()
	if r.err != nil {
		return fields
	}
	tags := Field{Name: "TaggedFields", Type: "tagged fields", At: at, Value: countOf(int(min(count, math.MaxInt32)), "field")}
	for i := uint64(0); i < count && r.err == nil; i++ {
		tags.Fields = r.tagged(tags.Fields, shape)
	}
	tags.Size = r.at - at
	return append(fields, tags)
}

func (r *kafkaReader) tagged(fields []Field, shape []kafkaField) []Field {
	at := r.at
	tag, size := r.uvarint(), r.uvarint()
	if r.err != nil || size > uint64(r.remaining()) {
		r.fail(errEnd)
		return fields
	}
	for _, known := range shape {
		if known.tag == int(tag) && known.in(r.version) {
			f := r.field(known)
			f.At, f.Size = at, r.at-at
			f.Type += fmt.Sprintf(", tag %d", tag)
			return append(fields, f)
		}
	}
	f := r.blob(fmt.Sprintf("tag %d", tag), int(size))
	f.At, f.Size = at, r.at-at
	return append(fields, f)
}
