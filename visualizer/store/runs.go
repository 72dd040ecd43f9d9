package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"twinlog/engine/sentence"
	"twinlog/visualizer/hub"
)

// ErrUnknownRun: no run of that name was recorded.
var ErrUnknownRun = sentence.Error(nil, "unknownRun", "no such run")

// Run is a recorded run.
type Run struct {
	Name  string `json:"name"`
	Title string `json:"title"` // what somebody called it; empty: nobody did
	// Origin: recorded (by a process, by itself; the oldest records make room for new ones), saved or imported (kept until deleted).
	Origin    string     `json:"origin"`
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt"` // null while it records, and for ever when the process was killed
	KeptAt    *time.Time `json:"keptAt"`  // when it was saved or imported
	FirstN    uint64     `json:"firstN"`
	LastN     uint64     `json:"lastN"` // 0: nothing was recorded
	Bytes     int64      `json:"bytes"` // packed
}

// RunList is the answer to GET runs.
type RunList struct {
	Runs []Run `json:"runs"`
	// Present is the name of the run that this process records.
	Present string `json:"present"`
}

// Recording records one run. It is a hub.Recorder.
type Recording struct {
	store *Store
	name  string
}

// Record begins to record a run. The name must be new.
func (s *Store) Record(ctx context.Context, name string) (*Recording, error) {
	if _, err := s.db.ExecContext(ctx, `INSERT INTO runs (name, started_at) VALUES (?, ?)`, name, timeText(time.Now())); err != nil {
		return nil, fmt.Errorf("store: beginning run %s: %w", name, err)
	}
	return &Recording{store: s, name: name}, nil
}

// Record adds a chunk to the run. The oldest chunks of the oldest run make room where the bound is met.
func (r *Recording) Record(chunk hub.Chunk) error {
	ctx, s := context.Background(), r.store
	s.recording.Lock()
	defer s.recording.Unlock()
	bytes := s.recordedBytes + int64(len(chunk.Packed))
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		err := addChunk(ctx, tx, r.name, chunk)
		for err == nil && bytes > s.maxRecordedBytes {
			var freed int64
			freed, err = deleteOldestChunk(ctx, tx, r.name)
			bytes -= freed
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store: recording records %d to %d of run %s: %w", chunk.FirstN, chunk.LastN, r.name, err)
	}
	s.recordedBytes = bytes
	return nil
}

// deleteOldestChunk returns how many bytes that frees. Runs other than the present one that are left with nothing go too.
func deleteOldestChunk(ctx context.Context, tx *sql.Tx, present string) (freed int64, err error) {
	err = tx.QueryRowContext(ctx, `DELETE FROM chunks WHERE rowid = (SELECT c.rowid FROM chunks c JOIN runs r ON r.name = c.run
		WHERE r.origin = 'recorded' ORDER BY r.started_at, c.first_n LIMIT 1) RETURNING length(packed)`).Scan(&freed)
	if err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, `DELETE FROM runs WHERE name <> ? AND origin = 'recorded' AND NOT EXISTS (SELECT 1 FROM chunks WHERE run = name)`, present)
	return freed, err
}

// End notes that the run ended as it should.
func (r *Recording) End() error {
	if _, err := r.store.db.Exec(`UPDATE runs SET ended_at = ? WHERE name = ?`, timeText(time.Now()), r.name); err != nil {
		return fmt.Errorf("store: ending run %s: %w", r.name, err)
	}
	return nil
}

const runColumns = `SELECT name, title, origin, started_at, ended_at, kept_at, coalesce(min(first_n), 0), coalesce(max(last_n), 0),
	coalesce(sum(length(packed)), 0) FROM runs LEFT JOIN chunks ON run = name`

// Runs lists the recorded runs, the newest first.
func (s *Store) Runs(ctx context.Context) (list []Run, err error) {
	rows, err := s.db.QueryContext(ctx, runColumns+` GROUP BY name ORDER BY coalesce(kept_at, started_at) DESC, name`)
	if err != nil {
		return nil, fmt.Errorf("store: listing runs: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	list = []Run{}
	for rows.Next() {
		run, err := scanRun(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("store: listing runs: %w", err)
		}
		list = append(list, run)
	}
	return list, rows.Err()
}

// Run describes one run.
func (s *Store) Run(ctx context.Context, name string) (Run, error) {
	run, err := scanRun(s.db.QueryRowContext(ctx, runColumns+` WHERE name = ? GROUP BY name`, name).Scan)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return run, sentence.Error(ErrUnknownRun, "noSuchRun", `there is no run "{run}"`, name)
	case err != nil:
		return run, fmt.Errorf("store: reading run %s: %w", name, err)
	}
	return run, nil
}

func scanRun(scan func(...any) error) (run Run, err error) {
	var started string
	var ended, kept sql.NullString
	if err = scan(&run.Name, &run.Title, &run.Origin, &started, &ended, &kept, &run.FirstN, &run.LastN, &run.Bytes); err != nil {
		return run, err
	}
	if run.StartedAt, err = readTime(started); err != nil {
		return run, err
	}
	if run.EndedAt, err = optionalTime(ended); err != nil {
		return run, err
	}
	run.KeptAt, err = optionalTime(kept)
	return run, err
}

// Chunk returns the first chunk of a run that holds a record after n; found is false at the run's end.
func (s *Store) Chunk(ctx context.Context, run string, n uint64) (chunk hub.Chunk, found bool, err error) {
	var firstAt, lastAt string
	row := s.db.QueryRowContext(ctx, `SELECT first_n, last_n, first_at, last_at, packed FROM chunks WHERE run = ? AND last_n > ? ORDER BY first_n LIMIT 1`, run, n)
	switch err := row.Scan(&chunk.FirstN, &chunk.LastN, &firstAt, &lastAt, &chunk.Packed); {
	case errors.Is(err, sql.ErrNoRows):
		return chunk, false, s.mustKnow(ctx, run)
	case err != nil:
		return chunk, false, fmt.Errorf("store: reading run %s after %d: %w", run, n, err)
	}
	if chunk.FirstAt, err = readTime(firstAt); err != nil {
		return chunk, false, fmt.Errorf("store: run %s: %w", run, err)
	}
	if chunk.LastAt, err = readTime(lastAt); err != nil {
		return chunk, false, fmt.Errorf("store: run %s: %w", run, err)
	}
	return chunk, true, nil
}

func (s *Store) mustKnow(ctx context.Context, run string) error {
	var known bool
	if err := s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE name = ?)`, run).Scan(&known); err != nil {
		return fmt.Errorf("store: looking for run %s: %w", run, err)
	}
	if !known {
		return sentence.Error(ErrUnknownRun, "noSuchRun", `there is no run "{run}"`, run)
	}
	return nil
}
