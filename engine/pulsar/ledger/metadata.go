package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bookkeeperpb"
)

// State is a ledger's state in its metadata.
type State int

// A ledger is Open while its writer adds, InRecovery while somebody finds out its last entry, Closed for ever after.
const (
	Open State = iota + 1
	InRecovery
	Closed
)

func (s State) String() string {
	switch s {
	case Open:
		return "open"
	case InRecovery:
		return "in recovery"
	case Closed:
		return "closed"
	}
	return fmt.Sprintf("state %d", int(s))
}

// NoEntry is the entry id of "none": the last entry of an empty ledger, the LAC before the first acknowledgement.
const NoEntry int64 = -1

// Segment is a stretch of entries that lie on one ensemble; it ends where the next segment begins.
type Segment struct {
	FirstEntry int64
	Bookies    []string // by bookie id (host:port), in striping order
}

// Metadata is what ZooKeeper knows of a ledger. It is a value: the With methods return changed copies.
type Metadata struct {
	Ensemble    int
	WriteQuorum int
	AckQuorum   int
	State       State
	Length      int64 // payload bytes; decided when Closed
	LastEntry   int64 // decided when Closed; NoEntry before, and of an empty ledger
	Segments    []Segment
	Digest      Digest
	Password    []byte
	Created     time.Time // milliseconds
	Custom      map[string][]byte
	Token       int64
}

// CurrentSegment is the segment that new entries go to.
func (m Metadata) CurrentSegment() Segment { return m.Segments[len(m.Segments)-1] }

// SegmentOf is the segment that holds an entry.
func (m Metadata) SegmentOf(entry int64) Segment {
	i, _ := slices.BinarySearchFunc(m.Segments, entry, func(s Segment, entry int64) int {
		if s.FirstEntry <= entry {
			return -1
		}
		return 1
	})
	return m.Segments[max(0, i-1)]
}

// WithEnsemble puts entries from first on to another ensemble. A segment that begins at the same entry holds nothing yet that was
// acknowledged and is replaced.
func (m Metadata) WithEnsemble(first int64, bookies []string) Metadata {
	segments := slices.Clone(m.Segments)
	segment := Segment{FirstEntry: first, Bookies: slices.Clone(bookies)}
	if segments[len(segments)-1].FirstEntry == first {
		segments[len(segments)-1] = segment
	} else {
		segments = append(segments, segment)
	}
	m.Segments = segments
	return m
}

// WithState changes the state alone.
func (m Metadata) WithState(state State) Metadata {
	m.State = state
	return m
}

// WithClosed decides the last entry.
func (m Metadata) WithClosed(lastEntry, length int64) Metadata {
	m.State, m.LastEntry, m.Length = Closed, lastEntry, length
	return m
}

// Validate refuses metadata that no ledger can have.
func (m Metadata) Validate() error {
	switch {
	case m.AckQuorum < 1 || m.AckQuorum > m.WriteQuorum || m.WriteQuorum > m.Ensemble:
		return fmt.Errorf("ledger metadata: need 1 <= ack quorum (%d) <= write quorum (%d) <= ensemble (%d)", m.AckQuorum, m.WriteQuorum, m.Ensemble)
	case m.Ensemble > MaxEnsemble:
		return fmt.Errorf("ledger metadata: ensemble of %d bookies, the most is %d", m.Ensemble, MaxEnsemble)
	case m.State < Open || m.State > Closed:
		return fmt.Errorf("ledger metadata: unknown %v", m.State)
	case len(m.Segments) == 0:
		return errors.New("ledger metadata: no ensemble")
	}
	for i, segment := range m.Segments {
		if len(segment.Bookies) != m.Ensemble {
			return fmt.Errorf("ledger metadata: segment at entry %d has %d bookies instead of %d", segment.FirstEntry, len(segment.Bookies), m.Ensemble)
		}
		if i == 0 && segment.FirstEntry != 0 || i > 0 && segment.FirstEntry <= m.Segments[i-1].FirstEntry {
			return fmt.Errorf("ledger metadata: segment %d begins at entry %d", i, segment.FirstEntry)
		}
	}
	return nil
}

