package replicalog

import (
	"slices"
	"testing"

	"twinlog/engine/disk"
)

// FuzzCheckpoint: a checkpoint that is read is one that could have been written.
func FuzzCheckpoint(f *testing.F) {
	f.Add([]byte("0\n2\norders 0 1532\norders 1 1498\n"))
	f.Add([]byte("0\n0\n"))
	f.Add([]byte("0\n-1\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		d := disk.NewMemory()
		if err := WriteFile(d, "checkpoint", content); err != nil {
			t.Fatal(err)
		}
		lines, err := ReadCheckpoint(d, "checkpoint")
		if err != nil {
			return
		}
		if err := WriteCheckpoint(d, "again", lines, false); err != nil {
			t.Fatal(err)
		}
		if again, err := ReadFile(d, "again"); err != nil || !slices.Equal(again, content) {
			t.Errorf("%q is read as %q, which is written as %q, %v", content, lines, again, err)
		}
	})
}
