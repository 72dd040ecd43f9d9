package store

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"twinlog/labs"
	"twinlog/labs/lab"
)

// did begins an attempt of a student and checks it so many times; each attempt begins at a time of its own.
func did(t *testing.T, s *Store, student string, startedAt time.Time, checks int) labs.Attempt {
	t.Helper()
	attempt := labs.Attempt{
		Lab: "01-first-messages", Student: student, StartedAt: startedAt, Failures: map[string]int{}, Verdicts: []lab.Verdict{},
		Values: map[string]string{}, Opened: map[string]time.Time{}, Answers: map[string]labs.Answer{},
	}
	var err error
	if attempt.ID, err = s.Begin(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}
	for range checks {
		check(t, s, &attempt)
	}
	return attempt
}

func check(t *testing.T, s *Store, attempt *labs.Attempt) {
	t.Helper()
	attempt.Failures = map[string]int{"topic": attempt.Failures["topic"] + 1}
	if err := s.Update(t.Context(), labs.EntryCheck, *attempt); err != nil {
		t.Fatal(err)
	}
}

func exported(t *testing.T, s *Store) ([]labs.Head, []labs.Entry) {
	t.Helper()
	heads, entries, err := s.ExportProgress(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return heads, entries
}

func mustImport(t *testing.T, from, into *Store, want ...labs.ImportedStudent) {
	t.Helper()
	heads, entries := exported(t, from)
	imported, err := into.ImportProgress(t.Context(), heads, entries)
	if err != nil || !slices.Equal(imported.Students, want) {
		t.Errorf("imported %+v, %v; want %+v", imported.Students, err, want)
	}
}

func stores(t *testing.T) (students, teacher *Store) {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "students.db")), open(t, filepath.Join(t.TempDir(), "teacher.db"))
}

func TestATeacherGathersAClass(t *testing.T) {
	students, teacher := stores(t)
	did(t, teacher, "teacher", at, 4) // so that an id here is another one there
	did(t, teacher, "teacher", at.Add(time.Second), 1)
	ada, lin := did(t, students, "ada", at, 2), did(t, students, "lin", at.Add(time.Minute), 3)
	mustImport(t, students, teacher, labs.ImportedStudent{Student: "ada", Entries: 2, Added: 2}, labs.ImportedStudent{Student: "lin", Entries: 3, Added: 3})
	mustImport(t, students, teacher, labs.ImportedStudent{Student: "ada", Entries: 2}, labs.ImportedStudent{Student: "lin", Entries: 3})

	check(t, students, &ada)
	passed := at.Add(time.Hour)
	ada.PassedAt = &passed
	check(t, students, &ada)
	mustImport(t, students, teacher, labs.ImportedStudent{Student: "ada", Entries: 4, Added: 2}, labs.ImportedStudent{Student: "lin", Entries: 3})
	for _, want := range []labs.Attempt{ada, lin} {
		latest, err := teacher.Latest(t.Context(), want.Student)
		got := latest[want.Lab]
		want.ID = got.ID
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the teacher sees %+v, %v; want %+v", got, err, want)
		}
	}
	if heads, entries := exported(t, teacher); len(heads) != 3 || len(entries) != 5+4+3 {
		t.Errorf("%d logs with %d entries", len(heads), len(entries))
	}

	// An older file brings nothing and takes nothing away.
	heads, entries, err := students.ExportProgress(t.Context(), "lin")
	if err != nil {
		t.Fatal(err)
	}
	check(t, students, &lin)
	mustImport(t, students, teacher, labs.ImportedStudent{Student: "ada", Entries: 4}, labs.ImportedStudent{Student: "lin", Entries: 4, Added: 1})
	if imported, err := teacher.ImportProgress(t.Context(), heads, entries); err != nil || imported.Students[0].Added != 0 {
		t.Errorf("an older file: %+v, %v", imported, err)
	}
	if latest, err := teacher.Latest(t.Context(), "lin"); err != nil || latest[lin.Lab].Failures["topic"] != 4 {
		t.Errorf("after an older file: %+v, %v", latest, err)
	}
}

func TestLogsThatDifferAreRefusedAndNothingIsImported(t *testing.T) {
	students, teacher := stores(t)
	did(t, students, "ada", at, 2)
	did(t, students, "lin", at, 3)
	mine := did(t, teacher, "lin", at, 1) // somebody else of that name
	before, _ := exported(t, teacher)
	heads, entries := exported(t, students)
	for name, c := range map[string]struct {
		change func(entries []labs.Entry) []labs.Entry
		want   string
	}{
		"another of that name": {func(entries []labs.Entry) []labs.Entry { return entries }, "entry 1 of lin is another one than here"},
		"changed": {func(entries []labs.Entry) []labs.Entry {
			entries[1].Kind = labs.EntryAnswer
			return entries
		}, "entry 2 of ada was changed"},
		"its end is missing": {func(entries []labs.Entry) []labs.Entry { return slices.Delete(entries, 1, 2) }, "the last 1 of 2 are missing"},
	} {
		imported, err := teacher.ImportProgress(t.Context(), heads, c.change(slices.Clone(entries)))
		if !errors.Is(err, labs.ErrBroken) || !strings.Contains(err.Error(), c.want) || len(imported.Students) != 0 {
			t.Errorf("%s: %+v, %v; want %q", name, imported, err, c.want)
		}
		if after, _ := exported(t, teacher); !slices.Equal(before, after) {
			t.Errorf("%s: the logs were %v and are %v", name, before, after)
		}
		if latest, err := teacher.Latest(t.Context(), "ada"); err != nil || len(latest) != 0 {
			t.Errorf("%s: it left %v, %v", name, latest, err)
		}
	}
	check(t, teacher, &mine) // and the log here goes on
}

func TestALogOfAnotherStudentsAttemptIsRefused(t *testing.T) {
	_, teacher := stores(t)
	entry := labs.Entry{Student: "ada", At: at, Kind: labs.EntryCheck, Attempt: []byte(`{"lab":"01-first-messages","student":"lin"}`)}.Follow(labs.Entry{})
	_, err := teacher.ImportProgress(t.Context(), []labs.Head{{Student: "ada", Number: 1, Hash: entry.Hash}}, []labs.Entry{entry})
	if !errors.Is(err, labs.ErrBroken) || !strings.Contains(err.Error(), "entry 1 of ada") || !strings.Contains(err.Error(), "attempt of lin") {
		t.Errorf("err = %v", err)
	}
}

func TestTheLogOfProgressOnlyGrows(t *testing.T) {
	s, _ := stores(t)
	did(t, s, "ada", at, 3)
	for _, statement := range []string{
		`UPDATE progress_log SET kind = 'start' WHERE number = 2`, `UPDATE progress_log SET hash = hash`, `DELETE FROM progress_log WHERE number = 3`, `DELETE FROM progress_log`,
	} {
		if _, err := s.db.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "only grows") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if _, entries := exported(t, s); len(entries) != 3 {
		t.Errorf("%d entries", len(entries))
	}

	// Who drops the triggers is found out.
	for _, statement := range []string{`DROP TRIGGER progress_log_is_not_changed`, `UPDATE progress_log SET kind = 'start' WHERE number = 2`} {
		if _, err := s.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := s.ExportProgress(t.Context(), "ada"); !errors.Is(err, labs.ErrBroken) || !strings.Contains(err.Error(), "entry 2 of ada was changed") {
		t.Errorf("err = %v", err)
	}
}
