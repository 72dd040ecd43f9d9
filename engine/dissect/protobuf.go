package dissect

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"twinlog/engine/sentence"
)

// insides say what is in a bytes field of a protobuf message, by the field's full name.
type insides map[protoreflect.FullName]func(*reader) []Field

// protobuf walks a message's wire format: tag and value, tag and value. The descriptor gives fields their names; a field that it does not
// know is told by its number.
func protobuf(r *reader, of protoreflect.MessageDescriptor, inside insides) (fields []Field) {
	for r.err == nil && r.remaining() > 0 {
		at := r.at
		number, wireType, n := protowire.ConsumeTag(r.bytes[r.at:r.end])
		if n < 0 {
			r.fail(errEnd)
			return fields
		}
		r.take(n)
		f := Field{Name: fmt.Sprintf("field %d", number), Type: "?", At: at}
		descriptor := of.Fields().ByNumber(number)
		if descriptor != nil {
			f.Name, f.Type = string(descriptor.Name()), protobufType(descriptor)
		}
		protobufValue(r, &f, descriptor, wireType, inside)
		f.Size = r.at - at
		if r.err != nil && len(f.Fields) == 0 && f.Value == "" {
			return fields
		}
		fields = append(fields, f)
	}
	return fields
}

func protobufType(d protoreflect.FieldDescriptor) string {
	name := d.Kind().String()
	switch d.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		name = string(d.Message().Name())
	case protoreflect.EnumKind:
		name = string(d.Enum().Name())
	}
	if d.IsList() {
		return "repeated " + name
	}
	return name
}

func protobufValue(r *reader, f *Field, d protoreflect.FieldDescriptor, wireType protowire.Type, inside insides) {
	switch wireType {
	case protowire.VarintType:
		value := r.uvarint()
		f.Value, f.Meaning = protobufNumber(d, value)
	case protowire.Fixed32Type:
		bytes := r.take(4)
		if bytes != nil {
			value, _ := protowire.ConsumeFixed32(bytes)
			if d != nil && d.Kind() == protoreflect.FloatKind {
				f.Value = strconv.FormatFloat(float64(math.Float32frombits(value)), 'g', -1, 32)
			} else {
				f.Value = strconv.FormatUint(uint64(value), 10)
			}
		}
	case protowire.Fixed64Type:
		bytes := r.take(8)
		if bytes != nil {
			value, _ := protowire.ConsumeFixed64(bytes)
			if d != nil && d.Kind() == protoreflect.DoubleKind {
				f.Value = strconv.FormatFloat(math.Float64frombits(value), 'g', -1, 64)
			} else {
				f.Value = strconv.FormatUint(value, 10)
			}
		}
	case protowire.BytesType:
		protobufBytes(r, f, d, inside)
	default:
		r.fail(sentence.Error(nil, "fieldOfWireType", "a field of wire type {type}", strconv.Itoa(int(wireType))))
	}
}

func protobufBytes(r *reader, f *Field, d protoreflect.FieldDescriptor, inside insides) {
	size := r.uvarint()
	if r.err != nil || size > math.MaxInt32 {
		r.fail(errEnd)
		return
	}
	if d == nil || d.Kind() == protoreflect.StringKind {
		f.Value = text(r.take(int(size)))
		return
	}
	switch read := inside[d.FullName()]; {
	case d.Kind() == protoreflect.MessageKind:
		inner := r.within(int(size))
		f.Fields = protobuf(inner, d.Message(), inside)
		r.adopt(inner)
		f.Meaning = inOneWord(f.Fields)
	case d.Kind() == protoreflect.BytesKind && read != nil:
		f.Value = countOf(int(size), "byte")
		inner := r.within(int(size))
		f.Fields = read(inner)
		r.adopt(inner)
	case d.Kind() == protoreflect.BytesKind:
		f.Value = text(r.take(int(size)))
	default: // packed numbers
		inner := r.within(int(size))
		var values []string
		for inner.err == nil && inner.remaining() > 0 {
			value, _ := protobufNumber(d, inner.uvarint())
			values = append(values, value)
		}
		r.adopt(inner)
		f.Value = cutText(strings.Join(values, ", "))
	}
}

// inOneWord is what a small message comes down to: a position "3:17", a key and its value.
func inOneWord(fields []Field) string {
	if len(fields) != 2 || len(fields[0].Fields)+len(fields[1].Fields) > 0 {
		return ""
	}
	switch fields[0].Name + " " + fields[1].Name {
	case "ledgerId entryId":
		return fields[0].Value + ":" + fields[1].Value
	case "key value":
		return fields[0].Value + "=" + fields[1].Value
	}
	return ""
}

func protobufNumber(d protoreflect.FieldDescriptor, value uint64) (told, meaning string) {
	if d == nil {
		return strconv.FormatUint(value, 10), ""
	}
	switch d.Kind() {
	case protoreflect.BoolKind:
		return strconv.FormatBool(value != 0), ""
	case protoreflect.EnumKind:
		told = strconv.FormatInt(int64(int32(value)), 10)
		if known := d.Enum().Values().ByNumber(protoreflect.EnumNumber(int32(value))); known != nil {
			meaning = string(known.Name())
		}
		return told, meaning
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return strconv.FormatInt(int64(value), 10), protobufTime(d, int64(value))
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return strconv.FormatInt(protowire.DecodeZigZag(value), 10), ""
	}
	return strconv.FormatUint(value, 10), protobufTime(d, int64(value))
}

// protobufTime tells milliseconds since 1970 as a time, where the field's name says that it is one.
func protobufTime(d protoreflect.FieldDescriptor, value int64) string {
	switch name := string(d.Name()); {
	case strings.HasSuffix(name, "_time"), name == "ctime", name == "timestamp", strings.HasSuffix(name, "_timestamp"):
		return milliseconds(value)
	}
	return ""
}
