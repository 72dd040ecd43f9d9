package ledger

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Digest is the kind of checksum that an entry carries from its writer to its readers; bookies do not look at it. Values are the
// metadata's.
type Digest int

// Pulsar's default is CRC32C.
const (
	CRC32  Digest = 1 // 8 bytes: the IEEE checksum, zero-extended
	HMAC   Digest = 2 // 20 bytes: HMAC-SHA-1 with a key made of the password
	CRC32C Digest = 3 // 4 bytes
	Dummy  Digest = 4 // nothing
)

// An entry, as it travels and as it lies on a bookie's disk:
//
//	0          8         16                24        32            32+n
//	+----------+---------+------------------+---------+-------------+---------
//	| ledger   | entry   | last add         | length  | digest      | payload
//	|          |         | confirmed        |         | (n bytes)   |
//	+----------+---------+------------------+---------+-------------+---------
//
// All numbers are 64 bits, big-endian. Length is the payload bytes of the ledger up to and including this entry. The digest covers
// the 32 bytes before it and the payload.
const entryHeaderSize = 32

// ErrDigest: the entry is not what its writer wrote.
var ErrDigest = errors.New("entry digest does not match")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// EntryHeader is what an entry says before its payload.
type EntryHeader struct {
	Ledger           int64
	Entry            int64
	LastAddConfirmed int64 // as the writer knew it when it sent the entry
	Length           int64
}

// Sealer puts headers and digests on a ledger's entries and takes them off again.
type Sealer struct {
	ledger int64
	digest Digest
	key    []byte // of HMAC
}

// NewSealer returns the sealer of a ledger.
func NewSealer(ledger int64, digest Digest, password []byte) (*Sealer, error) {
	if digest < CRC32 || digest > Dummy {
		return nil, fmt.Errorf("ledger %d: unknown digest type %d", ledger, digest)
	}
	key := sha1.Sum(append([]byte("mac"), password...))
	return &Sealer{ledger: ledger, digest: digest, key: key[:]}, nil
}

// Overhead is the number of bytes that Seal puts before the payload.
func (s *Sealer) Overhead() int { return entryHeaderSize + s.digestSize() }

func (s *Sealer) digestSize() int {
	switch s.digest {
	case CRC32:
		return 8
	case HMAC:
		return sha1.Size
	case CRC32C:
		return 4
	}
	return 0
}

// Seal returns the whole entry.
func (s *Sealer) Seal(entry, lastAddConfirmed, length int64, payload []byte) []byte {
	sealed := make([]byte, s.Overhead()+len(payload))
	binary.BigEndian.PutUint64(sealed[0:], uint64(s.ledger))
	binary.BigEndian.PutUint64(sealed[8:], uint64(entry))
	binary.BigEndian.PutUint64(sealed[16:], uint64(lastAddConfirmed))
	binary.BigEndian.PutUint64(sealed[24:], uint64(length))
	copy(sealed[s.Overhead():], payload)
	s.putDigest(sealed[entryHeaderSize:s.Overhead()], sealed[:entryHeaderSize], payload)
	return sealed
}

func (s *Sealer) putDigest(digest, header, payload []byte) {
	switch s.digest {
	case CRC32:
		binary.BigEndian.PutUint64(digest, uint64(crc32.Update(crc32.ChecksumIEEE(header), crc32.IEEETable, payload)))
	case CRC32C:
		binary.BigEndian.PutUint32(digest, crc32.Update(crc32.Checksum(header, castagnoli), castagnoli, payload))
	case HMAC:
		mac := hmac.New(sha1.New, s.key)
		mac.Write(header)
		mac.Write(payload)
		mac.Sum(digest[:0])
	}
}

// Unseal checks a whole entry against what was asked for and returns its header and its payload, which shares the entry's bytes.
func (s *Sealer) Unseal(sealed []byte, entry int64) (EntryHeader, []byte, error) {
	header, err := ParseEntryHeader(sealed)
	if err != nil {
		return header, nil, err
	}
	if len(sealed) < s.Overhead() {
		return header, nil, fmt.Errorf("ledger %d entry %d: %d bytes are too few for an entry", s.ledger, entry, len(sealed))
	}
	if header.Ledger != s.ledger || header.Entry != entry {
		return header, nil, fmt.Errorf("asked for ledger %d entry %d, got ledger %d entry %d: %w", s.ledger, entry, header.Ledger, header.Entry, ErrDigest)
	}
	payload := sealed[s.Overhead():]
	var expected [sha1.Size]byte
	digest := expected[:s.digestSize()]
	s.putDigest(digest, sealed[:entryHeaderSize], payload)
	if !hmac.Equal(digest, sealed[entryHeaderSize:s.Overhead()]) {
		return header, nil, fmt.Errorf("ledger %d entry %d: %w", s.ledger, entry, ErrDigest)
	}
	return header, payload, nil
}

// ParseEntryHeader reads an entry's header without checking its digest, as a bookie does.
func ParseEntryHeader(sealed []byte) (EntryHeader, error) {
	if len(sealed) < entryHeaderSize {
		return EntryHeader{}, fmt.Errorf("%d bytes are too few for an entry", len(sealed))
	}
	return EntryHeader{
		Ledger:           int64(binary.BigEndian.Uint64(sealed[0:])),
		Entry:            int64(binary.BigEndian.Uint64(sealed[8:])),
		LastAddConfirmed: int64(binary.BigEndian.Uint64(sealed[16:])),
		Length:           int64(binary.BigEndian.Uint64(sealed[24:])),
	}, nil
}

// MasterKey is what a bookie asks of everybody who wants to add to a ledger or fence it: 20 bytes made of the ledger's password.
func MasterKey(password []byte) []byte {
	key := sha1.Sum(append([]byte("ledger"), password...))
	return key[:]
}
