package commitlog

import (
	"testing"

	"twinlog/engine/disk"
)

// TestSizeBelowIsWhatReadBelowReturns, or all that was wished for where a segment's end keeps a section from growing.
func TestSizeBelowIsWhatReadBelowReturns(t *testing.T) {
	log, frames := runningLog(t, disk.NewMemory(), testFraming{}, damagedConfig)
	bases := map[int64]bool{}
	for _, s := range log.Segments()[1:] {
		bases[s.Base] = true
	}
	full := 0
	for offset := range log.Next() + 1 {
		for limit := range log.Next() + 1 {
			for _, maxBytes := range []int{0, 1, 58, 59, 200, 10_000} {
				size, err := log.SizeBelow(offset, limit, maxBytes)
				if err != nil {
					t.Fatal(err)
				}
				section, err := log.ReadBelow(offset, limit, maxBytes)
				if err != nil {
					t.Fatal(err)
				}
				want := section.Size()
				if want > 0 {
					content, err := section.ReadAll()
					if err != nil {
						t.Fatal(err)
					}
					last, _ := parse(testFraming{}, content[want-int64(len(frames[0].bytes)):])
					if next := last.LastOffset + 1; bases[next] && next < limit {
						want = max(want, int64(maxBytes))
						full++
					}
				}
				section.Close()
				if size != want {
					t.Fatalf("from %d below %d, %d bytes: %d, not %d", offset, limit, maxBytes, size, want)
				}
			}
		}
	}
	if full == 0 {
		t.Error("no section ended with its segment")
	}
}
