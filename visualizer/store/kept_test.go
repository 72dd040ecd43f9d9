package store

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"twinlog/visualizer/hub"
)

func TestKeptRunsMakeNoRoomForRecordedOnes(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "kept.db"))
	s.maxRecordedBytes = 1000
	recording, err := s.Record(t.Context(), "present")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Save(t.Context(), "present", "kept-0", "nothing yet"); !errors.Is(err, ErrEmptyRun) {
		t.Errorf("an empty run: %v", err)
	}
	if _, err := s.Save(t.Context(), "nobody", "kept-0", "nothing"); !errors.Is(err, ErrUnknownRun) {
		t.Errorf("an unknown run: %v", err)
	}
	for n := uint64(1); n <= 40; n += 10 {
		if err := recording.Record(chunk(n, n+9, 300)); err != nil {
			t.Fatal(err)
		}
		if n == 11 {
			if run, err := s.Save(t.Context(), "present", "kept-1", "the beginning"); err != nil || run.FirstN != 1 || run.LastN != 20 || run.Bytes != 600 {
				t.Fatalf("%+v %v", run, err)
			}
		}
	}
	present, err := s.Run(t.Context(), "present")
	if err != nil || present.FirstN != 11 || present.LastN != 40 {
		t.Errorf("the oldest chunk is still there: %+v %v", present, err)
	}
	if kept, err := s.Run(t.Context(), "kept-1"); err != nil || kept.FirstN != 1 || kept.LastN != 20 {
		t.Errorf("what was kept has changed: %+v %v", kept, err)
	}
	if err := s.Delete(t.Context(), "present", "present"); !errors.Is(err, ErrRecording) {
		t.Errorf("the present run: %v", err)
	}
	if err := s.Delete(t.Context(), "kept-1", "present"); err != nil {
		t.Error(err)
	}
	if _, found, err := s.Chunk(t.Context(), "kept-1", 0); found || !errors.Is(err, ErrUnknownRun) {
		t.Errorf("its chunks are still there: %v %v", found, err)
	}
	if s.recordedBytes != 900 {
		t.Errorf("%d bytes are counted as recorded", s.recordedBytes)
	}
}

func TestKeptRunsHaveABound(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "kept.db"))
	s.maxKeptBytes, s.maxKeptRuns = 1000, 3
	at := time.Now()
	if _, err := s.Import(t.Context(), "a", "a", at, []hub.Chunk{chunk(1, 5, 600)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Import(t.Context(), "b", "b", at, []hub.Chunk{chunk(1, 5, 500)}); !errors.Is(err, ErrFull) {
		t.Errorf("too many bytes: %v", err)
	}
	for _, name := range []string{"c", "d"} {
		if _, err := s.Import(t.Context(), name, name, at, []hub.Chunk{chunk(1, 5, 10)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Import(t.Context(), "e", "e", at, []hub.Chunk{chunk(1, 5, 10)}); !errors.Is(err, ErrFull) {
		t.Errorf("too many runs: %v", err)
	}
	if _, err := s.Import(t.Context(), "f", "f", at, nil); !errors.Is(err, ErrEmptyRun) {
		t.Errorf("no chunk: %v", err)
	}
	if runs, err := s.Runs(t.Context()); err != nil || len(runs) != 3 {
		t.Errorf("%v %v", runs, err)
	}
}