// MaxEnsemble bounds an ensemble: a set of its bookies is kept in the bits of a uint64.
const MaxEnsemble = 64

// metadataHeader opens every metadata value; a varint length and a LedgerMetadataFormat follow.
const metadataHeader = "BookieMetadataFormatVersion\t3\n"

// Encode is the value of the ledger's znode.
func (m Metadata) Encode() ([]byte, error) {
	format := &bookkeeperpb.LedgerMetadataFormat{
		QuorumSize:    proto.Int32(int32(m.WriteQuorum)),
		EnsembleSize:  proto.Int32(int32(m.Ensemble)),
		AckQuorumSize: proto.Int32(int32(m.AckQuorum)),
		Length:        proto.Int64(m.Length),
		State:         bookkeeperpb.LedgerMetadataFormat_State(m.State).Enum(),
		DigestType:    bookkeeperpb.LedgerMetadataFormat_DigestType(m.Digest).Enum(),
		Password:      append([]byte{}, m.Password...),
		Ctime:         proto.Int64(m.Created.UnixMilli()),
		CToken:        proto.Int64(m.Token),
	}
	if m.State == Closed {
		format.LastEntryId = proto.Int64(m.LastEntry)
	}
	for _, segment := range m.Segments {
		format.Segment = append(format.Segment, &bookkeeperpb.LedgerMetadataFormat_Segment{
			EnsembleMember: segment.Bookies, FirstEntryId: proto.Int64(segment.FirstEntry),
		})
	}
	for _, key := range sortedKeys(m.Custom) {
		format.CustomMetadata = append(format.CustomMetadata, &bookkeeperpb.LedgerMetadataFormat_CustomMetadata{
			Key: proto.String(key), Value: m.Custom[key],
		})
	}
	var buffer bytes.Buffer
	buffer.WriteString(metadataHeader)
	if _, err := protodelim.MarshalTo(&buffer, format); err != nil {
		return nil, fmt.Errorf("encode ledger metadata: %w", err)
	}
	return buffer.Bytes(), nil
}

// DecodeMetadata reads a znode's value.
func DecodeMetadata(value []byte) (Metadata, error) {
	rest, found := bytes.CutPrefix(value, []byte(metadataHeader))
	if !found {
		return Metadata{}, fmt.Errorf("decode ledger metadata: does not begin with %q", metadataHeader)
	}
	var format bookkeeperpb.LedgerMetadataFormat
	if err := protodelim.UnmarshalFrom(bytes.NewReader(rest), &format); err != nil {
		return Metadata{}, fmt.Errorf("decode ledger metadata: %w", err)
	}
	m := Metadata{
		Ensemble:    int(format.GetEnsembleSize()),
		WriteQuorum: int(format.GetQuorumSize()),
		AckQuorum:   int(format.GetQuorumSize()), // old writers knew one quorum only
		State:       State(format.GetState()),
		Length:      format.GetLength(),
		LastEntry:   NoEntry,
		Digest:      Digest(format.GetDigestType()),
		Password:    format.GetPassword(),
		Created:     time.UnixMilli(format.GetCtime()),
		Token:       format.GetCToken(),
	}
	if format.AckQuorumSize != nil {
		m.AckQuorum = int(format.GetAckQuorumSize())
	}
	if format.LastEntryId != nil && m.State == Closed {
		m.LastEntry = format.GetLastEntryId()
	}
	for _, segment := range format.GetSegment() {
		m.Segments = append(m.Segments, Segment{FirstEntry: segment.GetFirstEntryId(), Bookies: segment.GetEnsembleMember()})
	}
	for _, entry := range format.GetCustomMetadata() {
		if m.Custom == nil {
			m.Custom = make(map[string][]byte)
		}
		m.Custom[entry.GetKey()] = entry.GetValue()
	}
	return m, m.Validate()
}

func sortedKeys(m map[string][]byte) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
