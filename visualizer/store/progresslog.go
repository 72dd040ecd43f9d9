package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"twinlog/engine/sentence"
	"twinlog/labs"
)

// querier is the database, or a transaction in it.
type querier interface {
	QueryContext(ctx context.Context, query string, arguments ...any) (*sql.Rows, error)
}

func readHead(ctx context.Context, tx *sql.Tx, student string) (head labs.Head, err error) {
	head.Student = student
	err = tx.QueryRowContext(ctx, `SELECT number, hash FROM progress_heads WHERE student = ?`, student).Scan(&head.Number, &head.Hash)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return head, err
}

func appendEntry(ctx context.Context, tx *sql.Tx, entry labs.Entry) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO progress_log (student, number, at, kind, attempt, previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		entry.Student, entry.Number, timeText(entry.At), entry.Kind, string(entry.Attempt), entry.Previous, entry.Hash)
	if err != nil {
		return err
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO progress_heads (student, number, hash) VALUES (?, ?, ?)
		ON CONFLICT (student) DO UPDATE SET number = excluded.number, hash = excluded.hash`, entry.Student, entry.Number, entry.Hash)
	return err
}

func readLog(ctx context.Context, from querier, student string) (entries []labs.Entry, err error) {
	rows, err := from.QueryContext(ctx, `SELECT student, number, at, kind, attempt, previous, hash FROM progress_log WHERE student = ? ORDER BY number`, student)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var entry labs.Entry
		var at, attempt string
		if err := rows.Scan(&entry.Student, &entry.Number, &at, &entry.Kind, &attempt, &entry.Previous, &entry.Hash); err != nil {
			return nil, err
		}
		if entry.At, err = readTime(at); err != nil {
			return nil, fmt.Errorf("entry %d of %s: %w", entry.Number, student, err)
		}
		entry.Attempt = json.RawMessage(attempt)
		entries = append(entries, entry)
	}
	return entries, rows.Err()
}

func readHeads(ctx context.Context, from querier, student string) (heads []labs.Head, err error) {
	rows, err := from.QueryContext(ctx, `SELECT student, number, hash FROM progress_heads WHERE ? IN ('', student) ORDER BY student`, student)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var head labs.Head
		if err := rows.Scan(&head.Student, &head.Number, &head.Hash); err != nil {
			return nil, err
		}
		heads = append(heads, head)
	}
	return heads, rows.Err()
}

// ExportProgress returns the verified log of a student, or of all with an empty name. A log that was tampered with is an error that names the
// entry.
func (s *Store) ExportProgress(ctx context.Context, student string) (heads []labs.Head, entries []labs.Entry, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		if heads, err = readHeads(ctx, tx, student); err != nil {
			return err
		}
		for _, head := range heads {
			log, err := readLog(ctx, tx, head.Student)
			if err != nil {
				return err
			}
			if err := labs.Verify(log, head); err != nil {
				return err
			}
			entries = append(entries, log...)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("store: exporting the progress of %q: %w", student, err)
	}
	return heads, entries, nil
}

// ImportProgress merges verified logs: of each student, the entries that go on where the log here ends. A log that differs from the one here is
// refused with the entry at which it does, and nothing is imported.
func (s *Store) ImportProgress(ctx context.Context, heads []labs.Head, entries []labs.Entry) (imported labs.Imported, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		imported.Students = []labs.ImportedStudent{}
		for _, head := range heads {
			var log []labs.Entry
			for _, entry := range entries {
				if entry.Student == head.Student {
					log = append(log, entry)
				}
			}
			added, err := merge(ctx, tx, head, log)
			if err != nil {
				return err
			}
			imported.Students = append(imported.Students, labs.ImportedStudent{Student: head.Student, Entries: len(log), Added: added})
		}
		return nil
	})
	if err != nil {
		return labs.Imported{}, fmt.Errorf("store: importing progress: %w", err)
	}
	return imported, nil
}

func merge(ctx context.Context, tx *sql.Tx, head labs.Head, log []labs.Entry) (added int, err error) {
	if err := labs.Verify(log, head); err != nil {
		return 0, err
	}
	here, err := readLog(ctx, tx, head.Student)
	if err != nil {
		return 0, err
	}
	for i := range min(len(here), len(log)) {
		if here[i].Hash != log[i].Hash {
			return 0, sentence.Error(labs.ErrBroken, "entryIsAnother", "entry {number} of {student} is another one than here: two students of one name?", i+1, head.Student)
		}
	}
	for _, entry := range log[min(len(here), len(log)):] {
		if err := appendEntry(ctx, tx, entry); err != nil {
			return added, err
		}
		if err := apply(ctx, tx, entry); err != nil {
			return added, fmt.Errorf("entry %d of %s: %w", entry.Number, entry.Student, err)
		}
		added++
	}
	return added, nil
}

// apply makes the attempt of an imported entry what the entry says. Its id is this store's own.
func apply(ctx context.Context, tx *sql.Tx, entry labs.Entry) error {
	var attempt labs.Attempt
	if err := json.Unmarshal(entry.Attempt, &attempt); err != nil {
		return fmt.Errorf("%w: %w", labs.ErrBroken, err)
	}
	if attempt.Student != entry.Student {
		return sentence.Error(labs.ErrBroken, "attemptOfOther", "the log of progress is broken: it tells of an attempt of {student}", attempt.Student)
	}
	err := tx.QueryRowContext(ctx, `SELECT id FROM attempts WHERE student = ? AND lab = ? AND started_at = ?`,
		attempt.Student, attempt.Lab, timeText(attempt.StartedAt)).Scan(&attempt.ID)
	if errors.Is(err, sql.ErrNoRows) {
		attempt.ID, err = begin(ctx, tx, attempt)
	}
	if err == nil {
		_, err = update(ctx, tx, attempt)
	}
	return err
}
