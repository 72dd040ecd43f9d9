package broker

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/pulsar/managedledger"
)

// memoryStorage stands in for bookies in tests of the broker's own logic. Each opening of a log starts a new ledger and fences the
// log that was open before, as the real one does. Several brokers may share one.
type memoryStorage struct {
	mu     sync.Mutex
	logs   map[string]*memoryState
	ledger int64
}

type memoryState struct {
	ledgers    []*memoryLedger
	cursors    map[string]*memoryCursor
	properties map[string]string
	terminated bool
	owner      *memoryLog
}

type memoryLedger struct {
	id      int64
	entries [][]byte
}

func newMemoryStorage() *memoryStorage { return &memoryStorage{logs: map[string]*memoryState{}} }

func (m *memoryStorage) opener() storageOpener {
	return func(Config, metadata.Store) (storage, func(context.Context) error, <-chan struct{}, error) {
		ready := make(chan struct{})
		close(ready)
		return m, func(ctx context.Context) error { <-ctx.Done(); return nil }, ready, nil
	}
}

func (m *memoryStorage) Open(_ context.Context, name string, options managedledger.Options) (topicLog, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	state := m.logs[name]
	if state == nil {
		if options.MustExist {
			return nil, managedledger.ErrNotFound
		}
		state = &memoryState{cursors: map[string]*memoryCursor{}, properties: map[string]string{}}
		m.logs[name] = state
	}
	if state.owner != nil {
		state.owner.err = managedledger.ErrFenced
	}
	m.ledger++
	state.ledgers = append(state.ledgers, &memoryLedger{id: m.ledger})
	opened := &memoryLog{storage: m, state: state, name: name}
	state.owner = opened
	for _, c := range state.cursors {
		c.log = opened
	}
	return opened, nil
}

func (m *memoryStorage) Exists(_ context.Context, name string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.logs[name] != nil, nil
}

func (m *memoryStorage) Delete(_ context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.logs, name)
	return nil
}

