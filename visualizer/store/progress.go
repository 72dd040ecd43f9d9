package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"twinlog/labs"
)

// The store keeps the labs' progress.
var _ labs.Progress = (*Store)(nil)

// Begin stores a new attempt and returns its id. It is logged by the update that follows.
func (s *Store) Begin(ctx context.Context, attempt labs.Attempt) (id int64, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		id, err = begin(ctx, tx, attempt)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("store: beginning an attempt at %s: %w", attempt.Lab, err)
	}
	return id, nil
}

func begin(ctx context.Context, tx *sql.Tx, attempt labs.Attempt) (int64, error) {
	failures, verdicts, err := attemptJSON(attempt)
	if err != nil {
		return 0, err
	}
	result, err := tx.ExecContext(ctx, `INSERT INTO attempts (lab, student, started_at, first_n, failures, verdicts) VALUES (?, ?, ?, ?, ?, ?)`,
		attempt.Lab, attempt.Student, timeText(attempt.StartedAt), attempt.FirstN, failures, verdicts)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// Update stores what has become of an attempt, and logs it.
func (s *Store) Update(ctx context.Context, kind string, attempt labs.Attempt) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		detail, err := update(ctx, tx, attempt)
		if err != nil {
			return err
		}
		head, err := readHead(ctx, tx, attempt.Student)
		if err != nil {
			return err
		}
		entry := labs.Entry{Student: attempt.Student, At: time.Now().UTC(), Kind: kind, Attempt: detail}
		return appendEntry(ctx, tx, entry.Follow(labs.Entry{Number: head.Number, Hash: head.Hash}))
	})
	if err != nil {
		return fmt.Errorf("store: updating attempt %d at %s: %w", attempt.ID, attempt.Lab, err)
	}
	return nil
}

func update(ctx context.Context, tx *sql.Tx, attempt labs.Attempt) (detail []byte, err error) {
	failures, verdicts, err := attemptJSON(attempt)
	if err != nil {
		return nil, err
	}
	if detail, err = json.Marshal(attempt); err != nil {
		return nil, err
	}
	var passed sql.NullString
	if attempt.PassedAt != nil {
		passed = sql.NullString{String: timeText(*attempt.PassedAt), Valid: true}
	}
	result, err := tx.ExecContext(ctx, `UPDATE attempts SET passed_at = ?, failures = ?, verdicts = ?, detail = ? WHERE id = ?`,
		passed, failures, verdicts, detail, attempt.ID)
	if err != nil {
		return nil, err
	}
	if changed, err := result.RowsAffected(); err != nil || changed != 1 {
		return nil, errors.Join(err, errors.New("there is no such attempt"))
	}
	return detail, nil
}

func attemptJSON(attempt labs.Attempt) (failures, verdicts string, err error) {
	failuresJSON, err := json.Marshal(attempt.Failures)
	if err != nil {
		return "", "", fmt.Errorf("the failures of attempt %d: %w", attempt.ID, err)
	}
	verdictsJSON, err := json.Marshal(attempt.Verdicts)
	if err != nil {
		return "", "", fmt.Errorf("the verdicts of attempt %d: %w", attempt.ID, err)
	}
	return string(failuresJSON), string(verdictsJSON), nil
}

// Latest returns a student's latest attempt at each lab, by lab.
func (s *Store) Latest(ctx context.Context, student string) (latest map[string]labs.Attempt, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT id, lab, student, started_at, first_n, passed_at, failures, verdicts, detail FROM attempts
		WHERE id IN (SELECT max(id) FROM attempts WHERE student = ? GROUP BY lab)`, student)
	if err != nil {
		return nil, fmt.Errorf("store: reading the attempts of %s: %w", student, err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	latest = map[string]labs.Attempt{}
	for rows.Next() {
		attempt, err := readAttempt(rows)
		if err != nil {
			return nil, fmt.Errorf("store: reading the attempts of %s: %w", student, err)
		}
		latest[attempt.Lab] = attempt
	}
	return latest, rows.Err()
}

func readAttempt(rows *sql.Rows) (attempt labs.Attempt, err error) {
	var id int64
	var started, failures, verdicts, detail string
	var passed sql.NullString
	if err := rows.Scan(&id, &attempt.Lab, &attempt.Student, &started, &attempt.FirstN, &passed, &failures, &verdicts, &detail); err != nil {
		return attempt, err
	}
	if detail != "" {
		err := json.Unmarshal([]byte(detail), &attempt)
		attempt.ID = id
		return attempt, err
	}
	attempt.ID = id
	if attempt.StartedAt, err = readTime(started); err != nil {
		return attempt, err
	}
	if attempt.PassedAt, err = optionalTime(passed); err != nil {
		return attempt, err
	}
	return attempt, errors.Join(json.Unmarshal([]byte(failures), &attempt.Failures), json.Unmarshal([]byte(verdicts), &attempt.Verdicts))
}
