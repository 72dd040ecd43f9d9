package labs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
)

const usualPage = "http://127.0.0.1:7700"

// Command is `twinlog lab …`: the labs from a terminal. It talks to the page of a running `twinlog up`.
func Command(authoring ...*cobra.Command) *cobra.Command {
	client := &remote{api: API{Client: &http.Client{Timeout: actionTimeout + 10*time.Second}}}
	command := &cobra.Command{Use: "lab", Short: "Do the guided labs from a terminal", Long: "Do the guided labs from a terminal. LAB is a lab's id or its number: 01-first-messages or 01."}
	flags := command.PersistentFlags()
	flags.StringVar(&client.api.Base, "url", usualPage, "where the page of the running classroom is")
	flags.StringVar(&client.api.Token, "token", "", "the teacher's token, where the page asks for it")
	flags.StringVar(&client.language, "lang", "en", "language of the texts: en or zh")
	flags.BoolVar(&client.json, "json", false, "print JSON, for programs")
	command.AddCommand(authoring...)
	flags.StringVar(&client.student, "student", Alone, "your name, for values of your own and a log of your own")
	command.AddCommand(
		client.command("export FILE", "Write what was done in the labs to one file", 1, client.export),
		client.command("import FILE", "Verify such a file and merge it", 1, client.importFile),
		client.command("list", "List the labs", 0, func(ctx context.Context, out io.Writer, _ string) error { return client.list(ctx, out) }),
		client.command("start LAB", "Set the lab up and begin an attempt", 1, func(ctx context.Context, out io.Writer, id string) error {
			return client.attempt(ctx, out, catalogue.ID(id), "start")
		}),
		client.command("check LAB", "Check every task; exit status 1 when one has not passed", 1, func(ctx context.Context, out io.Writer, id string) error {
			return client.check(ctx, out, catalogue.ID(id))
		}),
		client.command("solve LAB", "Play the solution on the running clusters", 1, func(ctx context.Context, out io.Writer, id string) error {
			return client.attempt(ctx, out, catalogue.ID(id), "solve")
		}),
		client.command("reset LAB", "Undo what was done: set the lab up again", 1, func(ctx context.Context, out io.Writer, id string) error {
			return client.attempt(ctx, out, catalogue.ID(id), "reset")
		}),
	)
	return command
}

// ErrNotPassed ends `twinlog lab check` when a task has not passed.
type ErrNotPassed struct{ Passed, Tasks int }

func (e ErrNotPassed) Error() string { return fmt.Sprintf("%d of %d tasks passed", e.Passed, e.Tasks) }

type remote struct {
	api               API
	language, student string
	json              bool
}

func (r *remote) command(use, short string, arguments int, run func(ctx context.Context, out io.Writer, id string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(arguments), SilenceUsage: true,
		RunE: func(command *cobra.Command, args []string) error {
			return run(command.Context(), command.OutOrStdout(), strings.Join(args, ""))
		},
	}
}

// call sends one request and decodes the answer; a problem's message becomes the error.
func (r *remote) call(ctx context.Context, method, path string, into any) ([]byte, error) {
	path = "labs" + path + "?lang=" + url.QueryEscape(r.language) + "&student=" + url.QueryEscape(r.student)
	body, err := r.api.Send(ctx, method, path, http.NoBody)
	if err != nil {
		return nil, err
	}
	return body, json.Unmarshal(body, into)
}

func (r *remote) list(ctx context.Context, out io.Writer) error {
	var answer struct{ Labs []Summary }
	body, err := r.call(ctx, http.MethodGet, "", &answer)
	if err != nil || r.printJSON(out, body) {
		return err
	}
	words := r.words()
	for _, l := range answer.Labs {
		state := words.fresh
		if l.Passed {
			state = words.verdicts[lab.Passed]
		} else if l.Started {
			state = words.started
		}
		fmt.Fprintf(out, "%-24s %s %3d %s  %s\n", l.ID, padded(state, 8), l.Minutes, words.minutes, l.Title)
	}
	return nil
}

