package metadata

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/ledger"
)

var (
	// ErrNoSuchLedger: the ledger has no metadata: it was never created, or it was deleted.
	ErrNoSuchLedger = errors.New("no such ledger")
	// ErrConflict: somebody else changed the metadata since it was read.
	ErrConflict = errors.New("ledger metadata was changed by somebody else")
	// ErrDamaged: what lies where the metadata should be is no metadata.
	ErrDamaged = errors.New("ledger metadata cannot be understood")
)

// Versioned is a ledger's metadata and the znode version that it was read at.
type Versioned struct {
	ledger.Metadata
	Version int32
}

// NewLedgerID draws a ledger id: the number of an ephemeral sequential znode, which is deleted again.
func NewLedgerID(store Store) (int64, error) {
	const prefix = idGeneratorPath + "/ID-"
	path, err := store.Create(prefix, nil, zk.FlagEphemeral|zk.FlagSequence, Open())
	if err != nil {
		return 0, fmt.Errorf("draw a ledger id: %w", err)
	}
	// The znode has done its work. When it cannot be deleted it goes with the session.
	_ = store.Delete(path, -1)
	id, err := strconv.ParseInt(strings.TrimPrefix(path, prefix), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("draw a ledger id: %s has no number", path)
	}
	return id, nil
}

// CreateLedger writes the metadata of a new ledger.
func CreateLedger(store Store, id int64, m ledger.Metadata) (Versioned, error) {
	value, err := m.Encode()
	if err != nil {
		return Versioned{}, fmt.Errorf("create ledger %d: %w", id, err)
	}
	if err := CreateAll(store, LedgerPath(id), value); err != nil {
		return Versioned{}, fmt.Errorf("create ledger %d: %w", id, err)
	}
	return Versioned{Metadata: m}, nil
}

// ReadLedger reads a ledger's metadata.
func ReadLedger(store Store, id int64) (Versioned, error) {
	value, stat, err := store.Get(LedgerPath(id))
	if errors.Is(err, zk.ErrNoNode) {
		return Versioned{}, fmt.Errorf("ledger %d: %w", id, ErrNoSuchLedger)
	}
	if err != nil {
		return Versioned{}, fmt.Errorf("read metadata of ledger %d: %w", id, err)
	}
	m, err := ledger.DecodeMetadata(value)
	if err != nil {
		return Versioned{}, fmt.Errorf("ledger %d: %w: %w", id, ErrDamaged, err)
	}
	return Versioned{Metadata: m, Version: stat.Version}, nil
}

// WriteLedger replaces a ledger's metadata if nobody else has since version.
func WriteLedger(store Store, id int64, m ledger.Metadata, version int32) (Versioned, error) {
	value, err := m.Encode()
	if err != nil {
		return Versioned{}, fmt.Errorf("write metadata of ledger %d: %w", id, err)
	}
	stat, err := store.Set(LedgerPath(id), value, version)
	switch {
	case errors.Is(err, zk.ErrBadVersion):
		return Versioned{}, fmt.Errorf("ledger %d: %w", id, ErrConflict)
	case errors.Is(err, zk.ErrNoNode):
		return Versioned{}, fmt.Errorf("ledger %d: %w", id, ErrNoSuchLedger)
	case err != nil:
		return Versioned{}, fmt.Errorf("write metadata of ledger %d: %w", id, err)
	}
	return Versioned{Metadata: m, Version: stat.Version}, nil
}

// DeleteLedger deletes a ledger's metadata. The bookies find out when they next collect.
func DeleteLedger(store Store, id int64) error {
	err := store.Delete(LedgerPath(id), -1)
	if errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("ledger %d: %w", id, ErrNoSuchLedger)
	}
	if err != nil {
		return fmt.Errorf("delete ledger %d: %w", id, err)
	}
	return nil
}

// ListLedgers calls visit for every ledger that has metadata. An error means that some may be missing.
func ListLedgers(ctx context.Context, store Store, visit func(ledger int64)) error {
	var walk func(path string, depth int) error
	walk = func(path string, depth int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		children, _, err := store.Children(path)
		if errors.Is(err, zk.ErrNoNode) {
			return nil // deleted since its parent was listed
		}
		if err != nil {
			return fmt.Errorf("list ledgers: %s: %w", path, err)
		}
		for _, child := range children {
			below := path + "/" + child
			if id, found := ledgerOfPath(below); found {
				visit(id)
			} else if _, err := strconv.Atoi(child); err == nil && depth < 4 {
				if err := walk(below, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return walk(LedgersRoot, 0)
}

// LedgersOn lists the ledgers that count on a bookie for entries, by id: one of their ensembles names it, and may have entries. An error
// means that some may be missing.
func LedgersOn(ctx context.Context, store Store, bookie string) (ledgers []int64, err error) {
	var all []int64
	if err := ListLedgers(ctx, store, func(id int64) { all = append(all, id) }); err != nil {
		return nil, err
	}
	for _, id := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := ReadLedger(store, id)
		if errors.Is(err, ErrNoSuchLedger) {
			continue // deleted since it was listed
		}
		if err != nil {
			return nil, err
		}
		if m.countsOn(bookie) {
			ledgers = append(ledgers, id)
		}
	}
	slices.Sort(ledgers)
	return ledgers, nil
}

func (m Versioned) countsOn(bookie string) bool {
	return slices.ContainsFunc(m.Segments, func(segment ledger.Segment) bool {
		isEmpty := m.State == ledger.Closed && segment.FirstEntry > m.LastEntry
		return !isEmpty && slices.Contains(segment.Bookies, bookie)
	})
}
