package broker

import (
	"context"
	"fmt"
	"strconv"

	"twinlog/engine/pulsar/managedledger"
)

// dedupCursor is the cursor whose properties remember each producer's last sequence id, as in Pulsar.
const dedupCursor = "pulsar.dedup"

type verdict int

const (
	fresh verdict = iota
	duplicate
	undecided
)

// deduplication drops messages that a producer sends again. For each producer it knows the highest sequence id that was handed to
// the ledger and the highest that the ledger has stored; between the two nobody can tell yet.
type deduplication struct {
	pushed    map[string]int64
	persisted map[string]int64
	cursor    cursor
	storedAt  managedledger.Position // persisted is what it is after this entry
	snapshot  managedledger.Position // the cursor has it up to this entry
}

// maxRemembered bounds the producers that are remembered (brokerDeduplicationMaxNumberOfProducers): beyond it, those that are not
// connected are forgotten at the next snapshot.
const maxRemembered = 10_000

func (d *deduplication) forget(unwanted func(producer string) bool) {
	for producer := range d.persisted {
		if unwanted(producer) {
			delete(d.persisted, producer)
			delete(d.pushed, producer)
		}
	}
}

func newDeduplication() *deduplication {
	return &deduplication{pushed: map[string]int64{}, persisted: map[string]int64{}}
}

func (d *deduplication) check(producer string, m *publish) verdict {
	highest := int64(max(m.highest, m.sequence))
	if pushed, known := d.pushed[producer]; known && highest <= pushed && !m.chunk {
		if persisted, stored := d.persisted[producer]; stored && highest <= persisted {
			return duplicate
		}
		return undecided
	}
	d.pushed[producer] = highest
	return fresh
}

func (d *deduplication) stored(producer string, m *publish, at managedledger.Position) {
	d.storedAt = at
	d.persisted[producer] = max(d.persisted[producer], int64(max(m.highest, m.sequence)))
}

func (d *deduplication) last(producer string) int64 {
	if sequence, known := d.persisted[producer]; known {
		return sequence
	}
	return -1
}

// restoreEpoch reads the epoch of exclusive access.
func (t *topic) restoreEpoch() {
	text, there := t.log.Properties()[topicEpochProperty]
	if !there {
		return
	}
	if epoch, err := strconv.ParseUint(text, 10, 64); err == nil {
		t.epoch, t.hasEpoch = epoch, true
	}
}

// restoreDeduplication reads the sequence ids up to the last snapshot from its cursor, and the later ones from the messages.
func (t *topic) restoreDeduplication(ctx context.Context) error {
	if !t.policies.deduplicates() {
		return nil
	}
	d := newDeduplication()
	opened, err := t.log.OpenCursor(ctx, dedupCursor, managedledger.CursorOptions{Initial: earliest})
	if err != nil {
		return fmt.Errorf("deduplication of %s: %w", t.name, err)
	}
	d.cursor = opened
	if stored, ok := opened.(interface{ Properties() map[string]int64 }); ok {
		for producer, sequence := range stored.Properties() {
			d.pushed[producer], d.persisted[producer] = sequence, sequence
		}
	}
	marked := opened.MarkDeleted()
	from := managedledger.Position{Ledger: marked.Ledger, Entry: marked.Entry + 1}
	for {
		entries, err := t.log.ReadEntries(ctx, from, 100, maxReadBytes)
		if err != nil {
			return fmt.Errorf("deduplication of %s: reading the messages since the last snapshot: %w", t.name, err)
		}
		if len(entries) == 0 {
			break
		}
		for _, entry := range entries {
			metadata, err := readMetadata(entry.Data)
			if err != nil {
				continue
			}
			sequence := int64(max(metadata.GetSequenceId(), metadata.GetHighestSequenceId()))
			producer := metadata.GetProducerName()
			d.pushed[producer] = max(d.pushed[producer], sequence)
			d.persisted[producer] = d.pushed[producer]
		}
		d.storedAt = entries[len(entries)-1].Position
		from = t.log.Next(d.storedAt)
	}
	t.dedup = d
	return nil
}
