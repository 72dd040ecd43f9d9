package labs

import (
	"bytes"
	"errors"
	"fmt"
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
