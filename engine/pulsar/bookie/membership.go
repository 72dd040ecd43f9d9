package bookie

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/trace"
)

const joinRetry = 200 * time.Millisecond

// join makes the bookie a member of the cluster, and again whenever its session expired or its mode changed.
func (b *Bookie) join(ctx context.Context, s metadata.Session) error {
	registered := int64(0)
	retry := time.NewTimer(joinRetry)
	retry.Stop() // the session's first event begins
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-s.Events:
			if !open {
				return nil
			}
			if event.State != zk.StateHasSession || s.ID() == registered {
				continue
			}
		case <-b.changedMode:
			if registered == 0 {
				continue // the session's first event will
			}
		case <-retry.C:
		}
		id, readOnly := s.ID(), b.space.isFull()
		err := b.register(s.Store, readOnly)
		var refused *cookieError
		var broken *diskError
		switch {
		case err == nil:
			registered = id
			b.tracer.Emit(trace.BookieRegistered{Bookie: b.address, ReadOnly: readOnly})
			b.announceReady()
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &refused), errors.As(err, &broken):
			return err
		default:
			b.logger.Warn("bookie cannot register yet", "bookie", b.address, "error", err)
			retry.Reset(joinRetry)
		}
	}
}

func (b *Bookie) announceReady() {
	select {
	case <-b.ready:
	default:
		close(b.ready)
	}
}

func (b *Bookie) register(store metadata.Store, readOnly bool) error {
	if err := metadata.Format(store); err != nil {
		return err
	}
	if err := b.checkCookie(store); err != nil {
		return err
	}
	return metadata.Register(store, b.address, readOnly)
}

// cookieError: the bookie's disk is not the one that the cluster knows.
type cookieError struct{ text string }

func (e *cookieError) Error() string { return e.text }

// diskError: trying again does not help, unlike with ZooKeeper.
type diskError struct{ error }

func (e *diskError) Unwrap() error { return e.error }

const (
	cookieFile    = "VERSION"
	maxCookieFile = 64 << 10
)

// checkCookie compares the disk's cookie with the cluster's. The disk's is written first: a bookie that dies between the two has
// acknowledged nothing yet, and finds its own cookie when it starts again.
func (b *Bookie) checkCookie(store metadata.Store) error {
	instance, err := metadata.InstanceID(store)
	if err != nil {
		return err
	}
	cookie := metadata.Cookie{Bookie: b.address, JournalDir: journalDir, LedgerDirs: "1\t" + entryLogsDir, InstanceID: instance}
	path := metadata.CookiePath(b.address)
	known, _, err := store.Get(path)
	missing := errors.Is(err, zk.ErrNoNode)
	if err != nil && !missing {
		return fmt.Errorf("read %s: %w", path, err)
	}
	own, err := b.readCookieFile()
	if err != nil {
		return &diskError{err}
	}
	switch {
	case own == "" && !missing:
		return &cookieError{fmt.Sprintf("the cluster knows bookie %s, but its disk is empty: what it acknowledged is lost. "+
			"Bring the disk back, or delete %s after the ledgers were re-replicated", b.address, path)}
	case own == "":
		if err := replaceFile(b.config.Disk, ".", cookieFile, []byte(cookie.Encode())); err != nil {
			return &diskError{err}
		}
	case own != cookie.Encode():
		return &cookieError{fmt.Sprintf("the disk of bookie %s belongs to another bookie or cluster: it has the cookie %q, expected %q", b.address, own, cookie.Encode())}
	}
	switch {
	case missing:
		if _, err := store.Create(path, []byte(cookie.Encode()), zk.FlagPersistent, metadata.Open()); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("create %s: %w", path, err)
		}
	case string(known) != cookie.Encode():
		return &cookieError{fmt.Sprintf("the cluster has another cookie for bookie %s: %q, the disk has %q", b.address, known, cookie.Encode())}
	}
	return nil
}

// readCookieFile returns "" when there is none.
func (b *Bookie) readCookieFile() (string, error) {
	file, err := b.config.Disk.OpenFile(cookieFile, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", cookieFile, err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.NewSectionReader(file, 0, maxCookieFile))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", cookieFile, err)
	}
	return string(text), nil
}
