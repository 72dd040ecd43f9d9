package offloaded

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// objects is a medium of the simplest kind.
type objects map[string][]byte

func (o objects) Put(_ context.Context, name string, content io.Reader, size int64) error {
	all, err := io.ReadAll(content)
	if err == nil && int64(len(all)) != size {
		err = fmt.Errorf("%d bytes were announced, %d came", size, len(all))
	}
	if err == nil {
		o[name] = all
	}
	return err
}

func (o objects) ReadAt(_ context.Context, name string, p []byte, offset int64) (int, error) {
	object, found := o[name]
	if !found {
		return 0, fs.ErrNotExist
	}
	return bytes.NewReader(object).ReadAt(p, offset)
}

func (o objects) Size(_ context.Context, name string) (int64, error) {
	object, found := o[name]
	if !found {
		return 0, fs.ErrNotExist
	}
	return int64(len(object)), nil
}

func (o objects) Remove(_ context.Context, name string) error {
	delete(o, name)
	return nil
}

func (o objects) RemoveUnfinished(context.Context, string) error { return nil }

var orders = Name{ManagedLedger: "public/default/persistent/orders", Ledger: 12, UID: MakeUID([16]byte{1, 2, 3, 15: 9})}

func TestNames(t *testing.T) {
	if got, want := orders.String(), "public/default/persistent/orders/01020300-0000-4000-8000-000000000009-ledger-12"; got != want {
		t.Errorf("the data is called %s, want %s", got, want)
	}
}

func ledgerOf(entries [][]byte) Ledger {
	ledger := Ledger{ID: orders.Ledger, Entries: int64(len(entries))}
	for _, payload := range entries {
		ledger.Bytes += int64(len(payload))
	}
	return ledger
}

// inPieces gives entries, up to so many at once.
func inPieces(entries [][]byte, most int64) Source {
	return func(_ context.Context, first, last int64) ([][]byte, error) {
		return entries[first : min(last, first+most-1)+1], nil
	}
}

func write(t interface{ Fatal(...any) }, medium Medium, entries [][]byte) {
	if _, err := Write(context.Background(), medium, orders, ledgerOf(entries), inPieces(entries, 3)); err != nil {
		t.Fatal(err)
	}
}

// TestWrittenLedgersAreReadBack reads any range of any ledger.
func TestWrittenLedgersAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 50), rapid.IntRange(0, 90_000)), 1, 30).Draw(t, "sizes")
		entries := make([][]byte, len(sizes))
		for i, size := range sizes {
			entries[i] = bytes.Repeat([]byte{byte(i + 1)}, size)
		}
		medium := objects{}
		write(t, medium, entries)
		reader, err := Open(context.Background(), medium, orders)
		if err != nil {
			t.Fatal(err)
		}
		if reader.Ledger() != ledgerOf(entries) {
			t.Fatalf("the medium has %+v, want %+v", reader.Ledger(), ledgerOf(entries))
		}
		if err := reader.Verify(context.Background()); err != nil {
			t.Fatal(err)
		}
		first := rapid.Int64Range(0, int64(len(entries)-1)).Draw(t, "first")
		last := rapid.Int64Range(first, int64(len(entries)-1)).Draw(t, "last")
		for next := first; next <= last; {
			read, err := reader.Read(context.Background(), next, last)
			if err != nil || len(read) == 0 {
				t.Fatalf("read of %d to %d: %d entries, %v", next, last, len(read), err)
			}
			if !slices.EqualFunc(read, entries[next:next+int64(len(read))], bytes.Equal) {
				t.Fatalf("read of %d to %d gives other entries", next, last)
			}
			next += int64(len(read))
		}
	})
}

