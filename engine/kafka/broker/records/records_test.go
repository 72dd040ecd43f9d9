package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/commitlog"
)

var lenient = Rules{MaxBatchBytes: 1 << 20, BeforeMaxMS: -1, AfterMaxMS: -1, ProduceVersion: 11}

func sample() []Record {
	return []Record{
		{Timestamp: 1000, Key: []byte("k"), Value: []byte("v"), Headers: []RecordHeader{{"h", []byte("x")}, {"n", nil}}},
		{Timestamp: 1005, Value: bytes.Repeat([]byte("long "), 100)},
		{Timestamp: 1003, Key: []byte{}, Value: nil},
	}
}

// kmsg is another implementation of the same bytes.
func TestBuildIsWhatKmsgReads(t *testing.T) {
	batch := Build(sample())
	Assign(batch, 42, 7)
	var decoded kmsg.RecordBatch
	if err := decoded.ReadFrom(batch); err != nil {
		t.Fatal(err)
	}
	if decoded.FirstOffset != 42 || decoded.PartitionLeaderEpoch != 7 || decoded.NumRecords != 3 || decoded.MaxTimestamp != 1005 || decoded.ProducerID != -1 {
		t.Errorf("kmsg reads %+v", decoded)
	}
	if got := int32(crc32.Checksum(batch[21:], castagnoli)); got != decoded.CRC {
		t.Errorf("CRC %x, computed %x", decoded.CRC, got)
	}
	frame, err := Framing{}.Parse(batch)
	if err != nil || frame.Size != len(batch) || frame.BaseOffset != 42 || frame.LastOffset != 44 || frame.Time.UnixMilli() != 1005 {
		t.Errorf("framing says %+v, %v", frame, err)
	}
	var got []Record
	if err := EachRecord(batch, func(r Record) bool { got = append(got, r); return true }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[1].Offset != 43 || got[2].Timestamp != 1003 || got[2].Key == nil || got[2].Value != nil || got[0].Headers[0].Key != "h" {
		t.Errorf("records come back as %+v", got)
	}
}

// compress rebuilds a batch with its records compressed, as clients do.
func compress(t testing.TB, codec Compression, squeeze func([]byte) []byte) []byte {
	t.Helper()
	plain := Build(sample())
	batch := append(append([]byte{}, plain[:HeaderSize]...), squeeze(plain[HeaderSize:])...)
	return sealed(batch, func(b []byte) { binary.BigEndian.PutUint16(b[21:], uint16(codec)) })
}

// sealed changes a copy of a batch and makes length and checksum right again.
func sealed(batch []byte, change func([]byte)) []byte {
	batch = append([]byte{}, batch...)
	change(batch)
	binary.BigEndian.PutUint32(batch[8:], uint32(len(batch)-lengthEnd))
	binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
	return batch
}

func compressed(t testing.TB) map[string][]byte {
	var buffer bytes.Buffer
	return map[string][]byte{
		"none": Build(sample()),
		"gzip": compress(t, CompressionGzip, func(b []byte) []byte {
			w := gzip.NewWriter(&buffer)
			w.Write(b)
			w.Close()
			return bytes.Clone(buffer.Bytes())
		}),
		"snappy": compress(t, CompressionSnappy, func(b []byte) []byte { return s2.EncodeSnappy(nil, b) }),
		"xerial snappy": compress(t, CompressionSnappy, func(b []byte) []byte {
			framed := append(bytes.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
			for _, part := range [][]byte{b[:10], b[10:]} {
				block := s2.EncodeSnappy(nil, part)
				framed = append(binary.BigEndian.AppendUint32(framed, uint32(len(block))), block...)
			}
			return framed
		}),
		"lz4": compress(t, CompressionLZ4, func(b []byte) []byte {
			buffer.Reset()
			w := lz4.NewWriter(&buffer)
			w.Write(b)
			w.Close()
			return bytes.Clone(buffer.Bytes())
		}),
		"zstd": compress(t, CompressionZstd, func(b []byte) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			return w.EncodeAll(b, nil)
		}),
	}
}

func TestValidateAcceptsEveryCodec(t *testing.T) {
	for name, batch := range compressed(t) {
		h, err := Validate(batch, lenient)
		if err != nil || h.Count != 3 {
			t.Errorf("%s: %+v, %v", name, h, err)
		}
	}
}

func TestValidateRefuses(t *testing.T) {
	good := Build(sample())
	plain := func(change func([]byte)) []byte { return sealed(good, change) }
	for name, c := range map[string]struct {
		batch []byte
		rules func(*Rules)
		want  *kerr.Error
	}{
		"nothing":          {nil, nil, kerr.CorruptMessage},
		"cut off":          {good[:len(good)-1], nil, kerr.CorruptMessage},
		"two batches":      {append(append([]byte{}, good...), good...), nil, kerr.InvalidRecord},
		"flipped bit":      {func() []byte { b := bytes.Clone(good); b[70] ^= 1; return b }(), nil, kerr.CorruptMessage},
		"magic 1":          {func() []byte { b := bytes.Clone(good); b[16] = 1; return b }(), nil, kerr.UnsupportedForMessageFormat},
		"magic 3":          {func() []byte { b := bytes.Clone(good); b[16] = 3; return b }(), nil, kerr.InvalidRecord},
		"negative length":  {func() []byte { b := bytes.Clone(good); b[8] = 0xff; return b }(), nil, kerr.CorruptMessage},
		"too large":        {good, func(r *Rules) { r.MaxBatchBytes = 100 }, kerr.MessageTooLarge},
		"control":          {plain(func(b []byte) { b[22] |= controlFlag }), nil, kerr.InvalidRecord},
		"no sequence":      {plain(func(b []byte) { clear(b[43:51]) }), nil, kerr.InvalidRecord},
		"count is wrong":   {plain(func(b []byte) { b[60] = 2 }), nil, kerr.InvalidRecord},
		"fewer records":    {plain(func(b []byte) { b[60], b[26] = 2, 1 }), nil, kerr.CorruptMessage},
		"more records":     {plain(func(b []byte) { b[60], b[26] = 4, 3 }), nil, kerr.CorruptMessage},
		"unknown codec":    {plain(func(b []byte) { b[22] |= 7 }), nil, kerr.InvalidRecord},
		"not gzip":         {plain(func(b []byte) { b[22] |= 1 }), nil, kerr.CorruptMessage},
		"zstd in v6":       {plain(func(b []byte) { b[22] |= 4 }), func(r *Rules) { r.ProduceVersion = 6 }, kerr.UnsupportedCompressionType},
		"no key":           {good, func(r *Rules) { r.Compacted = true }, kerr.InvalidRecord},
		"too old":          {good, func(r *Rules) { r.NowMS, r.BeforeMaxMS = 5000, 1 }, kerr.InvalidTimestamp},
		"too new":          {good, func(r *Rules) { r.NowMS, r.AfterMaxMS = 0, 1 }, kerr.InvalidTimestamp},
		"append time flag": {plain(func(b []byte) { b[22] |= logAppendTimeFlag }), nil, kerr.InvalidTimestamp},
	} {
		rules := lenient
		if c.rules != nil {
			c.rules(&rules)
		}
		_, err := Validate(c.batch, rules)
		var got *Invalid
		if !errors.As(err, &got) || got.Kafka != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want.Message)
		}
		if name == "no key" && (len(got.Records) != 1 || got.Records[0].Index != 1) {
			t.Errorf("the record to blame is not named: %+v", got.Records)
		}
	}
}