func (m *memoryStorage) List(_ context.Context, prefix string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.logs {
		if rest, found := strings.CutPrefix(name, prefix+"/"); found {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names, nil
}

func (m *memoryStorage) Cache() managedledger.CacheStats { return managedledger.CacheStats{} }

func (m *memoryStorage) Close(context.Context) error { return nil }

// memoryLog is a log as one owner has it open. Its state is guarded by the storage's mutex.
type memoryLog struct {
	storage *memoryStorage
	state   *memoryState
	name    string
	err     error
}

func (l *memoryLog) AddEntry(data []byte, _ int, done func(managedledger.Position, error)) {
	l.storage.mu.Lock()
	err := l.err
	if l.state.terminated {
		err = managedledger.ErrTerminated
	}
	var at managedledger.Position
	if err == nil {
		last := l.state.ledgers[len(l.state.ledgers)-1]
		last.entries = append(last.entries, data)
		at = managedledger.Position{Ledger: last.id, Entry: int64(len(last.entries) - 1)}
	}
	l.storage.mu.Unlock()
	done(at, err)
}

// positions lists every entry in order; the caller holds the mutex.
func (l *memoryLog) positions() []managedledger.Entry {
	var all []managedledger.Entry
	for _, ledger := range l.state.ledgers {
		for i, data := range ledger.entries {
			all = append(all, managedledger.Entry{Position: managedledger.Position{Ledger: ledger.id, Entry: int64(i)}, Data: data, FromCache: true})
		}
	}
	return all
}

func (l *memoryLog) all() []managedledger.Entry {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	return l.positions()
}

func (l *memoryLog) ReadEntries(_ context.Context, from managedledger.Position, maxEntries int, _ int64) ([]managedledger.Entry, error) {
	var found []managedledger.Entry
	for _, entry := range l.all() {
		if entry.Position.Compare(from) >= 0 && len(found) < maxEntries {
			found = append(found, entry)
		}
	}
	return found, nil
}

func (l *memoryLog) LastConfirmed() managedledger.Position {
	all := l.all()
	if len(all) == 0 {
		return l.First()
	}
	return all[len(all)-1].Position
}

func (l *memoryLog) First() managedledger.Position {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	return managedledger.Position{Ledger: l.state.ledgers[0].id, Entry: -1}
}

func (l *memoryLog) Next(p managedledger.Position) managedledger.Position {
	for _, entry := range l.all() {
		if entry.Position.Compare(p) > 0 {
			return entry.Position
		}
	}
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	last := l.state.ledgers[len(l.state.ledgers)-1]
	return managedledger.Position{Ledger: last.id, Entry: int64(len(last.entries))}
}

func (l *memoryLog) Previous(p managedledger.Position) managedledger.Position {
	before := l.First()
	for _, entry := range l.all() {
		if entry.Position.Compare(p) >= 0 {
			break
		}
		before = entry.Position
	}
	return before
}

func (l *memoryLog) Contains(p managedledger.Position) bool {
	return slices.ContainsFunc(l.all(), func(entry managedledger.Entry) bool { return entry.Position == p })
}

func (l *memoryLog) CountEntries(from, to managedledger.Position) int64 {
	n := int64(0)
	for _, entry := range l.all() {
		if entry.Position.Compare(from) > 0 && entry.Position.Compare(to) <= 0 {
			n++
		}
	}
	return n
}

func (l *memoryLog) Advance(p managedledger.Position, n int64) managedledger.Position {
	for ; n > 0; n-- {
		p = l.Next(p)
	}
	return p
}

func (l *memoryLog) FindLast(_ context.Context, match func(managedledger.Entry) (bool, error)) (managedledger.Position, bool, error) {
	var last managedledger.Position
	found := false
	for _, entry := range l.all() {
		matches, err := match(entry)
		if err != nil || !matches {
			return last, found, err
		}
		last, found = entry.Position, true
	}
	return last, found, nil
}

func (l *memoryLog) OpenCursor(_ context.Context, name string, options managedledger.CursorOptions) (cursor, error) {
	l.storage.mu.Lock()
	existing := l.state.cursors[name]
	l.storage.mu.Unlock()
	if existing != nil {
		return existing, nil
	}
	c := &memoryCursor{log: l, name: name, durable: true, deleted: map[managedledger.Position]bool{}, sets: map[managedledger.Position][]int64{}}
	c.reset(options.Initial)
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	l.state.cursors[name] = c
	return c, nil
}

func (l *memoryLog) OpenNonDurableCursor(name string, initial managedledger.Position) (cursor, error) {
	c := &memoryCursor{log: l, name: name, deleted: map[managedledger.Position]bool{}, sets: map[managedledger.Position][]int64{}}
	c.reset(initial)
	return c, nil
}

func (l *memoryLog) Cursors() []cursor {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	var cursors []cursor
	for _, name := range slices.Sorted(maps.Keys(l.state.cursors)) {
		cursors = append(cursors, l.state.cursors[name])
	}
	return cursors
}

func (l *memoryLog) DeleteCursor(_ context.Context, name string) error {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	delete(l.state.cursors, name)
	return nil
}

func (l *memoryLog) Err() error {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	if l.state.terminated {
		return managedledger.ErrTerminated
	}
	return l.err
}

func (l *memoryLog) Terminate(context.Context) (managedledger.Position, error) {
	last := l.LastConfirmed()
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	l.state.terminated = true
	return last, nil
}

func (l *memoryLog) Close(context.Context) error {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	if l.err == nil {
		l.err = managedledger.ErrClosed
	}
	return nil
}

func (l *memoryLog) Delete(ctx context.Context) error { return l.storage.Delete(ctx, l.name) }

func (l *memoryLog) Properties() map[string]string { return l.state.properties }

func (l *memoryLog) SetProperties(_ context.Context, properties map[string]string) error {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	l.state.properties = properties
	return nil
}

func (l *memoryLog) SetRetention(managedledger.Retention) {}

func (l *memoryLog) SetOffloadPolicy(managedledger.OffloadPolicy) {}

func (l *memoryLog) Offload(context.Context, managedledger.Position) error {
	return managedledger.ErrNoMedium
}

func (l *memoryLog) OffloadStatus() managedledger.OffloadStatus {
	return managedledger.OffloadStatus{State: managedledger.OffloadNotRun}
}

func (l *memoryLog) CheckOffload() {}

func (l *memoryLog) Trim(context.Context) ([]int64, error) { return nil, nil }

func (l *memoryLog) Stats() managedledger.Stats { return managedledger.Stats{State: "LedgerOpened"} }

func (l *memoryLog) Ledgers() []managedledger.LedgerInfo {
	l.storage.mu.Lock()
	defer l.storage.mu.Unlock()
	var infos []managedledger.LedgerInfo
	for _, ledger := range l.state.ledgers {
		infos = append(infos, managedledger.LedgerInfo{Ledger: ledger.id, Entries: int64(len(ledger.entries))})
	}
	return infos
}
