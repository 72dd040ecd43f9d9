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

// Errors of keeping runs.
var (
	// ErrFull: the runs that are kept have no room for another one.
	ErrFull = sentence.Error(nil, "noRoomForRun", "no room for another run")
	// ErrEmptyRun: there is nothing in the run that could be kept.
	ErrEmptyRun = sentence.Error(nil, "emptyRun", "the run holds no record yet")
	// ErrRecording: the run that is being recorded cannot be deleted.
	ErrRecording = sentence.Error(nil, "runIsRecording", "the run is being recorded")
)

// Where a run comes from.
const (
	originSaved    = "saved"
	originImported = "imported"
)

// Save keeps what a run holds by now as a run of its own, which nothing is added to and nothing taken from.
func (s *Store) Save(ctx context.Context, from, name, title string) (Run, error) {
	s.recording.Lock()
	defer s.recording.Unlock()
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		var bytes sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT sum(length(packed)) FROM chunks WHERE run = ?`, from).Scan(&bytes); err != nil {
			return err
		}
		if !bytes.Valid {
			return errors.Join(ErrEmptyRun, knows(ctx, tx, from))
		}
		if err := s.hasRoom(ctx, tx, bytes.Int64); err != nil {
			return err
		}
		now := timeText(time.Now())
		if _, err := tx.ExecContext(ctx, `INSERT INTO runs (name, title, origin, started_at, ended_at, kept_at)
			SELECT ?, ?, ?, started_at, coalesce(ended_at, ?), ? FROM runs WHERE name = ?`, name, title, originSaved, now, now, from); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO chunks (run, first_n, last_n, first_at, last_at, packed)
			SELECT ?, first_n, last_n, first_at, last_at, packed FROM chunks WHERE run = ?`, name, from)
		return err
	})
	if err != nil {
		return Run{}, fmt.Errorf("saving run %s: %w", from, err)
	}
	return s.Run(ctx, name)
}

// Import keeps a run that comes from a file. Its chunks are in order and do not overlap.
func (s *Store) Import(ctx context.Context, name, title string, startedAt time.Time, chunks []hub.Chunk) (Run, error) {
	if len(chunks) == 0 {
		return Run{}, fmt.Errorf("importing a run: %w", ErrEmptyRun)
	}
	var bytes int64
	for _, chunk := range chunks {
		bytes += int64(len(chunk.Packed))
	}
	s.recording.Lock()
	defer s.recording.Unlock()
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if err := s.hasRoom(ctx, tx, bytes); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO runs (name, title, origin, started_at, ended_at, kept_at) VALUES (?, ?, ?, ?, ?, ?)`,
			name, title, originImported, timeText(startedAt), timeText(chunks[len(chunks)-1].LastAt), timeText(time.Now())); err != nil {
			return err
		}
		for _, chunk := range chunks {
			if err := addChunk(ctx, tx, name, chunk); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return Run{}, fmt.Errorf("importing a run: %w", err)
	}
	return s.Run(ctx, name)
}

// Rename gives a run a title.
func (s *Store) Rename(ctx context.Context, name, title string) (Run, error) {
	if _, err := s.db.ExecContext(ctx, `UPDATE runs SET title = ? WHERE name = ?`, title, name); err != nil {
		return Run{}, fmt.Errorf("store: renaming run %s: %w", name, err)
	}
	return s.Run(ctx, name)
}

// Delete forgets a run. The present one, which is being recorded, stays.
func (s *Store) Delete(ctx context.Context, name, present string) error {
	if name == present {
		return fmt.Errorf("deleting run %s: %w", name, ErrRecording)
	}
	s.recording.Lock()
	defer s.recording.Unlock()
	run, err := s.Run(ctx, name)
	if err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, `DELETE FROM runs WHERE name = ?`, name); err != nil { // its chunks go with it
		return fmt.Errorf("store: deleting run %s: %w", name, err)
	}
	if run.Origin != originSaved && run.Origin != originImported {
		s.recordedBytes -= run.Bytes
	}
	return nil
}

func (s *Store) hasRoom(ctx context.Context, tx *sql.Tx, bytes int64) error {
	var runs int
	var kept int64
	if err := tx.QueryRowContext(ctx, `SELECT count(DISTINCT name), coalesce(sum(length(packed)), 0) FROM runs LEFT JOIN chunks ON run = name
		WHERE origin <> 'recorded'`).Scan(&runs, &kept); err != nil {
		return err
	}
	if runs >= s.maxKeptRuns || kept+bytes > s.maxKeptBytes {
		return sentence.Error(ErrFull, "runsAreFull", "{count} {count|run|runs} with {kept} MiB are kept, and this one has {size} MiB: no room for another run; "+
			"delete one that is no longer needed", runs, kept>>20, bytes>>20)
	}
	return nil
}

func knows(ctx context.Context, tx *sql.Tx, run string) error {
	var known bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE name = ?)`, run).Scan(&known); err != nil {
		return err
	}
	if !known {
		return sentence.Error(ErrUnknownRun, "noSuchRun", `there is no run "{run}"`, run)
	}
	return nil
}

func addChunk(ctx context.Context, tx *sql.Tx, run string, chunk hub.Chunk) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO chunks (run, first_n, last_n, first_at, last_at, packed) VALUES (?, ?, ?, ?, ?, ?)`,
		run, chunk.FirstN, chunk.LastN, timeText(chunk.FirstAt), timeText(chunk.LastAt), chunk.Packed)
	return err
}
