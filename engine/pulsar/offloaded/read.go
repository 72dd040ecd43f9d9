package offloaded

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// maxRead bounds what one read fetches, unless a single block is larger.
const maxRead = 4 << 20

// Reader reads an offloaded ledger. Any number of goroutines may use it.
type Reader struct {
	medium Medium
	name   Name
	index  index
}

// Open reads a ledger's index. ErrDamaged; fs.ErrNotExist when there is none, and so no whole ledger.
func Open(ctx context.Context, medium Medium, name Name) (*Reader, error) {
	x, err := readIndex(ctx, medium, name)
	if err != nil {
		return nil, fmt.Errorf("open offloaded ledger %d: %s: %w", name.Ledger, name.index(), err)
	}
	return &Reader{medium: medium, name: name, index: x}, nil
}

func readIndex(ctx context.Context, medium Medium, name Name) (index, error) {
	size, err := medium.Size(ctx, name.index())
	if err != nil {
		return index{}, err
	}
	if size > maxIndex {
		return index{}, damaged("%d bytes are too many for an index", size)
	}
	raw := make([]byte, size)
	if err := readWhole(ctx, medium, name.index(), raw, 0); err != nil {
		return index{}, err
	}
	x, err := decodeIndex(raw)
	if err == nil && x.ledger.ID != name.Ledger {
		err = damaged("it is the index of ledger %d", x.ledger.ID)
	}
	return x, err
}

// readWhole fills p, or says that the object ends before.
func readWhole(ctx context.Context, medium Medium, name string, p []byte, offset int64) error {
	n, err := medium.ReadAt(ctx, name, p, offset)
	if n == len(p) && (err == nil || errors.Is(err, io.EOF)) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return damaged("it ends at byte %d", offset+int64(n))
	}
	return err
}

// Ledger is what the medium has.
func (r *Reader) Ledger() Ledger { return r.index.ledger }

// Read reads the entries first to last, or the first of them when they are much: one ranged read of the medium. The payloads share memory.
// ErrDamaged: nothing of what was read is served.
func (r *Reader) Read(ctx context.Context, first, last int64) (payloads [][]byte, err error) {
	if first < 0 || last < first || last >= r.index.ledger.Entries {
		return nil, fmt.Errorf("offloaded ledger %d has entries 0 to %d, not %d to %d", r.name.Ledger, r.index.ledger.Entries-1, first, last)
	}
	from, to := r.index.blockOf(first), r.index.blockOf(last)
	begin := r.index.blocks[from]
	for to > from && r.index.after(to).offset-begin.offset > maxRead {
		to--
	}
	end := r.index.after(to)
	last = min(last, end.first-1)
	raw := make([]byte, end.offset-begin.offset)
	err = readWhole(ctx, r.medium, r.name.String(), raw, begin.offset)
	if err == nil {
		payloads, err = r.decode(raw, begin.first, end.first, first, last)
	}
	if err != nil {
		return nil, fmt.Errorf("read offloaded ledger %d: %s from byte %d on: %w", r.name.Ledger, r.name, begin.offset, err)
	}
	return payloads, nil
}

// decode takes the entries first to last out of whole blocks, which have the entries from entry up to end and nothing else.
func (r *Reader) decode(raw []byte, entry, end, first, last int64) (payloads [][]byte, err error) {
	for ; entry < end; entry++ {
		var payload []byte
		if payload, raw, err = decodeFrame(raw, r.index.ledger.ID, entry); err != nil {
			return nil, err
		}
		if entry >= first && entry <= last {
			payloads = append(payloads, payload)
		}
	}
	if len(raw) > 0 {
		return nil, damaged("there are %d bytes too many before entry %d", len(raw), end)
	}
	return payloads, nil
}

// Verify reads everything once. ErrDamaged: the ledger must not be the only copy.
func (r *Reader) Verify(ctx context.Context) error {
	header := make([]byte, dataHeaderSize)
	err := readWhole(ctx, r.medium, r.name.String(), header, 0)
	if err == nil {
		err = checkDataHeader(header, r.index.ledger)
	}
	if err != nil {
		return fmt.Errorf("verify offloaded ledger %d: %s: %w", r.name.Ledger, r.name, err)
	}
	for entry := int64(0); entry < r.index.ledger.Entries; {
		payloads, err := r.Read(ctx, entry, r.index.ledger.Entries-1)
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		entry += int64(len(payloads))
	}
	return nil
}
