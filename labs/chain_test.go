package labs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func log(student string, count int) (entries []Entry, head Head) {
	var last Entry
	for i := range count {
		entry := Entry{Student: student, At: time.Unix(int64(i), 7).UTC(), Kind: EntryCheck, Attempt: []byte(fmt.Sprintf(`{"lab":"<%d>"}`, i))}
		last = entry.Follow(last)
		entries = append(entries, last)
	}
	return entries, Head{student, last.Number, last.Hash}
}

func TestAFileOfProgressComesBackAsItWas(t *testing.T) {
	ada, adasHead := log("ada", 3)
	lin, linsHead := log("lin", 2)
	var file bytes.Buffer
	if err := WriteProgress(&file, []Head{adasHead, linsHead}, append(ada, lin...)); err != nil {
		t.Fatal(err)
	}
	heads, entries, err := ReadProgress(bytes.NewReader(file.Bytes()))
	if err != nil || len(heads) != 2 || len(entries) != 5 {
		t.Fatalf("%d heads, %d entries, %v", len(heads), len(entries), err)
	}
	lines := strings.SplitAfter(file.String(), "\n")
	for name, c := range map[string]struct{ file, want string }{
		"changed":            {strings.Replace(file.String(), "<1>", "<9>", 1), "entry 2 of ada was changed"},
		"removed":            {strings.Replace(file.String(), lines[2], "", 1), "entry 2 of ada is missing"},
		"removed at the end": {strings.Replace(file.String(), lines[3], "", 1), "the last 1 of 3 are missing"},
		"swapped":            {lines[0] + lines[2] + lines[1] + strings.Join(lines[3:], ""), "entry 1 of ada is missing"},
		"of nobody":          {strings.ReplaceAll(file.String(), `{"student":"lin","number":1,"at"`, `{"student":"eve","number":1,"at"`), "belongs to nobody"},
		"no entry":           {lines[0] + "nonsense\n", "line 2 is no entry"},
		"no file":            {"nonsense", "no file of progress"},
	} {
		if _, _, err := ReadProgress(strings.NewReader(c.file)); !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// endless gives the same line again and again.
type endless struct{ line string }

func (e endless) Read(into []byte) (n int, err error) {
	for n+len(e.line) <= len(into) {
		n += copy(into[n:], e.line)
	}
	if n == 0 {
		n = copy(into, e.line)
	}
	return n, nil
}

// failing gives a text, and then an error that is not its end.
type failing struct {
	text io.Reader
	err  error
}

func (f failing) Read(into []byte) (int, error) {
	n, err := f.text.Read(into)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

func TestAFileThatIsCutOffIsNotTakenForABrokenOne(t *testing.T) {
	ada, head := log("ada", 2)
	var file bytes.Buffer
	if err := WriteProgress(&file, []Head{head}, ada); err != nil {
		t.Fatal(err)
	}
	gone := errors.New("the connection is gone")
	cut := func(at int) io.Reader { return failing{bytes.NewReader(file.Bytes()[:at]), gone} }
	first := bytes.IndexByte(file.Bytes(), '\n') + 1
	for name, c := range map[string]struct {
		file io.Reader
		want error
	}{
		"cut off in its first line": {cut(first / 2), gone},
		"cut off in an entry":       {cut(first + 20), gone},
		"cut off between entries":   {cut(first), gone},
		"too large":                 {io.MultiReader(bytes.NewReader(file.Bytes()), endless{strings.Repeat(" ", 32<<10-1) + "\n"}), ErrTooLarge},
		"a line that is too long":   {io.MultiReader(bytes.NewReader(file.Bytes()), endless{strings.Repeat(" ", 32<<10)}), ErrTooLarge},
		"one long line":             {endless{"{"}, ErrTooLarge},
	} {
		if _, _, err := ReadProgress(c.file); !errors.Is(err, c.want) || errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestAFileThatIsTooLargeToBeReadIsNotWritten(t *testing.T) {
	attempt := func(size int) []byte { return []byte(`"` + strings.Repeat("x", size) + `"`) }
	large := Entry{Student: "ada", Attempt: attempt(maxEntryBytes - 1<<10)}
	for name, entries := range map[string][]Entry{
		"one entry":   {{Student: "ada", Attempt: attempt(maxEntryBytes)}},
		"all of them": slices.Repeat([]Entry{large}, LargestProgress/len(large.Attempt)+1),
	} {
		var file bytes.Buffer
		if err := WriteProgress(&file, []Head{{Student: "ada"}}, entries); !errors.Is(err, ErrTooLarge) || file.Len() > 0 {
			t.Errorf("%s: %d bytes were written, %v", name, file.Len(), err)
		}
	}
}

func TestAnAnswerThatIsTooLargeIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.CopyN(w, endless{strings.Repeat(" ", 32<<10)}, LargestProgress+1)
	}))
	defer server.Close()
	api := API{Base: server.URL, Client: server.Client()}
	if answer, err := api.Send(t.Context(), http.MethodGet, "progress", http.NoBody); err == nil || !strings.Contains(err.Error(), "over 64 MiB") {
		t.Errorf("%d bytes, %v; want a refusal", len(answer), err)
	}
}
