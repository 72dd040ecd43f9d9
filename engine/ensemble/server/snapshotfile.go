package server

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/disk"
)

// snapshotFile is the tree after the entry at an index, in a file of its own:
//
//	+----------+---------+--------+---------------+----------+------+
//	| TWLNSNAP | version | crc32c | metadata size | metadata | tree |
//	| 8 bytes  | uint32  | uint32 | uint32        |          |      |
//	+----------+---------+--------+---------------+----------+------+
//	0          8         12       16              20
//
// Big-endian. The checksum (Castagnoli) covers everything after itself. Metadata is raftpb.SnapshotMetadata: index, term, members. The
// tree is as tree.Snapshot writes it. A file is written under another name and renamed when it is whole and synced.
type snapshotFile struct {
	metadata *raftpb.SnapshotMetadata
	tree     []byte
}

const (
	snapshotPrefix   = "snapshot-"
	unfinishedPrefix = "unfinished-"
	snapshotMagic    = "TWLNSNAP"
	snapshotVersion  = 1
	snapshotHeader   = 20
	// maxSnapshot bounds what a server reads into memory, from its disk or from a peer, in bytes.
	maxSnapshot = 1 << 30
)

func (s *snapshotFile) index() uint64 { return s.metadata.GetIndex() }

func snapshotName(index uint64) string {
	return fmt.Sprintf("%s/%s%020d", storageDirectory, snapshotPrefix, index)
}

func (s *snapshotFile) write(d disk.Disk) error {
	return writeSnapshot(d, s.metadata, slices.Chunk(s.tree, snapshotPiece))
}

// snapshotPiece is how much of a snapshot is handed to the disk before it is synced, in bytes. A sync of the log waits for what the
// disk is writing then; with a large snapshot behind one sync, clients would wait for all of it.
const snapshotPiece = 256 << 10

// writeSnapshot writes the tree, which comes in pieces, and makes it durable. The file has its name only when that is done.
func writeSnapshot(d disk.Disk, metadata *raftpb.SnapshotMetadata, pieces iter.Seq[[]byte]) error {
	name := snapshotName(metadata.GetIndex())
	temporary := fmt.Sprintf("%s/%s%d", storageDirectory, unfinishedPrefix, metadata.GetIndex())
	err := writeSnapshotFile(d, temporary, metadata, pieces)
	if err == nil {
		err = d.Rename(temporary, name)
	}
	if err == nil {
		err = d.SyncDir(storageDirectory)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func writeSnapshotFile(d disk.Disk, name string, metadata *raftpb.SnapshotMetadata, pieces iter.Seq[[]byte]) (err error) {
	encoded, err := proto.Marshal(metadata)
	if err != nil {
		return err
	}
	f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	header := make([]byte, 0, snapshotHeader+len(encoded))
	header = append(header, snapshotMagic...)
	header = binary.BigEndian.AppendUint32(header, snapshotVersion)
	header = binary.BigEndian.AppendUint32(header, 0)
	header = binary.BigEndian.AppendUint32(header, uint32(len(encoded)))
	header = append(header, encoded...)
	checksum, position := crc32.Checksum(header[16:], castagnoli), int64(len(header))
	for piece := range pieces {
		checksum = crc32.Update(checksum, castagnoli, piece)
		if _, err := f.WriteAt(piece, position); err != nil {
			return err
		}
		position += int64(len(piece))
		if err := f.Sync(); err != nil {
			return err
		}
	}
	binary.BigEndian.PutUint32(header[12:], checksum)
	if _, err := f.WriteAt(header, 0); err != nil {
		return err
	}
	return f.Sync()
}

func readSnapshot(d disk.Disk, index uint64) (*snapshotFile, error) {
	name := snapshotName(index)
	f, err := d.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	defer f.Close()
	size, err := f.Size()
	if err == nil && (size < snapshotHeader || size > maxSnapshot) {
		err = fmt.Errorf("it has %d bytes", size)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	bytes := make([]byte, size)
	if n, err := f.ReadAt(bytes, 0); n < len(bytes) && err != io.EOF {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	snapshot, err := parseSnapshot(bytes)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return snapshot, nil
}

func parseSnapshot(bytes []byte) (*snapshotFile, error) {
	if len(bytes) < snapshotHeader || string(bytes[:8]) != snapshotMagic || binary.BigEndian.Uint32(bytes[8:]) != snapshotVersion {
		return nil, errors.New("it is no snapshot of this version")
	}
	if binary.BigEndian.Uint32(bytes[12:]) != crc32.Checksum(bytes[16:], castagnoli) {
		return nil, errors.New("its checksum is wrong")
	}
	metadataSize := int64(binary.BigEndian.Uint32(bytes[16:]))
	if metadataSize > int64(len(bytes)-snapshotHeader) {
		return nil, errors.New("its metadata is cut short")
	}
	metadata := &raftpb.SnapshotMetadata{}
	if err := proto.Unmarshal(bytes[snapshotHeader:snapshotHeader+metadataSize], metadata); err != nil {
		return nil, fmt.Errorf("its metadata: %w", err)
	}
	return &snapshotFile{metadata: metadata, tree: bytes[snapshotHeader+metadataSize:]}, nil
}

// newestSnapshot reads the newest whole snapshot; nil when there is none.
func newestSnapshot(d disk.Disk) (*snapshotFile, error) {
	indexes, err := listSnapshots(d)
	if err != nil {
		return nil, err
	}
	var firstErr error
	for i := len(indexes) - 1; i >= 0; i-- {
		snapshot, err := readSnapshot(d, indexes[i])
		if err == nil {
			return snapshot, nil
		}
		if firstErr == nil {
			firstErr = err
		}
	}
	return nil, firstErr
}

// listSnapshots lists the indexes of the snapshots, oldest first.
func listSnapshots(d disk.Disk) ([]uint64, error) {
	entries, err := d.ReadDir(storageDirectory)
	if err != nil {
		return nil, fmt.Errorf("listing the snapshots: %w", err)
	}
	var indexes []uint64
	for _, entry := range entries {
		if number, found := strings.CutPrefix(entry.Name(), snapshotPrefix); found {
			if index, err := strconv.ParseUint(number, 10, 64); err == nil {
				indexes = append(indexes, index)
			}
		}
	}
	return indexes, nil
}

// removeUnfinished removes what a crash left of snapshots that were being written.
func removeUnfinished(d disk.Disk) error {
	entries, err := d.ReadDir(storageDirectory)
	if err != nil {
		return fmt.Errorf("listing the Raft directory: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), unfinishedPrefix) {
			if err := d.Remove(storageDirectory + "/" + entry.Name()); err != nil {
				return fmt.Errorf("removing an unfinished snapshot: %w", err)
			}
		}
	}
	return nil
}

// removeOldSnapshots keeps the snapshot at an index and the one before it, which may be on its way to a follower.
func removeOldSnapshots(d disk.Disk, index uint64) error {
	indexes, err := listSnapshots(d)
	if err != nil {
		return err
	}
	for i, old := range indexes {
		if old < index && i+1 < len(indexes) && indexes[i+1] < index {
			// One that the leader sent may have come meanwhile, and older ones may have gone for it.
			if err := d.Remove(snapshotName(old)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("removing the snapshot at index %d: %w", old, err)
			}
		}
	}
	return nil
}
