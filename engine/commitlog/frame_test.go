package commitlog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"time"
)

// testFraming is | size u32 | base i64 | count u32 | time ms i64 | crc u32 | payload |.
type testFraming struct{}

const testHeader = 28

func (testFraming) HeaderSize() int { return testHeader }
func (testFraming) MaxSize() int    { return 1 << 20 }

func (testFraming) Parse(header []byte) (Frame, error) {
	count := int64(binary.BigEndian.Uint32(header[12:]))
	if count == 0 {
		return Frame{}, errors.New("no offsets")
	}
	base := int64(binary.BigEndian.Uint64(header[4:]))
	frame := Frame{Size: int(binary.BigEndian.Uint32(header)), BaseOffset: base, LastOffset: base + count - 1}
	if ms := int64(binary.BigEndian.Uint64(header[16:])); ms != 0 {
		frame.Time = time.UnixMilli(ms)
	}
	return frame, nil
}

func (testFraming) Checksum(header []byte) Checksum {
	return Checksum{From: testHeader, Begin: crc32.Checksum(header[:24], castagnoli), Want: binary.BigEndian.Uint32(header[24:])}
}

func checksum(frame []byte) uint32 {
	return crc32.Update(crc32.Checksum(frame[:24], castagnoli), castagnoli, frame[testHeader:])
}

func makeFrame(base int64, count, payload int, ms int64) []byte {
	frame := make([]byte, testHeader+payload)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)))
	binary.BigEndian.PutUint64(frame[4:], uint64(base))
	binary.BigEndian.PutUint32(frame[12:], uint32(count))
	binary.BigEndian.PutUint64(frame[16:], uint64(ms))
	for i := range frame[testHeader:] {
		frame[testHeader+i] = byte(base + int64(i))
	}
	binary.BigEndian.PutUint32(frame[24:], checksum(frame))
	return frame
}
