package managedledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	pb "twinlog/engine/pulsar/bookkeeperpb"
)

// CursorOptions say how a cursor begins when it does not exist yet.
type CursorOptions struct {
	// Initial is where it begins: Earliest (everything that is kept is backlog), Latest (only what comes later), or the position of
	// the first entry to read.
	Initial Position
	// Properties are stored with the first mark-delete position (name to number), CursorProperties with the cursor itself.
	Properties       map[string]int64
	CursorProperties map[string]string
}

func (m *ManagedLedger) cursorPath(name string) string {
	return znodePath(m.name) + "/" + url.QueryEscape(name)
}

// turn is held while a cursor is opened or deleted; it bounds nothing but keeps two of them apart.
func (m *ManagedLedger) turn(ctx context.Context) (release func(), err error) {
	select {
	case m.cursorTurn <- struct{}{}:
		return func() { <-m.cursorTurn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("managed ledger %s: %w", m.name, ctx.Err())
	}
}

// OpenCursor opens a durable cursor, creating it when it does not exist. Opening the same name twice returns the same cursor.
func (m *ManagedLedger) OpenCursor(ctx context.Context, name string, options CursorOptions) (*Cursor, error) {
	release, err := m.turn(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if c, found := m.Cursor(name); found {
		return c, nil
	}
	if err := m.Err(); err != nil && !errors.Is(err, ErrTerminated) {
		return nil, fmt.Errorf("open cursor %s: %w", name, err)
	}
	state := acknowledged{markDelete: m.before(options.Initial), properties: maps.Clone(options.Properties)}
	c := m.newCursor(name, true, state)
	c.properties = maps.Clone(options.CursorProperties)
	value, err := cursorInfo{ledger: -1, state: state, properties: c.properties, active: c.active.UnixMilli()}.encode()
	if err != nil {
		return nil, fmt.Errorf("open cursor %s: %w", name, err)
	}
	if err := createValue(m.factory.config.Store, m.cursorPath(name), value); err != nil {
		return nil, fmt.Errorf("create cursor %s: %w", name, err)
	}
	m.addCursor(c)
	return c, nil
}

func (m *ManagedLedger) newCursor(name string, durable bool, state acknowledged) *Cursor {
	return &Cursor{
		ledger: m, name: name, durable: durable, urgent: make(chan struct{}, 1), state: state, active: time.Now(), cursorID: -1,
		store: cursorStore{stored: -1},
	}
}

func (m *ManagedLedger) addCursor(c *Cursor) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cursors[c.name] = c
}

// OpenNonDurableCursor makes a cursor that lives in memory only (a reader's). Initial is the first position to read, or Earliest or
// Latest. Ledgers are not kept for its sake.
func (m *ManagedLedger) OpenNonDurableCursor(name string, initial Position) (*Cursor, error) {
	if err := m.Err(); err != nil && !errors.Is(err, ErrTerminated) {
		return nil, fmt.Errorf("open reader %s: %w", name, err)
	}
	c := m.newCursor(name, false, acknowledged{markDelete: m.before(initial)})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursors[name] != nil {
		return nil, fmt.Errorf("open reader %s: there is a cursor of that name", name)
	}
	m.cursors[name] = c
	return c, nil
}

// Cursor returns an open cursor; after Open, every durable cursor is open.
func (m *ManagedLedger) Cursor(name string) (*Cursor, bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	c, found := m.cursors[name]
	return c, found
}

// Cursors lists the open cursors, durable ones first, by name.
func (m *ManagedLedger) Cursors() []*Cursor {
	m.mu.RLock()
	cursors := slices.Collect(maps.Values(m.cursors))
	m.mu.RUnlock()
	slices.SortFunc(cursors, func(c, d *Cursor) int {
		if c.durable != d.durable {
			if c.durable {
				return -1
			}
			return 1
		}
		return cmp.Compare(c.name, d.name)
	})
	return cursors
}

// DeleteCursor removes a cursor and what is stored about it. ErrNotFound.
func (m *ManagedLedger) DeleteCursor(ctx context.Context, name string) error {
	release, err := m.turn(ctx)
	if err != nil {
		return err
	}
	defer release()
	c, found := m.Cursor(name)
	if !found {
		return fmt.Errorf("managed ledger %s: cursor %s: %w", m.name, name, ErrNotFound)
	}
	if err := c.close(ctx, false); err != nil {
		return err
	}
	if c.durable {
		stored, err := deleteCursorZnode(m.factory.config.Store, m.name, url.QueryEscape(name))
		if err != nil {
			return err
		}
		if err := m.factory.deleteLedgers([]int64{stored}); err != nil {
			m.logger.Info("cursor ledger could not be deleted", "cursor", name, "error", err)
		}
	}
	m.mu.Lock()
	delete(m.cursors, name)
	m.mu.Unlock()
	m.requestTrim()
	return nil
}

// deleteCursorZnode returns the ledger that the znode named, -1 for none.
func deleteCursorZnode(store metadata.Store, name, escaped string) (int64, error) {
	path := znodePath(name) + "/" + escaped
	value, _, err := store.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return -1, nil
	}
	var found cursorInfo
	if err == nil {
		if found, err = decodeCursorInfo(value, nil); err != nil {
			return -1, fmt.Errorf("delete %s: %w", path, err)
		}
		err = store.Delete(path, -1)
	}
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return -1, fmt.Errorf("delete %s: %w: %w", path, ErrStorage, err)
	}
	return found.ledger, nil
}

