package groupcoordinator

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/group"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// elected begins to coordinate the groups of a partition, or goes on in a new leader epoch.
func (c *Coordinator) elected(index, leaderEpoch int32) {
	if p := c.partitions[index]; p != nil {
		p.leaderEpoch = max(p.leaderEpoch, leaderEpoch)
		return
	}
	p := &partition{index: index, leaderEpoch: leaderEpoch, loading: true, groups: map[string]*member{}}
	c.partitions[index] = p
	ctx := c.ctx
	c.loaders.Go(func() {
		found, err := c.read(ctx, index)
		c.inbox.push(func(now time.Time) { c.loaded(p, found, err, now) })
	})
}

// resigned forgets the groups of a partition; their members find the new coordinator.
func (c *Coordinator) resigned(index, leaderEpoch int32, now time.Time) {
	p := c.partitions[index]
	if p == nil || leaderEpoch < p.leaderEpoch {
		return
	}
	delete(c.partitions, index)
	for _, id := range slices.Sorted(maps.Keys(p.groups)) {
		g := p.groups[id]
		delete(p.groups, id)
		g.Kill(kerr.NotCoordinator, now, sentence.Of("coordinatorMoved", "the coordinator moved to another broker"))
		c.after(g, now)
	}
}

// contents is what a partition's records say in the end.
type contents struct {
	groups  map[string]group.Metadata
	offsets map[string]map[trace.KafkaPartition]group.Offset
}

func (c *Coordinator) loaded(p *partition, found contents, err error, now time.Time) {
	if c.partitions[p.index] != p {
		return // it moved away meanwhile
	}
	if err != nil {
		// Groups that are half known would lose offsets. Without them, requests are answered so that clients try again; the next leader reads anew.
		c.logger.Error("the groups of a partition cannot be loaded", "partition", p.index, "error", err)
		return
	}
	p.loading = false
	for _, id := range slices.Sorted(maps.Keys(found.groups)) {
		p.groups[id] = &member{Group: group.Restore(id, found.groups[id], c.settings(), now), partition: p}
	}
	for id, offsets := range found.offsets {
		if p.groups[id] == nil {
			p.groups[id] = &member{Group: group.New(id, c.settings(), now), partition: p}
		}
		for partition, offset := range offsets {
			p.groups[id].RestoreOffset(partition, offset)
		}
	}
	for _, g := range p.groups {
		c.after(g, now)
	}
	if len(p.groups) > 0 {
		c.logger.Info("groups loaded", "partition", p.index, "groups", len(p.groups))
	}
}

// read goes through a partition from its start to its end. It runs beside the owner's goroutine.
func (c *Coordinator) read(ctx context.Context, index int32) (contents, error) {
	found := contents{groups: map[string]group.Metadata{}, offsets: map[string]map[trace.KafkaPartition]group.Offset{}}
	offset, end, err := c.config.Log.Bounds(index)
	if err != nil {
		return found, fmt.Errorf("reading %s-%d: %w", OffsetsTopic, index, err)
	}
	for offset < end {
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		batches, err := c.config.Log.Read(index, offset, c.config.LoadBytes)
		if err != nil {
			return found, fmt.Errorf("reading %s-%d at offset %d: %w", OffsetsTopic, index, offset, err)
		}
		before := offset
		err = records.Each(batches, func(h records.Header, batch []byte) error {
			offset = h.LastOffset() + 1
			if h.Control() {
				return nil
			}
			return records.EachRecord(batch, func(r records.Record) bool {
				if err := found.apply(r); err != nil {
					c.logger.Warn("a record is skipped", "partition", index, "offset", r.Offset, "error", err)
				}
				return true
			})
		})
		if err != nil {
			return found, fmt.Errorf("reading %s-%d at offset %d: %w", OffsetsTopic, index, offset, err)
		}
		if offset == before {
			break // a gap up to the end
		}
	}
	return found, nil
}

// apply lets one record count: the last one of a key wins. The record's bytes are not kept.
func (f contents) apply(r records.Record) error {
	if len(r.Key) < 2 {
		return fmt.Errorf("a key of %d bytes", len(r.Key))
	}
	switch version := int16(binary.BigEndian.Uint16(r.Key)); version {
	case 0, 1:
		var key kmsg.OffsetCommitKey
		if err := key.ReadFrom(r.Key); err != nil {
			return fmt.Errorf("an offset's key: %w", err)
		}
		partition := trace.KafkaPartition{Topic: key.Topic, Partition: key.Partition}
		if r.Value == nil {
			delete(f.offsets[key.Group], partition)
			return nil
		}
		offset, err := readOffset(r.Value)
		if err != nil {
			return fmt.Errorf("the offset of group %s for %s: %w", key.Group, partition, err)
		}
		if f.offsets[key.Group] == nil {
			f.offsets[key.Group] = map[trace.KafkaPartition]group.Offset{}
		}
		f.offsets[key.Group][partition] = offset
	case groupKeyVersion:
		var key kmsg.GroupMetadataKey
		if err := key.ReadFrom(r.Key); err != nil {
			return fmt.Errorf("a group's key: %w", err)
		}
		if r.Value == nil {
			delete(f.groups, key.Group)
			return nil
		}
		metadata, err := readGroup(slices.Clone(r.Value))
		if err != nil {
			return fmt.Errorf("the metadata of group %s: %w", key.Group, err)
		}
		f.groups[key.Group] = metadata
	default:
		return fmt.Errorf("a key of version %d, which is not known", version)
	}
	return nil
}