// TestDamageIsFound flips each byte of both objects, and cuts them off everywhere: what is read is right, or the object is named.
func TestDamageIsFound(t *testing.T) {
	entries := [][]byte{[]byte("first"), {}, bytes.Repeat([]byte("x"), blockSize), []byte("in the second block"), []byte("last")}
	whole := objects{}
	write(t, whole, entries)
	checkDamage := func(name, what string, object []byte) {
		t.Helper()
		medium := objects{orders.String(): whole[orders.String()], orders.index(): whole[orders.index()]}
		medium[name] = object
		reader, err := Open(context.Background(), medium, orders)
		if err == nil {
			err = reader.Verify(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), orders.String()) {
			t.Fatalf("%s: %v, which names no object", what, err)
		}
		if reader == nil {
			return
		}
		for i, want := range entries {
			if read, err := reader.Read(context.Background(), int64(i), int64(i)); err == nil && !bytes.Equal(read[0], want) {
				t.Fatalf("%s: entry %d is served and is wrong", what, i)
			}
		}
	}
	for _, name := range []string{orders.String(), orders.index()} {
		object := whole[name]
		for at := range object {
			if at > 100 && at < len(object)-100 && at%7919 != 0 {
				continue // the long payload is alike everywhere
			}
			flipped := bytes.Clone(object)
			flipped[at] ^= 0x10
			checkDamage(name, fmt.Sprintf("byte %d of %s flipped", at, name), flipped)
			checkDamage(name, fmt.Sprintf("%s cut off at %d", name, at), object[:at])
		}
	}
	// Entries of another ledger are whole, and not these.
	stranger, other := objects{}, orders
	other.Ledger++
	ledger := ledgerOf(entries)
	ledger.ID = other.Ledger
	if _, err := Write(context.Background(), stranger, other, ledger, inPieces(entries, 9)); err != nil {
		t.Fatal(err)
	}
	checkDamage(orders.String(), "the data of another ledger", stranger[other.String()])
	checkDamage(orders.index(), "the index of another ledger", stranger[other.index()])
}

func TestWhatCannotBeWrittenLeavesNoIndex(t *testing.T) {
	entries := [][]byte{[]byte("a"), []byte("b")}
	failed := errors.New("no bookie answers")
	for name, source := range map[string]Source{
		"an error":      func(context.Context, int64, int64) ([][]byte, error) { return nil, failed },
		"too few bytes": func(context.Context, int64, int64) ([][]byte, error) { return [][]byte{{}, {}}, nil },
		"too many bytes": func(context.Context, int64, int64) ([][]byte, error) {
			return [][]byte{[]byte("aaa"), []byte("b")}, nil
		},
		"no entries":       func(context.Context, int64, int64) ([][]byte, error) { return nil, nil },
		"too many entries": func(context.Context, int64, int64) ([][]byte, error) { return make([][]byte, 3), nil },
	} {
		medium := objects{}
		if _, err := Write(context.Background(), medium, orders, ledgerOf(entries), source); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, err := Open(context.Background(), medium, orders); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: opening gives %v", name, err)
		}
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	medium := objects{}
	write(t, medium, [][]byte{[]byte("a")})
	for range 2 {
		if err := Remove(context.Background(), medium, orders); err != nil || len(medium) > 0 {
			t.Fatalf("%d objects are left, %v", len(medium), err)
		}
	}
}

// FuzzDecodeIndex gives an index the checksum that it should have: what comes after the checksum is what is tried.
func FuzzDecodeIndex(f *testing.F) {
	for _, entries := range [][][]byte{{[]byte("a")}, {bytes.Repeat([]byte("x"), blockSize), {}, []byte("b")}} {
		medium := objects{}
		write(f, medium, entries)
		raw := medium[orders.index()]
		f.Add(raw[:len(raw)-checksumSize])
	}
	f.Add([]byte{})
	ledger := Ledger{ID: 1, Entries: 3}
	overflowing := index{ledger, []block{{0, dataHeaderSize}, {5, 108}, {math.MinInt64 + 2, 60}, {-1, 12}}}.append(nil)
	f.Add(overflowing[:len(overflowing)-checksumSize])
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
		x, err := decodeIndex(raw)
		if err != nil {
			return
		}
		if again := x.append(nil); !bytes.Equal(again[:6], raw[:6]) || !bytes.Equal(again[8:len(again)-checksumSize], body[8:]) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", raw, x, again)
		}
		for i, one := range x.blocks {
			if at := x.blockOf(one.first); at != i {
				t.Fatalf("the first entry of block %d is said to be in block %d", i, at)
			}
			if next := x.after(i); next.offset < one.offset || next.offset > x.ledger.dataSize() {
				t.Fatalf("block %d is from byte %d to byte %d of %d", i, one.offset, next.offset, x.ledger.dataSize())
			}
		}
	})
}

func FuzzDecodeFrame(f *testing.F) {
	f.Add(appendFrame(nil, 12, 3, []byte("payload")), int64(12), int64(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, int64(0), int64(0))
	f.Fuzz(func(t *testing.T, raw []byte, ledger, entry int64) {
		payload, rest, err := decodeFrame(raw, ledger, entry)
		if err != nil {
			return
		}
		if again := append(appendFrame(nil, ledger, entry, payload), rest...); !bytes.Equal(again, raw) {
			t.Fatalf("%x decodes to %x and %x", raw, payload, rest)
		}
	})
}