// SetCursorProperties replaces the subscription's own key-value pairs.
func (c *Cursor) SetCursorProperties(ctx context.Context, properties map[string]string) error {
	c.mu.Lock()
	c.properties = maps.Clone(properties)
	c.mu.Unlock()
	if !c.durable {
		return nil
	}
	// The znode is written with the next position, so there has to be one.
	return c.await(ctx, func(done func(error)) {
		c.change(done, func() (bool, error) {
			c.rewrite = true
			return true, nil
		})
	})
}

// openStoredCursors opens the cursors that the znodes know, some at the same time.
func (m *ManagedLedger) openStoredCursors(ctx context.Context) error {
	children, _, err := m.factory.config.Store.Children(znodePath(m.name))
	if err != nil {
		return fmt.Errorf("open managed ledger %s: list cursors: %w: %w", m.name, ErrStorage, err)
	}
	var group errgroup.Group
	group.SetLimit(8)
	for _, child := range children {
		group.Go(func() error {
			if err := m.openStoredCursor(ctx, child); err != nil {
				return fmt.Errorf("open managed ledger %s: cursor %s: %w", m.name, child, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (m *ManagedLedger) openStoredCursor(ctx context.Context, escaped string) error {
	name, err := url.QueryUnescape(escaped)
	if err != nil {
		return err
	}
	value, stat, err := m.factory.config.Store.Get(m.cursorPath(name))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	list := viewed(m, func(l ledgerList) ledgerList { return append(ledgerList{}, l...) })
	found, err := decodeCursorInfo(value, list)
	if err != nil {
		return err
	}
	if found.ledger >= 0 {
		if err := m.recoverCursor(ctx, &found, list); err != nil {
			return err
		}
	}
	found.state.advance(list.next)
	c := m.newCursor(name, true, found.state)
	c.properties = found.properties
	c.cursorID = found.ledger
	c.store.version, c.store.stored = stat.Version, found.ledger
	if found.active > 0 {
		c.active = time.UnixMilli(found.active)
	}
	m.addCursor(c)
	return nil
}

// recoverCursor reads the last position in a cursor's ledger, which also fences its old owner. When the ledger is gone or empty the
// znode's own position holds.
func (m *ManagedLedger) recoverCursor(ctx context.Context, found *cursorInfo, list ledgerList) error {
	reader, err := m.factory.config.Bookies.OpenLedger(ctx, found.ledger, bookkeeper.OpenOptions{Recover: true})
	switch {
	case errors.Is(err, metadata.ErrNoSuchLedger):
		m.logger.Warn("cursor ledger has no metadata: going back to the znode's position", "managed ledger", m.name, "ledger", found.ledger)
		return nil
	case err != nil:
		return fmt.Errorf("%w: %w", ErrStorage, err)
	case reader.LastEntry() < 0:
		return nil
	}
	entries, err := reader.Read(ctx, reader.LastEntry(), reader.LastEntry())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	stored := &pb.PositionInfo{}
	if err := proto.Unmarshal(entries[0].Payload, stored); err != nil {
		return fmt.Errorf("cursor ledger %d: %w", found.ledger, err)
	}
	markDelete := Position{Ledger: stored.GetLedgerId(), Entry: stored.GetEntryId()}
	found.state = acknowledgedFrom(markDelete, stored.GetIndividualDeletedMessages(), stored.GetBatchedEntryDeletionIndexInfo(), stored.GetProperties(), list)
	return nil
}

// Close stores the position and lets go of the cursor: it is no longer among the open ones. Opening the managed ledger anew finds it.
func (c *Cursor) Close(ctx context.Context) error {
	err := c.close(ctx, !errors.Is(c.ledger.Err(), ErrFenced))
	c.ledger.mu.Lock()
	defer c.ledger.mu.Unlock()
	if c.ledger.cursors[c.name] == c {
		delete(c.ledger.cursors, c.name)
	}
	return err
}
