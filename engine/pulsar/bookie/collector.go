package bookie

import (
	"context"
	"fmt"
	"time"

	"twinlog/engine/pulsar/bookkeeper/metadata"
)

// collect drops the entries of ledgers that were deleted: their metadata is gone. A ledger's metadata is there before its first entry,
// so a ledger that the bookie had before it listed the metadata, and that is not in the list, is deleted.
func (b *Bookie) collect(ctx context.Context, store metadata.Store) error {
	ticker := time.NewTicker(b.config.CollectInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := b.collectOnce(ctx, store); err != nil && ctx.Err() == nil {
			b.logger.Warn("bookie cannot collect deleted ledgers now", "bookie", b.address, "error", err)
		}
	}
}

func (b *Bookie) collectOnce(ctx context.Context, store metadata.Store) error {
	candidates := make(map[int64]struct{})
	for _, ledger := range b.storage.ledgerIDs() {
		candidates[ledger] = struct{}{}
	}
	if err := metadata.ListLedgers(ctx, store, func(ledger int64) { delete(candidates, ledger) }); err != nil {
		return err
	}
	var deleted []int64
	for ledger := range candidates {
		exists, _, err := store.Exists(metadata.LedgerPath(ledger))
		if err != nil {
			return fmt.Errorf("look for ledger %d: %w", ledger, err)
		}
		if !exists {
			deleted = append(deleted, ledger)
		}
	}
	if len(deleted) == 0 {
		return nil
	}
	removed, err := b.storage.forget(deleted)
	b.logger.Info("bookie collected deleted ledgers", "bookie", b.address, "ledgers", len(deleted), "entry logs removed", removed)
	return err
}
