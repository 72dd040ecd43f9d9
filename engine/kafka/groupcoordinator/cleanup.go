package groupcoordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

// cleanUp removes offsets that were kept long enough, and groups of which nothing is left.
func (c *Coordinator) cleanUp(now time.Time) {
	for _, p := range c.partitions {
		for _, id := range slices.Sorted(maps.Keys(p.groups)) {
			g := p.groups[id]
			expired := g.ExpiredOffsets(c.config.OffsetsRetention, now)
			if len(expired) > 0 {
				c.forget(g, expired, now, nil)
			} else if g.Abandoned() {
				c.remove(g, now, sentence.Of("groupLeftNothing", "nothing is left of the group"), nil)
			}
		}
	}
}

// forget writes tombstones for offsets and then forgets them.
func (c *Coordinator) forget(g *member, partitions []trace.KafkaPartition, now time.Time, done func(*kerr.Error)) {
	list := make([]records.Record, 0, len(partitions))
	for _, partition := range partitions {
		list = append(list, tombstone(offsetKey(g.ID(), partition), now))
	}
	c.append(g.partition, list, func(err *kerr.Error, now time.Time) {
		if err == nil {
			g.ForgetOffsets(partitions)
			if g.Abandoned() && g.partition.groups[g.ID()] == g {
				c.remove(g, now, sentence.Of("groupLeftNothing", "nothing is left of the group"), nil)
			}
		}
		if done != nil {
			done(err)
		}
	})
}

// remove kills a group at once and writes tombstones for all that the log says about it. Should that fail, the group is back after the next
// election; nothing but a group that nobody used was kept too long.
func (c *Coordinator) remove(g *member, now time.Time, why sentence.Sentence, done func(*kerr.Error)) {
	partitions := g.Partitions()
	list := make([]records.Record, 0, len(partitions)+1)
	for _, partition := range partitions {
		list = append(list, tombstone(offsetKey(g.ID(), partition), now))
	}
	if g.Generation() > 0 {
		list = append(list, tombstone(groupKey(g.ID()), now))
	}
	g.Kill(kerr.CoordinatorNotAvailable, now, why)
	delete(g.partition.groups, g.ID())
	c.after(g, now)
	c.append(g.partition, list, func(err *kerr.Error, now time.Time) {
		if err != nil {
			c.logger.Warn("the tombstones of a group could not be written", "group", g.ID(), "error", err)
		}
		if done != nil {
			done(err)
		}
	})
}

func (c *Coordinator) forgetTopics(topics []string) {
	now := time.Now()
	for _, p := range c.partitions {
		for _, id := range slices.Sorted(maps.Keys(p.groups)) {
			g := p.groups[id]
			var gone []trace.KafkaPartition
			for _, partition := range g.Partitions() {
				if slices.Contains(topics, partition.Topic) {
					gone = append(gone, partition)
				}
			}
			if len(gone) > 0 {
				c.forget(g, gone, now, nil)
			}
		}
	}
}
