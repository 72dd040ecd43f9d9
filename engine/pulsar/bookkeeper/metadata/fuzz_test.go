package metadata_test

import (
	"slices"
	"testing"

	"twinlog/engine/pulsar/bookkeeper/metadata"
)

// FuzzCookie: what is read of a cookie is what its text says, whoever wrote it.
func FuzzCookie(f *testing.F) {
	f.Add(metadata.Cookie{Bookie: "127.0.0.1:3181", JournalDir: "journal", LedgerDirs: "1\tentrylog", InstanceID: "a-b"}.Encode())
	f.Add("5\nbookieHost: \"a\\\"b\"\n\nsomething: \"else\"\n")
	f.Add("4\n")
	f.Fuzz(func(t *testing.T, text string) {
		cookie, err := metadata.DecodeCookie(text)
		if err != nil {
			return
		}
		if again, err := metadata.DecodeCookie(cookie.Encode()); err != nil || again != cookie {
			t.Errorf("%+v reads again as %+v, %v", cookie, again, err)
		}
	})
}

// FuzzMark: what is read of a mark is what its text says.
func FuzzMark(f *testing.F) {
	f.Add("replica: \"127.0.0.1:3181\"\nreplica: \"127.0.0.1:3182\"\nctime: 1700000000123\n")
	f.Add("replica: \"a\\\"b\"\n\nsomething: 7\n")
	f.Add("ctime: now\n")
	f.Fuzz(func(t *testing.T, text string) {
		mark, err := metadata.DecodeMark(text)
		if err != nil {
			return
		}
		again, err := metadata.DecodeMark(mark.Encode())
		if err != nil || !slices.Equal(again.Replicas, mark.Replicas) || !again.Created.Equal(mark.Created) {
			t.Errorf("%+v reads again as %+v, %v", mark, again, err)
		}
	})
}
