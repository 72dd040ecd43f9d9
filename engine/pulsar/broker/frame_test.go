package broker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/pulsarpb"
)

// sealed is headers and payload as a producer makes them.
func sealed(t testing.TB, metadata *pulsarpb.MessageMetadata, payload []byte) []byte {
	t.Helper()
	encoded, err := proto.Marshal(metadata)
	if err != nil {
		t.Fatal(err)
	}
	rest := binary.BigEndian.AppendUint32(nil, uint32(len(encoded)))
	rest = append(append(rest, encoded...), payload...)
	message := binary.BigEndian.AppendUint16(nil, checksumMagic)
	message = binary.BigEndian.AppendUint32(message, crc32.Checksum(rest, crc32.MakeTable(crc32.Castagnoli)))
	return append(message, rest...)
}

func someMetadata() *pulsarpb.MessageMetadata {
	return &pulsarpb.MessageMetadata{ProducerName: proto.String("p"), SequenceId: proto.Uint64(7), PublishTime: proto.Uint64(1)}
}

func sendFrame(t testing.TB, payload []byte) []byte {
	t.Helper()
	head, err := frameHead(&pulsarpb.BaseCommand{
		Type: pulsarpb.BaseCommand_SEND.Enum(), Send: &pulsarpb.CommandSend{ProducerId: proto.Uint64(1), SequenceId: proto.Uint64(7)},
	}, len(payload))
	if err != nil {
		t.Fatal(err)
	}
	return append(head, payload...)
}

func TestFramesComeBack(t *testing.T) {
	message := sealed(t, someMetadata(), []byte("hello"))
	stream := append(sendFrame(t, message), sendFrame(t, nil)...)
	frames := newFrameReader(bytes.NewReader(stream), 1<<20)
	command, payload, size, err := frames.next()
	if err != nil || command.GetSend().GetSequenceId() != 7 || !bytes.Equal(payload, message) || size != len(sendFrame(t, message)) {
		t.Fatalf("%v, payload %d bytes of %d, size %d: %v", command, len(payload), len(message), size, err)
	}
	if _, payload, _, err = frames.next(); err != nil || len(payload) != 0 {
		t.Fatalf("simple frame: payload %d bytes: %v", len(payload), err)
	}
	if _, _, _, err = frames.next(); !errors.Is(err, io.EOF) {
		t.Fatalf("end: %v", err)
	}
}

func TestMalformedFrames(t *testing.T) {
	good := sendFrame(t, nil)
	for name, c := range map[string]struct {
		bytes []byte
		want  error
	}{
		"cut in the size":           {good[:2], io.ErrUnexpectedEOF},
		"cut in the command":        {good[:len(good)-1], io.ErrUnexpectedEOF},
		"cut in the payload":        {sendFrame(t, make([]byte, 10))[:len(good)+5], io.ErrUnexpectedEOF},
		"size 0":                    {[]byte{0, 0, 0, 0}, errFrame},
		"huge size":                 {[]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1}, errFrame},
		"command beyond the frame":  {[]byte{0, 0, 0, 5, 0, 0, 0, 9, 1}, errFrame},
		"no protobuf":               {[]byte{0, 0, 0, 6, 0, 0, 0, 2, 0xff, 0xff}, errFrame},
		"a required field is unset": {[]byte{0, 0, 0, 4, 0, 0, 0, 0}, errFrame},
		"an HTTP request":           {[]byte("GET / HTTP/1.1\r\n\r\n"), errFrame},
	} {
		if _, _, _, err := newFrameReader(bytes.NewReader(c.bytes), 1<<20).next(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestLargestFrame(t *testing.T) {
	const maxMessage = 100_000
	head := len(sendFrame(t, nil)) - 4
	fits := sendFrame(t, make([]byte, maxMessage+framePadding-head))
	if _, _, _, err := newFrameReader(bytes.NewReader(fits), maxMessage).next(); err != nil {
		t.Errorf("a message of the largest size: %v", err)
	}
	if _, _, _, err := newFrameReader(bytes.NewReader(sendFrame(t, make([]byte, maxMessage+framePadding-head+1))), maxMessage).next(); !errors.Is(err, errFrame) {
		t.Errorf("one byte more: %v", err)
	}
}

func TestSplitMessage(t *testing.T) {
	message := sealed(t, someMetadata(), []byte("hello"))
	_, payload, err := splitMessage(message, true)
	if err != nil || string(payload) != "hello" {
		t.Fatalf("%q: %v", payload, err)
	}
	for i := 6; i < len(message); i++ { // every byte is covered, the metadata's size too
		broken := bytes.Clone(message)
		broken[i] ^= 1
		if _, _, err := splitMessage(broken, true); !errors.Is(err, errChecksum) {
			t.Errorf("byte %d turned over: %v", i, err)
		}
	}
	if _, payload, err := splitMessage(message[6:], true); err != nil || string(payload) != "hello" {
		t.Errorf("without checksum: %q, %v", payload, err)
	}
	for _, broken := range [][]byte{nil, {0, 0, 0}, {0xff, 0xff, 0xff, 0xff, 1}, {0x0e, 0x01, 0, 0, 0, 0}} {
		if _, _, err := splitMessage(broken, false); !errors.Is(err, errFrame) {
			t.Errorf("%x: %v", broken, err)
		}
	}
}

// Whatever comes, the decoder answers with a frame or an error, and holds no more memory than the largest frame.
func FuzzFrame(f *testing.F) {
	f.Add(sendFrame(f, sealed(f, someMetadata(), []byte("hello"))))
	f.Add(sendFrame(f, nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0, 5, 0, 0, 0, 9, 1})
	f.Add([]byte("GET /admin/v2 HTTP/1.1\r\nHost: localhost\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const maxMessage = 1 << 16
		frames := newFrameReader(bytes.NewReader(data), maxMessage)
		for {
			command, payload, size, err := frames.next()
			if err != nil {
				return
			}
			if len(payload) > maxMessage+framePadding || size > maxMessage+framePadding+4 {
				t.Fatalf("frame of %d bytes with a payload of %d", size, len(payload))
			}
			carries(command)
			if metadata, err := readMetadata(payload); err == nil {
				stickyKey(metadata)
			}
		}
	})
}
