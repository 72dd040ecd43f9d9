package pulsarclient

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTellsWhatIsMissing(t *testing.T) {
	for _, wrong := range []struct{ typed, told string }{
		{"produce", "name one topic"},
		{"produce orders hello world", "in quotes"},
		{"consume orders", "name the subscription with -s"},
		{"consume orders -s readers -t Many", "-t is Exclusive, Shared, Failover or Key_Shared"},
		{"consume orders -s readers -p First", "-p is Latest or Earliest"},
		{"consume orders -s readers -n -1", "-n is 0"},
		{"--url localhost:6650 produce orders -m hello", "it looks like pulsar://127.0.0.1:6650"},
		{"produce orders -m hello -n 0", "-n is at least 1"},
	} {
		command := Command()
		command.SetArgs(strings.Fields(wrong.typed))
		command.SilenceErrors, command.SilenceUsage = true, true
		if err := command.Execute(); err == nil || !strings.Contains(err.Error(), wrong.told) {
			t.Errorf("%s: %v; %q was to be told", wrong.typed, err, wrong.told)
		}
	}
}

func TestEach(t *testing.T) {
	for _, asked := range []struct {
		sending
		sent []string
	}{
		{sending{times: 2, messages: []string{"a,b", "c"}}, []string{"a,b", "c", "a,b", "c"}},
		{sending{times: 1}, []string{"one", "", "two"}},
	} {
		var sent []string
		if err := asked.each(strings.NewReader("one\n\ntwo\n"), func(text string) error { sent = append(sent, text); return nil }); err != nil || !slices.Equal(sent, asked.sent) {
			t.Errorf("%+v: sent %q, %v; want %q", asked.sending, sent, err, asked.sent)
		}
	}
	refused := errors.New("refused")
	if err := (sending{}).each(strings.NewReader(strings.Repeat("x", longestLine+1)), func(string) error { return nil }); err == nil {
		t.Error("a line that no broker takes was sent")
	}
	if err := (sending{}).each(strings.NewReader("one\n"), func(string) error { return refused }); !errors.Is(err, refused) {
		t.Errorf("%v; want %v", err, refused)
	}
}
