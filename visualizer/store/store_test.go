package store

import (
	"database/sql"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"twinlog/labs"
	"twinlog/labs/lab"
	"twinlog/visualizer/hub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

var at = time.Date(2026, 3, 2, 9, 0, 0, 123456789, time.UTC)

func chunk(first, last uint64, size int) hub.Chunk {
	return hub.Chunk{FirstN: first, LastN: last, FirstAt: at, LastAt: at.Add(time.Second), Packed: []byte(strings.Repeat("x", size))}
}

func TestRunsSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a class? 100%.db") // a path that a URI would misread
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	recording, err := first.Record(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []hub.Chunk{chunk(1, 512, 100), chunk(513, 600, 50)} {
		if err := recording.Record(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(recording.End(), first.Close()); err != nil {
		t.Fatal(err)
	}

	s := open(t, path)
	if _, err := s.Record(t.Context(), "run-1"); err == nil {
		t.Error("a run can be begun twice")
	}
	runs, err := s.Runs(t.Context())
	if err != nil || len(runs) != 1 || runs[0].Name != "run-1" || runs[0].FirstN != 1 || runs[0].LastN != 600 || runs[0].Bytes != 150 || runs[0].EndedAt == nil {
		t.Errorf("runs: %+v %v", runs, err)
	}
	got, found, err := s.Chunk(t.Context(), "run-1", 512)
	if err != nil || !found || !reflect.DeepEqual(got, chunk(513, 600, 50)) {
		t.Errorf("after 512: %+v %v %v", got, found, err)
	}
	if got, _, _ = s.Chunk(t.Context(), "run-1", 511); got.FirstN != 1 {
		t.Errorf("after 511: %+v", got)
	}
	if _, found, err = s.Chunk(t.Context(), "run-1", 600); found || err != nil {
		t.Errorf("after the last: %v %v", found, err)
	}
	if _, _, err = s.Chunk(t.Context(), "run-2", 0); !errors.Is(err, ErrUnknownRun) {
		t.Errorf("another run: %v", err)
	}
}

func TestOldestRecordsMakeRoom(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "twinlog.db"))
	s.maxRecordedBytes = 1000
	for _, name := range []string{"run-1", "run-2"} {
		recording, err := s.Record(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		for n := uint64(0); n < 5; n++ {
			if err := recording.Record(chunk(n*10+1, n*10+10, 150)); err != nil {
				t.Fatal(err)
			}
		}
	}
	runs, err := s.Runs(t.Context())
	if err != nil || len(runs) != 2 || runs[1].Name != "run-1" || runs[1].FirstN != 41 || runs[0].FirstN != 1 || runs[0].LastN != 50 {
		t.Errorf("runs: %+v %v", runs, err)
	}
	recording := &Recording{store: s, name: "run-2"}
	if err := recording.Record(chunk(51, 60, 900)); err != nil {
		t.Fatal(err)
	}
	if runs, _ = s.Runs(t.Context()); len(runs) != 1 || runs[0].FirstN != 51 {
		t.Errorf("after a large one: %+v", runs)
	}
}

func TestProgressSurvivesARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "twinlog.db")
	first, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	begin := func(s *Store, attempt labs.Attempt) labs.Attempt {
		t.Helper()
		id, err := s.Begin(t.Context(), attempt)
		if err != nil {
			t.Fatal(err)
		}
		attempt.ID = id
		return attempt
	}
	fresh := labs.Attempt{Lab: "01-first-messages", Student: "ada", StartedAt: at, FirstN: 7, Failures: map[string]int{}, Verdicts: []lab.Verdict{}}
	begin(first, fresh) // given up
	attempt := begin(first, fresh)
	other := fresh
	other.Student = "lin"
	begin(first, other)
	attempt.Failures = map[string]int{"topic": 2}
	attempt.Verdicts = []lab.Verdict{{Task: "topic", Verdict: lab.NotYet, Expected: "a topic", Observed: "none", Event: 12}}
	passed := at.Add(time.Minute)
	attempt.PassedAt = &passed
	for range 2 {
		if err := first.Update(t.Context(), labs.EntryCheck, attempt); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	s := open(t, path)
	latest, err := s.Latest(t.Context(), "ada")
	if err != nil || len(latest) != 1 || !reflect.DeepEqual(latest["01-first-messages"], attempt) {
		t.Errorf("latest: %+v %v, want %+v", latest, err, attempt)
	}
	if heads, entries, err := s.ExportProgress(t.Context(), "ada"); err != nil || len(heads) != 1 || len(entries) != 2 || entries[1].Kind != labs.EntryCheck {
		t.Errorf("the log: %v %v %v", heads, entries, err)
	}
	if latest, err := s.Latest(t.Context(), "nobody"); err != nil || len(latest) != 0 {
		t.Errorf("nobody: %v %v", latest, err)
	}
	attempt.ID = 999
	if err := s.Update(t.Context(), labs.EntryCheck, attempt); err == nil {
		t.Error("an attempt that is not there was updated")
	}
}

func TestNewerDatabaseIsAClearError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "twinlog.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`UPDATE schema_migrations SET version = 99`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "newer twinlog") || !strings.Contains(err.Error(), path) {
		t.Errorf("err = %v", err)
	}
}

func TestNotADatabase(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "missing", "twinlog.db")); err == nil {
		t.Error("a directory that is not there was opened")
	}
}
