package offloaded

import (
	"bytes"
	"context"
	"fmt"
	"io"
)

// Medium is where objects are kept; package media has some. Its methods may run at the same time.
type Medium interface {
	// Put keeps all of content, durably when it returns, or, after an error, nothing. It replaces what has the name.
	Put(ctx context.Context, name string, content io.Reader, size int64) error
	// ReadAt reads as an io.ReaderAt does.
	ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error)
	Size(ctx context.Context, name string) (int64, error)
	// Remove removes an object; one that is not there is no error.
	Remove(ctx context.Context, name string) error
	// RemoveUnfinished removes what interrupted Puts under prefix have left.
	RemoveUnfinished(ctx context.Context, prefix string) error
}

// Source gives the entries first to last, or the first of them when that is enough to be going on with.
type Source func(ctx context.Context, first, last int64) (payloads [][]byte, err error)

const (
	// readBytes is about how much of the ledger is in memory while it is written.
	readBytes = 1 << 20
	// readEntries bounds the entries that a source is asked for at once.
	readEntries = 512
)

// Write puts a sealed ledger on the medium, the data and then the index, and returns how many bytes that are. After an error there may be
// rests, for Remove.
func Write(ctx context.Context, medium Medium, name Name, ledger Ledger, source Source) (int64, error) {
	if ledger.Entries < 1 {
		return 0, fmt.Errorf("offload ledger %d: it has no entries", ledger.ID)
	}
	content := &content{ctx: ctx, ledger: ledger, source: source, next: 0}
	content.buffer = appendDataHeader(nil, ledger)
	content.offset = dataHeaderSize
	if err := medium.Put(ctx, name.String(), content, ledger.dataSize()); err != nil {
		return 0, fmt.Errorf("offload ledger %d: %w", ledger.ID, err)
	}
	size, err := medium.Size(ctx, name.String())
	if err == nil && size != ledger.dataSize() {
		err = fmt.Errorf("the medium has %d of its %d bytes", size, ledger.dataSize())
	}
	encoded := index{ledger: ledger, blocks: content.blocks}.append(nil)
	if err == nil {
		err = medium.Put(ctx, name.index(), bytes.NewReader(encoded), int64(len(encoded)))
	}
	if err != nil {
		return 0, fmt.Errorf("offload ledger %d: %w", ledger.ID, err)
	}
	return size + int64(len(encoded)), nil
}

// content is the data as a stream: entries are read as the medium takes them, and the index comes about on the way.
type content struct {
	ctx    context.Context
	ledger Ledger
	source Source

	next   int64 // entry to ask for
	offset int64 // of the next entry in the data
	blocks []block
	buffer []byte // what the medium has not taken yet, from taken on
	taken  int
}

func (c *content) Read(p []byte) (int, error) {
	if c.taken == len(c.buffer) {
		if c.next == c.ledger.Entries {
			return 0, io.EOF
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.buffer[c.taken:])
	c.taken += n
	return n, nil
}

// fill reads the next entries.
func (c *content) fill() error {
	average := c.ledger.Bytes/c.ledger.Entries + frameHeaderSize
	count := min(readEntries, max(1, readBytes/average), c.ledger.Entries-c.next)
	payloads, err := c.source(c.ctx, c.next, c.next+count-1)
	if err != nil {
		return err
	}
	if len(payloads) == 0 || int64(len(payloads)) > count {
		return fmt.Errorf("%d entries came where entries %d to %d were asked for", len(payloads), c.next, c.next+count-1)
	}
	c.buffer, c.taken = c.buffer[:0], 0
	for _, payload := range payloads {
		if len(payload) > maxPayload {
			return fmt.Errorf("entry %d has %d bytes, more than the %d that an offloaded one can have", c.next, len(payload), maxPayload)
		}
		if last := len(c.blocks) - 1; last < 0 || c.offset-c.blocks[last].offset >= blockSize {
			c.blocks = append(c.blocks, block{first: c.next, offset: c.offset})
		}
		c.buffer = appendFrame(c.buffer, c.ledger.ID, c.next, payload)
		c.offset += frameHeaderSize + int64(len(payload))
		c.next++
	}
	return nil
}

// Remove removes an attempt's objects, whole or not. Objects that are not there are no error. The index goes first, so that there is never
// one without its data.
func Remove(ctx context.Context, medium Medium, name Name) error {
	err := medium.RemoveUnfinished(ctx, name.String())
	for _, object := range []string{name.index(), name.String()} {
		if err == nil {
			err = medium.Remove(ctx, object)
		}
	}
	if err != nil {
		return fmt.Errorf("remove offloaded ledger %d: %w", name.Ledger, err)
	}
	return nil
}
