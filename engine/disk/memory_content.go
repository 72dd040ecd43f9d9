package disk

import (
	"bytes"
	"math/rand/v2"
	"time"
)

// content is a file's bytes: as they are, and the way from what is durable to there. The disk's lock guards it.
type content struct {
	now      []byte
	durable  []byte
	unsynced []contentChange // oldest first
	modified time.Time
}

// contentChange is a write, or a change of the size alone.
type contentChange struct {
	data   []byte // nil: a truncation or extension to offset
	offset int64
}

func (c *content) write(p []byte, offset int64) {
	data := bytes.Clone(p)
	if data == nil {
		return
	}
	c.now = writeInto(c.now, data, offset)
	c.unsynced = append(c.unsynced, contentChange{data: data, offset: offset})
	c.modified = time.Now()
}

func (c *content) truncate(size int64) {
	c.now = resize(c.now, size)
	c.unsynced = append(c.unsynced, contentChange{offset: size})
	c.modified = time.Now()
}

func (c *content) sync() {
	for _, change := range c.unsynced {
		change.apply(c)
	}
	c.unsynced = nil
}

// apply makes the change durable.
func (change contentChange) apply(c *content) {
	if change.data == nil {
		c.durable = resize(c.durable, change.offset)
		return
	}
	c.durable = writeInto(c.durable, change.data, change.offset)
}

// crash leaves what a power cut would: each unsynced write is whole, absent or torn, each change of size happened or did not. Bytes
// that a survivor's size covers but nobody wrote are zero.
func (c *content) crash(random *rand.Rand) {
	for _, change := range c.unsynced {
		switch random.IntN(3) {
		case 0:
			change.apply(c)
		case 1: // lost
		default:
			change.tear(c, random)
		}
	}
	c.unsynced = nil
	c.now = bytes.Clone(c.durable)
}

// tear lets each sector of a write survive or not.
func (change contentChange) tear(c *content, random *rand.Rand) {
	if change.data == nil {
		if random.IntN(2) == 0 {
			change.apply(c)
		}
		return
	}
	for start := int64(0); start < int64(len(change.data)); {
		end := min(start+sectorBytes-(change.offset+start)%sectorBytes, int64(len(change.data)))
		if random.IntN(2) == 0 {
			c.durable = writeInto(c.durable, change.data[start:end], change.offset+start)
		}
		start = end
	}
}

func writeInto(bytes, data []byte, offset int64) []byte {
	if end := offset + int64(len(data)); end > int64(len(bytes)) {
		bytes = resize(bytes, end)
	}
	copy(bytes[offset:], data)
	return bytes
}

// resize cuts or extends with zeros. Bytes beyond the length are never trusted to be zero: they may be left from before a cut.
func resize(bytes []byte, size int64) []byte {
	if size <= int64(len(bytes)) {
		return bytes[:size]
	}
	return append(bytes, make([]byte, size-int64(len(bytes)))...)
}
