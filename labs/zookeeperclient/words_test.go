package zookeeperclient

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"
)

func TestTellsWhatIsMissing(t *testing.T) {
	for _, wrong := range []struct{ typed, told string }{
		{"--server localhost ls /", "HOST:PORT"},
		{"--server a:1,:2 ls /", "HOST:PORT"},
		{"list /", "ls, get, stat"},
		{"ls", "ls [-s] [-w] [-R] PATH"},
		{"ls brokers", "a path begins with /"},
		{"ls -R -w /", "neither with -s nor with -w"},
		{"get -x /", "get [-s] [-w] PATH"},
		{"getAcl -w /", "getAcl [-s] PATH"},
		{"set /a", "set [-s] [-v VERSION] PATH DATA"},
		{"set /a two words", "in quotes"},
		{"set -v many /a b", "set [-s] [-v VERSION]"},
		{"create -c -e /a", "a container is nothing else"},
		{"create -t -1 /a", "milliseconds"},
		{"create /a b world:anyone", "SCHEME:ID:PERMISSIONS"},
		{"setAcl /a world:anyone:rx", "permissions are of c, d, r, w, a"},
		{"deleteall /", "both clusters"},
		{"addWatch /a", "get -w"},
	} {
		command := Command()
		command.SetArgs(strings.Fields(wrong.typed))
		command.SilenceErrors, command.SilenceUsage = true, true
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), wrong.told) {
			t.Errorf("%s: %v; %q was to be told", wrong.typed, err, wrong.told)
		}
	}
}

func TestEveryWordIsExplained(t *testing.T) {
	for _, word := range words {
		if word.about == "" || !strings.Contains(help(), "  "+word.usage+" ") {
			t.Errorf("help does not tell %s", word.name())
		}
	}
}

func TestSplit(t *testing.T) {
	for _, line := range []struct {
		text  string
		words []string
	}{
		{"", nil},
		{"  ls \t /a\r", []string{"ls", "/a"}},
		{`create /a "two words"`, []string{"create", "/a", "two words"}},
		{`set /a '{"x": 1}'`, []string{"set", "/a", `{"x": 1}`}},
		{`set /a ""`, []string{"set", "/a", ""}},
		{`set /a x"y z"`, []string{"set", "/a", "xy z"}},
	} {
		if found, err := split(line.text); err != nil || !slices.Equal(found, line.words) {
			t.Errorf("%q: %q, %v; want %q", line.text, found, err, line.words)
		}
	}
	if _, err := split(`create /a "open`); err == nil || !strings.Contains(err.Error(), "not closed") {
		t.Error(err)
	}
}

func TestParseACL(t *testing.T) {
	found, err := parseACL("world:anyone:r,digest:user:hash=:cdrwa")
	want := []zk.ACL{{Perms: zk.PermRead, Scheme: "world", ID: "anyone"}, {Perms: zk.PermAll, Scheme: "digest", ID: "user:hash="}}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v, %v", found, err)
	}
}

// A wrong line does not end a session: the next one counts. None of these needs a server.
func TestWrongLinesAreToldAndOver(t *testing.T) {
	var out bytes.Buffer
	at := console{in: strings.NewReader("nonsense\n\nget\n\"open\nhelp\nquit\nls /\n"), out: &out}
	if err := run(t.Context(), []string{"127.0.0.1:1"}, nil, at); err != nil {
		t.Fatal(err)
	}
	want := []string{`"nonsense" is no command`, "get: it is get [-s] [-w] PATH", `a " is not closed`, "Commands:"}
	for _, line := range want {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not told in\n%s", line, out.String())
		}
	}
}

func TestPrintable(t *testing.T) {
	for _, data := range []struct {
		bytes []byte
		text  string
	}{{nil, "null"}, {[]byte("v1"), "v1"}, {[]byte("多\n行"), "多\n行"}, {[]byte{0, 1}, `"\x00\x01"`}, {[]byte("\x1b[2J"), `"\x1b[2J"`}, {[]byte("\u009b2J"), `"\u009b2J"`}} {
		if found := printable(data.bytes); found != data.text {
			t.Errorf("%q: %s, want %s", data.bytes, found, data.text)
		}
	}
}
