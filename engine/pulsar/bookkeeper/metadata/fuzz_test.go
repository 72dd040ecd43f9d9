package metadata_test

import (
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
