package records

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// maxDecompressed bounds what a batch may become, in bytes: a small batch of zeros can announce gigabytes.
const maxDecompressed = 128 << 20

var errDecompressed = fmt.Errorf("the records of a batch are larger than %d bytes when decompressed", maxDecompressed)

// decompress returns the records' bytes. For CompressionNone they are the ones given.
func decompress(codec Compression, compressed []byte) ([]byte, error) {
	var source io.Reader
	switch codec {
	case CompressionNone:
		return compressed, nil
	case CompressionGzip:
		unzipper, err := gzip.NewReader(bytes.NewReader(compressed))
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		source = unzipper
	case CompressionSnappy:
		return decompressSnappy(compressed)
	case CompressionLZ4:
		source = lz4.NewReader(bytes.NewReader(compressed))
	case CompressionZstd:
		decoder, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		plain, err := decoder.DecodeAll(compressed, nil)
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		return plain, nil
	default:
		return nil, fmt.Errorf("compression codec %d is not known", codec)
	}
	plain, err := io.ReadAll(io.LimitReader(source, maxDecompressed+1))
	if err != nil {
		return nil, fmt.Errorf("codec %d: %w", codec, err)
	}
	if len(plain) > maxDecompressed {
		return nil, errDecompressed
	}
	return plain, nil
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDecompressed), zstd.WithDecoderConcurrency(0))
})

// xerialMagic begins the framing that the Java snappy library puts around snappy blocks: magic, two version numbers, then blocks, each
// with its length.
var xerialMagic = []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

func decompressSnappy(compressed []byte) ([]byte, error) {
	if !bytes.HasPrefix(compressed, xerialMagic) {
		return snappyBlock(nil, compressed)
	}
	if len(compressed) < 16 {
		return nil, errors.New("snappy: the framing is cut off")
	}
	var plain []byte
	for rest := compressed[16:]; len(rest) > 0; {
		if len(rest) < 4 {
			return nil, errors.New("snappy: a block length is cut off")
		}
		size := int64(binary.BigEndian.Uint32(rest))
		if rest = rest[4:]; size > int64(len(rest)) {
			return nil, errors.New("snappy: a block is cut off")
		}
		var err error
		if plain, err = snappyBlock(plain, rest[:size]); err != nil {
			return nil, err
		}
		rest = rest[size:]
	}
	return plain, nil
}

func snappyBlock(plain, block []byte) ([]byte, error) {
	size, err := s2.DecodedLen(block)
	if err != nil {
		return nil, fmt.Errorf("snappy: %w", err)
	}
	if size > maxDecompressed-len(plain) {
		return nil, errDecompressed
	}
	decoded, err := s2.Decode(nil, block)
	if err != nil {
		return nil, fmt.Errorf("snappy: %w", err)
	}
	if plain == nil {
		return decoded, nil
	}
	return append(plain, decoded...), nil
}
