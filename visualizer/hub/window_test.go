package hub

import (
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestWindowGivesBackWhatItHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		total := uint64(rapid.IntRange(0, 3*chunkRecords+10).Draw(t, "total"))
		w := newWindow(2*chunkRecords, 1<<30)
		for n := uint64(1); n <= total; n++ {
			w.add(start, fmt.Appendf(nil, `{"n":%d}`, n))
		}
		bounds := w.bounds()
		if bounds.LastN != total || w.records() > 3*chunkRecords {
			t.Fatalf("bounds %+v, %d records", bounds, w.records())
		}
		after := uint64(rapid.IntRange(0, int(total)+5).Draw(t, "after"))
		limit := rapid.IntRange(1, 2*chunkRecords).Draw(t, "limit")
		wanted, err := w.after(after, limit)
		if after+1 < bounds.FirstN {
			if !errors.Is(err, ErrGone) {
				t.Fatalf("records after %d of %+v: %v", after, bounds, err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		records, err := wanted.unpack()
		if err != nil {
			t.Fatal(err)
		}
		if want := min(limit, max(0, int(total)-int(after))); len(records) != want {
			t.Fatalf("%d records, want %d", len(records), want)
		}
		for i, record := range records {
			if want := fmt.Sprintf(`{"n":%d}`, after+1+uint64(i)); string(record) != want {
				t.Fatalf("record %d is %s, want %s", i, record, want)
			}
		}
	})
}

func TestWindowIsBoundedByBytes(t *testing.T) {
	w := newWindow(1<<30, 64<<10)
	for n := range 200_000 {
		w.add(start, fmt.Appendf(nil, `{"n":%d,"node":"kafka-1","kind":"kafka.appended","data":{"leo":%d}}`, n, n*7))
	}
	if w.bytes > 128<<10 { // the open chunk comes on top
		t.Errorf("%d bytes", w.bytes)
	}
	held := 0
	for _, chunk := range w.sealed {
		held += len(chunk.Packed)
	}
	for _, text := range w.open {
		held += len(text)
	}
	if held != w.bytes {
		t.Errorf("the window counts %d bytes and holds %d", w.bytes, held)
	}
}
