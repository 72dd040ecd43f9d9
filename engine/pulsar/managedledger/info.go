package managedledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	pb "twinlog/engine/pulsar/bookkeeperpb"
)

// rootPath is the parent of all managed ledgers.
const rootPath = "/managed-ledgers"

func znodePath(name string) string { return rootPath + "/" + name }

// info is the value of a managed ledger's znode.
type info struct {
	ledgers    ledgerList
	terminated *Position
	properties map[string]string
}

func (i info) encode() ([]byte, error) {
	message := &pb.ManagedLedgerInfo{}
	for _, l := range i.ledgers {
		item := &pb.ManagedLedgerInfo_LedgerInfo{LedgerId: proto.Int64(l.Ledger)}
		if !l.Closed.IsZero() {
			item.Entries, item.Size, item.Timestamp = proto.Int64(l.Entries), proto.Int64(l.Bytes), proto.Int64(l.Closed.UnixMilli())
		}
		item.OffloadContext = l.Offload.encode()
		message.LedgerInfo = append(message.LedgerInfo, item)
	}
	if i.terminated != nil {
		message.TerminatedPosition = nested(*i.terminated)
	}
	for _, key := range slices.Sorted(maps.Keys(i.properties)) {
		message.Properties = append(message.Properties, &pb.KeyValue{Key: proto.String(key), Value: proto.String(i.properties[key])})
	}
	return proto.Marshal(message)
}

// compressedMagic opens a value that Pulsar has compressed.
const compressedMagic = 0x4778

func decodeInfo(value []byte) (info, error) {
	if len(value) >= 2 && binary.BigEndian.Uint16(value) == compressedMagic {
		return info{}, errors.New("the value is compressed, which is not supported")
	}
	message := &pb.ManagedLedgerInfo{}
	if err := proto.Unmarshal(value, message); err != nil {
		return info{}, err
	}
	i := info{properties: map[string]string{}}
	for _, item := range message.GetLedgerInfo() {
		l := LedgerInfo{Ledger: item.GetLedgerId(), Entries: item.GetEntries(), Bytes: item.GetSize()}
		if item.GetTimestamp() > 0 {
			l.Closed = time.UnixMilli(item.GetTimestamp())
		}
		l.Offload = decodeOffload(item.GetOffloadContext())
		i.ledgers = append(i.ledgers, l)
	}
	if message.TerminatedPosition != nil {
		p := position(message.GetTerminatedPosition())
		i.terminated = &p
	}
	for _, property := range message.GetProperties() {
		i.properties[property.GetKey()] = property.GetValue()
	}
	return i, nil
}

func nested(p Position) *pb.NestedPositionInfo {
	return &pb.NestedPositionInfo{LedgerId: proto.Int64(p.Ledger), EntryId: proto.Int64(p.Entry)}
}

func position(n *pb.NestedPositionInfo) Position {
	return Position{Ledger: n.GetLedgerId(), Entry: n.GetEntryId()}
}

// readInfo reads a managed ledger's znode. ErrNotFound.
func readInfo(store metadata.Store, name string) (info, int32, error) {
	value, stat, err := store.Get(znodePath(name))
	if errors.Is(err, zk.ErrNoNode) {
		return info{}, 0, fmt.Errorf("managed ledger %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return info{}, 0, fmt.Errorf("managed ledger %s: %w: %w", name, ErrStorage, err)
	}
	i, err := decodeInfo(value)
	if err != nil {
		return info{}, 0, fmt.Errorf("managed ledger %s: its znode cannot be read: %w", name, err)
	}
	return i, stat.Version, nil
}

// writeValue replaces a znode's value if nobody else has since version: ErrFenced if somebody has. When ZooKeeper does not say whether
// it was done, the znode tells.
func writeValue(store metadata.Store, path string, value []byte, version int32) (int32, error) {
	for attempt := 1; ; attempt++ {
		stat, err := store.Set(path, value, version)
		switch {
		case err == nil:
			return stat.Version, nil
		case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
			if attempt > 1 {
				if found, stat, err := store.Get(path); err == nil && stat.Version == version+1 && slices.Equal(found, value) {
					return stat.Version, nil // the first attempt was done after all
				}
			}
			return 0, fmt.Errorf("%s was changed by somebody else: %w", path, ErrFenced)
		case attempt == 3 || errors.Is(err, zk.ErrClosing):
			return 0, fmt.Errorf("write %s: %w: %w", path, ErrStorage, err)
		}
	}
}

// createValue creates a znode, ErrFenced if somebody else has. When ZooKeeper does not say whether it was done, the znode tells.
func createValue(store metadata.Store, path string, value []byte) error {
	for attempt := 1; ; attempt++ {
		_, err := store.Create(path, value, zk.FlagPersistent, metadata.Open())
		switch {
		case err == nil:
			return nil
		case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNoNode):
			if attempt > 1 {
				if found, _, err := store.Get(path); err == nil && slices.Equal(found, value) {
					return nil // the first attempt was done after all
				}
			}
			return fmt.Errorf("%s was changed by somebody else: %w", path, ErrFenced)
		case attempt == 3 || errors.Is(err, zk.ErrClosing):
			return fmt.Errorf("create %s: %w: %w", path, ErrStorage, err)
		}
	}
}
