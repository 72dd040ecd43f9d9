package metadata

import (
	"fmt"
	"strconv"
	"strings"
)

// Cookie ties a bookie's name to its disk and to a cluster: the same text lies in ZooKeeper and on the disk. A bookie whose two
// cookies differ has the wrong disk (or the wrong cluster, or no disk any more) and must not serve: it would answer "no such entry"
// for entries that it once acknowledged.
type Cookie struct {
	Bookie     string // host:port
	JournalDir string
	LedgerDirs string // count, tab, directories separated by tabs, as BookKeeper writes it
	InstanceID string
}

// cookieVersion opens the text.
const cookieVersion = "5\n"

// Encode is the text: proto text format, as BookKeeper writes it.
func (c Cookie) Encode() string {
	return cookieVersion +
		"bookieHost: " + strconv.Quote(c.Bookie) + "\n" +
		"journalDir: " + strconv.Quote(c.JournalDir) + "\n" +
		"ledgerDirs: " + strconv.Quote(c.LedgerDirs) + "\n" +
		"instanceId: " + strconv.Quote(c.InstanceID) + "\n"
}

// DecodeCookie reads the text.
func DecodeCookie(text string) (Cookie, error) {
	rest, found := strings.CutPrefix(text, cookieVersion)
	if !found {
		return Cookie{}, fmt.Errorf("cookie does not begin with version 5")
	}
	var c Cookie
	for line := range strings.Lines(rest) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		text, err := strconv.Unquote(strings.TrimSpace(value))
		if name == "" {
			continue
		}
		if err != nil {
			return Cookie{}, fmt.Errorf("cookie line %q: %w", line, err)
		}
		switch name {
		case "bookieHost":
			c.Bookie = text
		case "journalDir":
			c.JournalDir = text
		case "ledgerDirs":
			c.LedgerDirs = text
		case "instanceId":
			c.InstanceID = text
		}
	}
	return c, nil
}
