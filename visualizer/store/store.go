// Package store is the classroom's database: recorded runs and the progress of students in the labs. It is the only package that knows
// SQLite; the tables are made and changed by the migrations beside it.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is an open database. Its methods may be called from any goroutine.
type Store struct {
	db *sql.DB
	// maxRecordedBytes bounds the packed records of all runs that were recorded by themselves; maxKeptBytes those of all that somebody
	// saved or imported, maxKeptRuns their number.
	maxRecordedBytes, maxKeptBytes int64
	maxKeptRuns                    int

	recording     sync.Mutex // one chunk is recorded at a time
	recordedBytes int64
}

// defaultRecordedBytes: about ten hours of a busy classroom.
const defaultRecordedBytes = 512 << 20

const (
	defaultKeptBytes = 1 << 30
	defaultKeptRuns  = 200
)

// Open opens the database file, which is made when it is not there, and brings its tables up to date.
func Open(path string) (*Store, error) {
	// A path can hold what has a meaning in a URI.
	location := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()}
	pragmas := "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=foreign_keys(1)"
	db, err := sql.Open("sqlite", location.String()+"?"+pragmas)
	if err != nil {
		return nil, fmt.Errorf("store: opening %s: %w", path, err)
	}
	db.SetMaxOpenConns(1) // SQLite writes one at a time; a queue here is better than its busy errors
	if err := bringUpToDate(db); err != nil {
		return nil, errors.Join(fmt.Errorf("store: bringing %s up to date: %w; was it written by a newer twinlog? Move it away to begin anew", path, err), db.Close())
	}
	s := &Store{db: db, maxRecordedBytes: defaultRecordedBytes, maxKeptBytes: defaultKeptBytes, maxKeptRuns: defaultKeptRuns}
	if err := db.QueryRow(`SELECT coalesce(sum(length(packed)), 0) FROM chunks JOIN runs ON name = run
		WHERE origin = 'recorded'`).Scan(&s.recordedBytes); err != nil {
		return nil, errors.Join(fmt.Errorf("store: reading %s: %w", path, err), db.Close())
	}
	return s, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

func bringUpToDate(db *sql.DB) error {
	files, err := iofs.New(migrations, "migrations")
	if err != nil {
		return err
	}
	target, err := sqlite.WithInstance(db, &sqlite.Config{})
	if err != nil {
		return err
	}
	// The migrator is not closed: that would close db.
	migrator, err := migrate.NewWithInstance("iofs", files, "sqlite", target)
	if err != nil {
		return err
	}
	if err := migrator.Up(); err != nil && !errors.Is(err, migrate.ErrNoChange) {
		return err
	}
	return nil
}

// inTransaction runs do in a transaction, which is rolled back when do fails.
func (s *Store) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Times are kept as text that sorts as they do.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

func timeText(at time.Time) string { return at.UTC().Format(timeLayout) }

func readTime(text string) (time.Time, error) { return time.Parse(timeLayout, text) }

// optionalTime reads a time that can be NULL.
func optionalTime(text sql.NullString) (*time.Time, error) {
	if !text.Valid {
		return nil, nil
	}
	at, err := readTime(text.String)
	return &at, err
}
