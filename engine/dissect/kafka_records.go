package dissect

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"

	"twinlog/engine/kafka/broker/records"
)

// recordBatches takes the batches of a Produce or Fetch apart. The last one of a Fetch may be cut off.
func recordBatches(r *reader) (fields []Field) {
	for i := 0; r.remaining() > 0 && r.err == nil; i++ {
		if r.remaining() < 17 || r.bytes[r.at+16] != 2 {
			fields = append(fields, Field{Name: "remaining bytes", Type: "bytes", At: r.at, Size: r.remaining(), Value: countOf(r.remaining(), "byte")})
			r.at = r.end
			break
		}
		fields = append(fields, recordBatch(r, fmt.Sprintf("RecordBatch[%d]", i)))
	}
	return fields
}

var compressions = map[int64]string{0: "no compression", 1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}

// recordBatch takes one batch apart; package records draws its bytes.
func recordBatch(r *reader, name string) Field {
	at := r.at
	batch := Field{Name: name, Type: "RecordBatch v2", At: at}
	numbers := map[string]int64{}
	add := func(name string, size int) {
		if f, value := r.number(name, size); r.err == nil {
			numbers[name] = value
			f.Meaning = batchMeaning(name, value)
			batch.Fields = append(batch.Fields, f)
		}
	}
	add("BaseOffset", 8)
	add("BatchLength", 4)
	whole := r.bytes[at:min(r.end, max(at, at+12+int(numbers["BatchLength"])))]
	add("PartitionLeaderEpoch", 4)
	add("Magic", 1)
	add("CRC", 4)
	if r.err == nil {
		crc := &batch.Fields[len(batch.Fields)-1]
		crc.Type = "uint32"
		crc.Value, crc.Meaning = checksum(whole, int(numbers["BatchLength"]))
	}
	for _, field := range []struct {
		name string
		size int
	}{{"Attributes", 2}, {"LastOffsetDelta", 4}, {"BaseTimestamp", 8}, {"MaxTimestamp", 8}, {"ProducerID", 8}, {"ProducerEpoch", 2}, {"BaseSequence", 4}, {"RecordsCount", 4}} {
		add(field.name, field.size)
	}
	if r.err == nil {
		body := r.within(int(numbers["BatchLength"]) - (records.HeaderSize - 12))
		batch.Fields = append(batch.Fields, recordsOf(body, whole, numbers)...)
		r.adopt(body)
	}
	batch.Size = r.at - at
	batch.Value = countOf(int(numbers["RecordsCount"]), "record")
	return batch
}

// adopt takes over an inner reader's error.
func (r *reader) adopt(inner *reader) {
	if inner.err != nil {
		r.fail(inner.err)
	}
}

func checksum(whole []byte, length int) (value, meaning string) {
	if len(whole) < records.HeaderSize {
		return "", "the batch is cut off, or shorter than its header"
	}
	value = fmt.Sprintf("0x%08x", uint32(whole[17])<<24|uint32(whole[18])<<16|uint32(whole[19])<<8|uint32(whole[20]))
	if len(whole) < 12+length {
		return value, ""
	}
	if sum := crc32.Checksum(whole[21:], crc32.MakeTable(crc32.Castagnoli)); fmt.Sprintf("0x%08x", sum) != value {
		return value, fmt.Sprintf("does not match the bytes from Attributes on: CRC-32C 0x%08x", sum)
	}
	return value, "CRC-32C of the bytes from Attributes on: good"
}

func batchMeaning(name string, value int64) string {
	switch name {
	case "BaseTimestamp", "MaxTimestamp":
		return milliseconds(value)
	case "ProducerID":
		if value == -1 {
			return "not idempotent"
		}
	case "Attributes":
		words := []string{compressions[value&7], "create time"}
		if value&8 != 0 {
			words[1] = "log append time"
		}
		if value&16 != 0 {
			words = append(words, "transactional")
		}
		if value&32 != 0 {
			words = append(words, "control")
		}
		return strings.Join(words, ", ")
	}
	return ""
}

