package managedledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
)

// openNew opens a managed ledger that is not open here:
//
//  1. Read the list of ledgers; create it when it is not there.
//  2. Recover every ledger that is not closed (the last one): from here on its old writer is fenced.
//  3. Create a new ledger, unless it is terminated, and write the list, with the znode's version as witness that nobody else did the same
//     meanwhile: from here on a predecessor that still lives can change nothing.
//  4. Open the cursors.
func (f *Factory) openNew(ctx context.Context, name string, options Options) (*ManagedLedger, error) {
	found, version, err := f.readOrCreate(name, options)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	m := &ManagedLedger{
		factory: f, name: name, options: options, logger: f.config.Logger, mailbox: newMailbox(), ended: make(chan struct{}),
		version: version, terminated: found.terminated, properties: found.properties, retention: options.Retention,
		cursors: make(map[string]*Cursor), cursorTurn: make(chan struct{}, 1), readers: newReaderCache(),
		offloadStatus: OffloadStatus{State: OffloadNotRun},
	}
	kept, empty, err := m.recoverLedgers(ctx, found.ledgers)
	if err != nil {
		return nil, err
	}
	if m.ledgers = kept; m.terminated != nil {
		m.err = fmt.Errorf("managed ledger %s: %w", name, ErrTerminated)
		err = m.writeInfo(func(*info) {})
	} else {
		err = m.installLedger(kept)
	}
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	if err := f.deleteLedgers(empty); err != nil {
		m.logger.Warn("an empty ledger could not be deleted", "managed ledger", name, "error", err)
	}
	if err := m.openStoredCursors(ctx); err != nil {
		m.abandonWriter()
		return nil, err
	}
	go m.run()
	m.CheckOffload()
	return m, nil
}

func (f *Factory) readOrCreate(name string, options Options) (info, int32, error) {
	found, version, err := readInfo(f.config.Store, name)
	if !errors.Is(err, ErrNotFound) || options.MustExist {
		return found, version, err
	}
	created := info{properties: maps.Clone(options.Properties)}
	value, err := created.encode()
	if err != nil {
		return info{}, 0, err
	}
	if err := metadata.CreateAll(f.config.Store, znodePath(name), value); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return info{}, 0, fmt.Errorf("create managed ledger %s: %w: %w", name, ErrStorage, err)
	}
	return readInfo(f.config.Store, name)
}

// recoverLedgers finds out the end of every ledger that is not closed. Ledgers that are empty, or gone, are left out of kept.
func (m *ManagedLedger) recoverLedgers(ctx context.Context, ledgers ledgerList) (kept ledgerList, empty []int64, err error) {
	for _, l := range ledgers {
		if l.Closed.IsZero() {
			recovered, err := m.recoverLedger(ctx, l.Ledger)
			if errors.Is(err, metadata.ErrNoSuchLedger) {
				m.logger.Warn("ledger has no metadata, nothing of it is left", "managed ledger", m.name, "ledger", l.Ledger)
				continue
			}
			if err != nil {
				return nil, nil, fmt.Errorf("open managed ledger %s: %w: %w", m.name, ErrStorage, err)
			}
			l = recovered
		}
		if l.Entries == 0 {
			empty = append(empty, l.Ledger)
			continue
		}
		kept = append(kept, l)
	}
	return kept, empty, nil
}

func (m *ManagedLedger) recoverLedger(ctx context.Context, id int64) (LedgerInfo, error) {
	reader, err := m.factory.config.Bookies.OpenLedger(ctx, id, bookkeeper.OpenOptions{Recover: true})
	if err != nil {
		return LedgerInfo{}, err
	}
	return LedgerInfo{Ledger: id, Entries: reader.LastEntry() + 1, Bytes: reader.Length(), Closed: time.Now()}, nil
}

// installLedger creates a new ledger and puts it at the end of the list. It runs before the owner does, or in a task.
func (m *ManagedLedger) installLedger(before ledgerList) error {
	writer, err := m.createLedger("")
	if err != nil {
		return fmt.Errorf("managed ledger %s: %w: %w", m.name, ErrStorage, err)
	}
	list := append(append(ledgerList{}, before...), LedgerInfo{Ledger: writer.ID()})
	if err := m.writeInfo(func(i *info) { i.ledgers = list }); err != nil {
		m.discard(writer)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ledgers, m.writer, m.created = list, writer, time.Now()
	return nil
}

// createLedger makes a ledger for entries, or for a cursor's positions.
func (m *ManagedLedger) createLedger(cursor string) (*bookkeeper.Writer, error) {
	config := m.factory.config
	options := bookkeeper.CreateOptions{
		Ensemble: config.Ensemble, WriteQuorum: config.WriteQuorum, AckQuorum: config.AckQuorum,
		Custom: map[string][]byte{
			"application": []byte("pulsar"), "component": []byte("managed-ledger"), "pulsar/managed-ledger": []byte(m.name),
		},
	}
	if m.options.Ensemble > 0 {
		options.Ensemble, options.WriteQuorum, options.AckQuorum = m.options.Ensemble, m.options.WriteQuorum, m.options.AckQuorum
	}
	if cursor != "" {
		options.Custom["pulsar/cursor"] = []byte(cursor)
	}
	return config.Bookies.CreateLedger(options)
}

// discard closes and deletes a ledger that nothing refers to.
func (m *ManagedLedger) discard(writer *bookkeeper.Writer) {
	err := writer.Close(m.factory.ctx)
	if deleteErr := m.factory.config.Bookies.DeleteLedger(writer.ID()); err == nil {
		err = deleteErr
	}
	if err != nil {
		m.logger.Info("unused ledger could not be deleted", "managed ledger", m.name, "ledger", writer.ID(), "error", err)
	}
}

// abandonWriter lets go of the writer of a managed ledger that could not be opened wholly.
func (m *ManagedLedger) abandonWriter() {
	if m.writer != nil {
		_ = m.writer.Close(m.factory.ctx)
	}
}

// writeInfo changes the znode. Only one task runs at a time, so version is ours.
func (m *ManagedLedger) writeInfo(change func(*info)) error {
	m.mu.RLock()
	i := info{ledgers: append(ledgerList{}, m.ledgers...), terminated: m.terminated, properties: m.properties}
	version := m.version
	m.mu.RUnlock()
	change(&i)
	value, err := i.encode()
	if err != nil {
		return fmt.Errorf("managed ledger %s: %w", m.name, err)
	}
	written, err := writeValue(m.factory.config.Store, znodePath(m.name), value, version)
	if err != nil {
		return fmt.Errorf("managed ledger %s: %w", m.name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.version = written
	return nil
}