func TestStampAppendTime(t *testing.T) {
	batch := Build(sample())
	StampAppendTime(batch, 9999)
	if err := verify(batch); err != nil {
		t.Fatal(err)
	}
	EachRecord(batch, func(r Record) bool {
		if r.Timestamp != 9999 {
			t.Errorf("record %d has timestamp %d", r.Offset, r.Timestamp)
		}
		return true
	})
}

func FuzzValidate(f *testing.F) {
	for _, batch := range compressed(f) {
		f.Add(batch)
	}
	f.Fuzz(func(t *testing.T, batch []byte) {
		if len(batch) > 21 { // get past the checksum, which the fuzzer cannot guess
			binary.BigEndian.PutUint32(batch[17:], crc32.Checksum(batch[21:], castagnoli))
		}
		h, err := Validate(batch, lenient)
		if err != nil {
			return
		}
		Assign(batch, 100, 1)
		frame, err := Framing{}.Parse(batch)
		if err != nil || frame.Size != len(batch) || frame.LastOffset != 99+int64(h.Count) {
			t.Errorf("a valid batch cannot be framed: %+v, %v", frame, err)
		}
		if err := commitlog.Verify(Framing{}, batch); err != nil {
			t.Errorf("a valid batch does not verify once it has its place: %v", err)
		}
	})
}
