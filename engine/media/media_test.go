package media

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// TestMedia is what every medium must do.
func TestMedia(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) Medium{
		"memory":           func(*testing.T) Medium { return NewMemory() },
		"view of a memory": func(*testing.T) Medium { return NewView(NewMemory()) },
		"directory": func(t *testing.T) Medium {
			d, err := OpenDirectory(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			return d
		},
		"object store":                func(t *testing.T) Medium { return newTestStore(t).open(t, "") },
		"object store under a prefix": func(t *testing.T) Medium { return newTestStore(t).open(t, "twinlog/") },
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t)
			t.Run("kept and read", func(t *testing.T) { keptAndRead(t, m) })
			t.Run("broken off", func(t *testing.T) { brokenOff(t, m) })
			t.Run("names", func(t *testing.T) { names(t, m) })
		})
	}
}

func put(t *testing.T, m Medium, name, content string) {
	t.Helper()
	if err := m.Put(t.Context(), name, strings.NewReader(content), int64(len(content))); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, m Medium, name string) string {
	t.Helper()
	size, err := m.Size(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, size)
	if n, err := m.ReadAt(t.Context(), name, p, 0); int64(n) != size || err != nil && err != io.EOF {
		t.Fatal(n, err)
	}
	return string(p)
}

func keptAndRead(t *testing.T, m Medium) {
	put(t, m, "a/b/one", "0123456789")
	put(t, m, "a/b/one", "abcdefghij") // replaced
	put(t, m, "a/c", "")
	if err := m.Put(t.Context(), "a/d", stream("a stream"), 8); err != nil || read(t, m, "a/d") != "a stream" {
		t.Error(err)
	}
	if got := read(t, m, "a/b/one") + read(t, m, "a/c"); got != "abcdefghij" {
		t.Errorf("read %q", got)
	}
	p := make([]byte, 4)
	if n, err := m.ReadAt(t.Context(), "a/b/one", p, 3); n != 4 || err != nil || string(p) != "defg" {
		t.Error(n, err, string(p))
	}
	if n, err := m.ReadAt(t.Context(), "a/b/one", p, 8); n != 2 || err != io.EOF {
		t.Error("beyond the end:", n, err)
	}
	if n, err := m.ReadAt(t.Context(), "a/b/one", p, 10); n != 0 || err != io.EOF {
		t.Error("at the end:", n, err)
	}
	for range 2 {
		if err := m.Remove(t.Context(), "a/b/one"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.ReadAt(t.Context(), "a/b/one", p, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := m.Size(t.Context(), "a/b/one"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func brokenOff(t *testing.T, m Medium) {
	put(t, m, "x/kept", "old")
	ended, end := context.WithCancel(t.Context())
	end()
	for name, attempt := range map[string]func(into string) error{
		"a reader that fails":        func(into string) error { return m.Put(t.Context(), into, iotest.ErrReader(errors.New("no")), 10) },
		"too few bytes":              func(into string) error { return m.Put(t.Context(), into, strings.NewReader("123"), 4) },
		"too many bytes":             func(into string) error { return m.Put(t.Context(), into, strings.NewReader("12345"), 4) },
		"a context that ended":       func(into string) error { return m.Put(ended, into, strings.NewReader("1234"), 4) },
		"too few bytes of a stream":  func(into string) error { return m.Put(t.Context(), into, stream("123"), 4) },
		"too many bytes of a stream": func(into string) error { return m.Put(t.Context(), into, stream("12345"), 4) },
		"a stream that is not empty": func(into string) error { return m.Put(t.Context(), into, stream("1"), 0) },
		"half, then an error": func(into string) error {
			return m.Put(t.Context(), into, io.MultiReader(bytes.NewReader(make([]byte, 100)), iotest.ErrReader(errors.New("no"))), 200)
		},
		"a name that leads out": func(string) error { return m.Put(t.Context(), "../x", strings.NewReader(""), 0) },
	} {
		for _, into := range []string{"x/kept", "x/new"} {
			if err := attempt(into); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
	got, err := m.List(t.Context(), "x/")
	if err != nil || !slices.Equal(got, []string{"x/kept"}) || read(t, m, "x/kept") != "old" {
		t.Error(got, err)
	}
}

// stream can be read once, from its beginning to its end.
func stream(content string) io.Reader { return io.MultiReader(strings.NewReader(content)) }

func names(t *testing.T, m Medium) {
	for _, name := range []string{"n/log-1/2", "n/log-1/1", "n/log-10/1", "n/other"} {
		put(t, m, name, name)
	}
	for prefix, want := range map[string][]string{
		"n/log-1/": {"n/log-1/1", "n/log-1/2"}, "n/log-1": {"n/log-1/1", "n/log-1/2", "n/log-10/1"}, "n/log-1/2": {"n/log-1/2"}, "nothing/": nil,
	} {
		if got, err := m.List(t.Context(), prefix); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", prefix, got, err)
		}
	}
}

// TestWhatAKilledPutLeaves is removed by whoever asks, and seen by nobody before.
func TestWhatAKilledPutLeaves(t *testing.T) {
	dir := t.TempDir()
	m, err := OpenDirectory(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	put(t, m, "log/1", "whole")
	for _, name := range []string{"log/2.partial", "other.partial"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := m.List(t.Context(), "log/"); err != nil || !slices.Equal(got, []string{"log/1"}) {
		t.Fatal(got, err)
	}
	if err := m.RemoveUnfinished(t.Context(), "log/"); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	if _, err := os.Stat(filepath.Join(dir, "other.partial")); len(left) != 1 || err != nil {
		t.Error(left, err)
	}
}