func (r *remote) printJSON(out io.Writer, body []byte) bool {
	if r.json {
		fmt.Fprintf(out, "%s\n", bytes.TrimSpace(body))
	}
	return r.json
}

func (r *remote) attempt(ctx context.Context, out io.Writer, id, verb string) error {
	var attempt Attempt
	body, err := r.call(ctx, http.MethodPost, "/"+url.PathEscape(id)+"/"+verb, &attempt)
	if err != nil || r.printJSON(out, body) {
		return err
	}
	words := r.words()
	fmt.Fprintf(out, "%s twinlog lab check %s%s\n", words.done[verb], id, r.flags())
	return nil
}

// flags are those that the next command needs too. The token is not repeated: it would stay in sight.
func (r *remote) flags() (flags string) {
	if r.api.Base != usualPage {
		flags += " --url " + quoted(r.api.Base)
	}
	if r.language != "en" {
		flags += " --lang " + quoted(r.language)
	}
	if r.student != "" && r.student != Alone {
		flags += " --student " + quoted(r.student)
	}
	return flags
}

// quoted is a word as a shell takes it for one: in single quotes where it needs them.
func quoted(word string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:@", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// progress sends a request about the log of progress.
func (r *remote) progress(ctx context.Context, method string, body io.Reader) ([]byte, error) {
	path := "progress"
	if method == http.MethodGet && r.student != Alone {
		path += "?student=" + url.QueryEscape(r.student)
	}
	return r.api.Send(ctx, method, path, body)
}

func (r *remote) export(ctx context.Context, out io.Writer, name string) error {
	file, err := r.progress(ctx, http.MethodGet, http.NoBody)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name, file, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d entries\n", name, max(0, bytes.Count(file, []byte("\n"))-1))
	return nil
}

func (r *remote) importFile(ctx context.Context, out io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	body, err := r.progress(ctx, http.MethodPost, file)
	if err != nil || r.printJSON(out, body) {
		return err
	}
	var imported Imported
	if err := json.Unmarshal(body, &imported); err != nil {
		return err
	}
	for _, student := range imported.Students {
		fmt.Fprintf(out, "%s: %d entries, %d of them new\n", student.Student, student.Entries, student.Added)
	}
	return nil
}

func (r *remote) check(ctx context.Context, out io.Writer, id string) error {
	var detail Detail
	if _, err := r.call(ctx, http.MethodGet, "/"+url.PathEscape(id), &detail); err != nil {
		return err
	}
	var attempt Attempt
	body, err := r.call(ctx, http.MethodPost, "/"+url.PathEscape(id)+"/check", &attempt)
	if err != nil {
		return err
	}
	if !r.printJSON(out, body) {
		r.printVerdicts(out, detail, attempt)
	}
	passed := 0
	for _, verdict := range attempt.Verdicts {
		if verdict.Verdict == lab.Passed {
			passed++
		}
	}
	if passed < len(attempt.Verdicts) {
		return ErrNotPassed{passed, len(attempt.Verdicts)}
	}
	return nil
}

func (r *remote) printVerdicts(out io.Writer, detail Detail, attempt Attempt) {
	titles := map[string]string{}
	for _, task := range detail.Tasks {
		titles[task.ID] = task.Title
	}
	words := r.words()
	for _, verdict := range attempt.Verdicts {
		fmt.Fprintf(out, "%s %s\n", padded(words.verdicts[verdict.Verdict], verdictWidth), titles[verdict.Task])
		if verdict.Verdict == lab.Passed || verdict.Verdict == lab.Waiting {
			continue
		}
		line := func(name, text string) { fmt.Fprintf(out, "%*s %s %s\n", verdictWidth, "", name, text) }
		line(words.expected, verdict.Expected)
		line(words.observed, verdict.Observed)
		if verdict.Event != 0 {
			line(words.decided, fmt.Sprint(verdict.Event))
		}
		for _, hint := range verdict.Hints {
			line(words.hint, hint)
		}
	}
}
