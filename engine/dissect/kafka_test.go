package dissect

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestKafkaTableAgreesWithKmsg encodes random messages of every kind and version with a library that knows the protocol, and reads them
// by our table: every byte must belong to a field, and every value must be found under its name.
func TestKafkaTableAgreesWithKmsg(t *testing.T) {
	if _, err := parseKafkaSchema(kafkaSchemaText); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for key, api := range kafkaAPIs() {
		request := kmsg.RequestForKey(key)
		if request == nil || kmsg.NameForKey(key) != api.name {
			t.Errorf("key %d is %s here and %s there", key, api.name, kmsg.NameForKey(key))
			continue
		}
		for version := int16(0); version <= request.MaxVersion(); version++ {
			for range 3 {
				request := kmsg.RequestForKey(key)
				request.SetVersion(version)
				fill(random, reflect.ValueOf(request).Elem(), 0)
				request.SetVersion(version)
				compare(t, request, requestFrame(request), key, version, false)
				response := request.ResponseKind()
				fill(random, reflect.ValueOf(response).Elem(), 0)
				response.SetVersion(version)
				compare(t, response, responseFrame(response, key), key, version, true)
			}
		}
	}
}

func requestFrame(request kmsg.Request) []byte {
	if request.Key() == keyControlledShutdown && request.GetVersion() == 0 { // its header ends early
		return request.AppendTo([]byte{0, 0, 0, 16, 0, keyControlledShutdown, 0, 0, 0, 0, 0, 7})
	}
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("tester")).AppendRequest(nil, request, 7)
}

func responseFrame(response kmsg.Response, key int16) []byte {
	frame := []byte{0, 0, 0, 0, 0, 0, 0, 7}
	if response.IsFlexible() && key != keyApiVersions {
		frame = append(frame, 0)
	}
	return response.AppendTo(frame)
}

func compare(t *testing.T, message any, frame []byte, key, version int16, response bool) {
	t.Helper()
	m := kafkaMessage(frame, key, version, response)
	if m.Problem != "" {
		t.Errorf("%T version %d: %s\n%x\n%s", message, version, m.Problem, frame, list(m.Fields, ""))
		return
	}
	if problem := disagreement(m.Fields[1].Fields, reflect.ValueOf(message).Elem()); problem != "" {
		t.Errorf("%T version %d: %s", message, version, problem)
	}
	inPlace(t, frame, m.Fields)
}

// disagreement compares the values of a struct with the fields that were found; what the version lacks is not found.
func disagreement(fields []Field, of reflect.Value) string {
	for _, f := range fields {
		name, _, _ := strings.Cut(f.Name, "[")
		if name == "TaggedFields" {
			if problem := disagreement(f.Fields, of); problem != "" {
				return problem
			}
			continue
		}
		value := of.FieldByName(name)
		if !value.IsValid() {
			return "kmsg knows no field " + name
		}
		if got, want := f.Value, expected(value); want != "" && got != want {
			return fmt.Sprintf("%s is %q, not %q", f.Name, got, want)
		}
		if value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct {
			for i, element := range f.Fields {
				if problem := disagreement(element.Fields, value.Index(i)); problem != "" {
					return f.Name + ": " + problem
				}
			}
		}
	}
	return ""
}

func expected(value reflect.Value) string {
	switch v := value.Interface().(type) {
	case string:
		return v
	case *string:
		if v != nil {
			return *v
		}
		return ""
	case [16]byte:
		return base64.RawURLEncoding.EncodeToString(v[:])
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return ""
	case []byte:
		return ""
	}
	switch value.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return strconv.FormatInt(value.Int(), 10)
	case reflect.Slice:
		return countOf(value.Len(), "element")
	}
	return ""
}

// fill gives everything a random value.
func fill(random *rand.Rand, v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Type().Field(i).IsExported() && name != "Version" && name != "UnknownTags" && name != "Records" && name != "RecordBatches" {
				fill(random, v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0xff, 0xfe, byte(random.Uint32())}) // no known content
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1+random.IntN(2), 2))
		for i := range v.Len() {
			fill(random, v.Index(i), depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			v.Index(i).SetUint(uint64(1 + random.IntN(255)))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), depth+1)
	case reflect.String:
		v.SetString(fmt.Sprint("s", random.IntN(1000)))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(random.IntN(120)) + 1)
	}
}

// inPlace checks that fields lie inside of what they belong to, in order, and that integers stand where they are said to.
func inPlace(t *testing.T, bytes []byte, fields []Field) {
	t.Helper()
	at := 0
	for _, f := range fields {
		if f.At < 0 {
			continue
		}
		if f.At < at || f.Size < 0 || f.At+f.Size > len(bytes) {
			t.Errorf("%s lies at %d, %d bytes, after %d of %d", f.Name, f.At, f.Size, at, len(bytes))
			return
		}
		if f.Type == "int32" && f.Size == 4 && f.Name[0] < 'a' { // one of Kafka's; protobuf's are shorter
			if want := strconv.Itoa(int(int32(uint32(bytes[f.At])<<24 | uint32(bytes[f.At+1])<<16 | uint32(bytes[f.At+2])<<8 | uint32(bytes[f.At+3])))); f.Value != want {
				t.Errorf("%s is %s, and its bytes say %s", f.Name, f.Value, want)
			}
		}
		at = f.At + f.Size
		inPlace(t, bytes[:at], f.Fields)
	}
}

func list(fields []Field, indent string) string {
	var b strings.Builder
	for _, f := range fields {
		fmt.Fprintf(&b, "%s%s %s [%d+%d] %s %s\n%s", indent, f.Name, f.Type, f.At, f.Size, f.Value, f.Meaning, list(f.Fields, indent+"  "))
	}
	return b.String()
}