// recordsOf takes the records apart. Those of a compressed batch lie nowhere in the bytes as such.
func recordsOf(r *reader, whole []byte, batch map[string]int64) (fields []Field) {
	if batch["Attributes"]&7 == 0 {
		for i := int64(0); i < batch["RecordsCount"] && r.err == nil && r.remaining() > 0; i++ {
			f := record(r, batch)
			if r.err != nil && len(f.Fields) == 0 {
				break
			}
			fields = append(fields, f)
		}
		return fields
	}
	compressed := Field{Name: "Records", Type: compressions[batch["Attributes"]&7], At: r.at, Size: r.remaining(), Value: countOf(r.remaining(), "byte")}
	r.rest()
	if int64(len(whole)) < 12+batch["BatchLength"] { // what is compressed together is decompressed together
		compressed.Meaning = "cut off"
		return append(fields, compressed)
	}
	err := records.EachRecord(whole, func(one records.Record) bool {
		if *r.left--; *r.left <= 0 || *r.unpacked <= 0 {
			compressed.Meaning = fmt.Sprintf("the first %d records", len(compressed.Fields))
			return false
		}
		f := Field{Name: fmt.Sprintf("Record %d", one.Offset), Type: "record", At: -1, Value: text(one.Value), Meaning: "key " + text(one.Key)}
		*r.unpacked -= len(f.Value) + len(f.Meaning)
		compressed.Fields = append(compressed.Fields, f)
		return true
	})
	if err != nil {
		compressed.Meaning = err.Error()
	}
	return append(fields, compressed)
}

func record(r *reader, batch map[string]int64) Field {
	f := Field{Type: "record", At: r.at}
	varint := func(r *reader, name string) (int64, Field) {
		at := r.at
		value := r.varint()
		return value, Field{Name: name, Type: "varint", At: at, Size: r.at - at, Value: strconv.FormatInt(value, 10)}
	}
	size, length := varint(r, "Length")
	inner := r.within(int(min(size, 1<<30)))
	f.Fields = append(f.Fields, length)
	attributes, _ := inner.number("Attributes", 1)
	timestampDelta, timestamp := varint(inner, "TimestampDelta")
	timestamp.Meaning = milliseconds(batch["BaseTimestamp"] + timestampDelta)
	offsetDelta, offset := varint(inner, "OffsetDelta")
	offset.Meaning = fmt.Sprintf("offset %d", batch["BaseOffset"]+offsetDelta)
	f.Name = fmt.Sprintf("Record %d", batch["BaseOffset"]+offsetDelta)
	if inner.err == nil {
		f.Fields = append(f.Fields, attributes, timestamp, offset)
		f.Fields = varintBytes(inner, f.Fields, "Key")
		f.Fields = varintBytes(inner, f.Fields, "Value")
		f.Value = f.Fields[len(f.Fields)-1].Value
		count, headers := varint(inner, "Headers")
		for i := int64(0); i < count && inner.err == nil; i++ {
			headers.Fields = varintBytes(inner, headers.Fields, "HeaderKey")
			headers.Fields = varintBytes(inner, headers.Fields, "HeaderValue")
		}
		if inner.err == nil {
			headers.Size = inner.at - headers.At
			f.Fields = append(f.Fields, headers)
		}
	}
	r.adopt(inner)
	f.Size = r.at - f.At
	return f
}

func varintBytes(r *reader, fields []Field, name string) []Field {
	f := Field{Name: name, Type: "bytes", At: r.at}
	length := r.varint()
	if r.err != nil {
		return fields
	}
	f.Value = "null"
	if length >= 0 {
		f.Value = text(r.take(int(min(length, 1<<30))))
	}
	if r.err != nil { // what is there of it
		f.Value, f.Meaning = text(r.bytes[r.at:r.end]), "cut off"
		r.at = r.end
	}
	f.Size = r.at - f.At
	return append(fields, f)
}
