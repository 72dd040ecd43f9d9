package dump

import (
	"bytes"
	"io"
	"testing"
)

// FuzzFiles puts any bytes in words as each kind of file that there is: they may be damaged, or half written.
func FuzzFiles(f *testing.F) {
	names := []string{
		"orders-0/00000000000000000000.log", "__consumer_offsets-3/00000000000000000000.log", "raft/00000000000000000000.log",
		"journal/00000000000000000000.log", "entrylog/00000000000000000000/00000000000000000000.log", "a/00000000000000000000.index",
		"a/00000000000000000000.timeindex", "a/start", "a/durable", "a/moved", "a/0-5.swap", "ensemble/promise", "ensemble/nonce", "ensemble/snapshot-0000000000000005",
		"VERSION", "meta.properties", "recovery-point-offset-checkpoint", "leader-epoch-checkpoint", "ledgers.index",
	}
	for i := range names {
		f.Add(uint8(i), int64(0), make([]byte, 64))
		f.Add(uint8(i), int64(1), []byte("0\n1\na 0 5\n"))
	}
	f.Fuzz(func(t *testing.T, kind uint8, at int64, content []byte) {
		name := names[int(kind)%len(names)]
		file := bytes.NewReader(content)
		_ = printFile(io.Discard, source{file, name, int64(len(content))})
		page, err := Read(file, name, int64(len(content)), 0)
		for err == nil && page.Next > 0 {
			next := page.Next
			if page, err = Read(file, name, int64(len(content)), next); err == nil && page.Next > 0 && page.Next <= next {
				t.Fatalf("after the page at %d comes the one at %d", next, page.Next)
			}
		}
		_, _ = Read(file, name, int64(len(content)), at)
		_, _ = Open(file, name, int64(len(content)), at)
	})
}
