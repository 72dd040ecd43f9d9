package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

var (
	labName  = regexp.MustCompile(`^[0-9]{2}-[a-z0-9-]+$`)
	taskName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
)

// LoadAll loads every lab of a catalogue, by name. Its errors name the file and, where the file's form is at fault, the line.
func LoadAll(catalogue fs.FS) ([]*Lab, error) {
	entries, err := fs.ReadDir(catalogue, ".")
	if err != nil {
		return nil, err
	}
	var labs []*Lab
	var problems []error
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		loaded, err := Load(catalogue, entry.Name())
		labs, problems = append(labs, loaded), append(problems, err)
	}
	return labs, errors.Join(problems...)
}

// Load loads the lab in one folder of a catalogue: lab.yaml, en.md, zh.md.
func Load(catalogue fs.FS, id string) (*Lab, error) {
	name := path.Join(id, "lab.yaml")
	content, err := fs.ReadFile(catalogue, name)
	if err != nil {
		return nil, err
	}
	loaded := &Lab{ID: id, Body: Text{}}
	if err := yaml.UnmarshalWithOptions(content, loaded, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Where a line of Chinese is broken in the file, no gap must be seen.
	chinese := extension.NewCJK(extension.WithEastAsianLineBreaks(extension.EastAsianLineBreaksCSS3Draft))
	markdown := goldmark.New(goldmark.WithExtensions(extension.Table, chinese))
	for _, language := range Languages {
		text, err := fs.ReadFile(catalogue, path.Join(id, language+".md"))
		if err != nil {
			return nil, err
		}
		var html bytes.Buffer
		if unknown := unknownPlaceholder(text); unknown != "" {
			return nil, fmt.Errorf("%s: %s is not one of %s", path.Join(id, language+".md"), unknown, strings.Join(placeholders, ", "))
		}
		if err := markdown.Convert(text, &html); err != nil {
			return nil, fmt.Errorf("%s: %w", path.Join(id, language+".md"), err)
		}
		loaded.Body[language] = html.String()
	}
	if err := loaded.check(content); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return loaded, nil
}

// What a text may hold in the place of an address of the classroom that it is read in.
const (
	KafkaPlaceholder    = "{{kafka}}"        // host:port of the Kafka-mode brokers, with commas
	PulsarPlaceholder   = "{{pulsar}}"       // pulsar://host:port,host:port of the Pulsar-mode brokers
	AdminPlaceholder    = "{{pulsar-admin}}" // http://host:port of one Pulsar-mode broker's admin API
	EnsemblePlaceholder = "{{ensemble}}"     // host:port of the ensemble's servers, with commas
)

var (
	placeholders = []string{KafkaPlaceholder, PulsarPlaceholder, AdminPlaceholder, EnsemblePlaceholder}
	placeholder  = regexp.MustCompile(`\{\{[^}\n]*\}\}`)
)

func unknownPlaceholder(text []byte) string {
	for _, found := range placeholder.FindAll(text, -1) {
		if !slices.Contains(placeholders, string(found)) {
			return string(found)
		}
	}
	return ""
}

// check finds what is wrong with a lab beyond its form, and compiles its conditions.
func (l *Lab) check(source []byte) error {
	var problems []error
	problem := func(line int, format string, arguments ...any) {
		problems = append(problems, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, arguments...)))
	}
	if !labName.MatchString(l.ID) {
		problem(1, "the folder %q is not named like 01-first-messages", l.ID)
	}
	if l.Minutes < 1 || l.Minutes > 120 {
		problem(lineOf(source, "minutes:"), "minutes is %d, not between 1 and 120", l.Minutes)
	}
	l.Title.check(problem, lineOf(source, "title:"), "title")
	if len(l.Tasks) == 0 || len(l.Solution) == 0 || len(l.Wrong) == 0 {
		problem(1, "a lab needs tasks, a solution and at least one wrong run")
	}
	known := map[string]bool{}
	for _, task := range l.Tasks {
		line := lineOf(source, "id: "+task.ID)
		if !taskName.MatchString(task.ID) || known[task.ID] {
			problem(line, "task id %q is taken or not made of a-z, 0-9 and -", task.ID)
		}
		for _, need := range task.Needs {
			if !known[need] {
				problem(line, "task %s needs %q, which is no earlier task", task.ID, need)
			}
		}
		known[task.ID] = true
		task.Title.check(problem, line, "title of "+task.ID)
		task.Expected.check(problem, line, "expected of "+task.ID)
		task.Observed.check(problem, line, "observed of "+task.ID)
		for _, hint := range task.Hints {
			hint.Text.check(problem, line, "a hint of "+task.ID)
		}
		if err := task.compile(); err != nil {
			problem(line, "task %s: %v", task.ID, err)
		}
	}
	for _, actions := range l.actionLists() {
		for i, action := range actions.list {
			if _, err := action.Step(); err != nil {
				problem(lineOf(source, actions.where), "action %d of %s: %v", i+1, actions.where, err)
			}
		}
	}
	for _, run := range l.Wrong {
		for i := range run.Feedback {
			feedback := &run.Feedback[i]
			if err := feedback.compile(); err != nil {
				problem(lineOf(source, "name: "+run.Name), "wrong run %s: %v", run.Name, err)
			}
			if !known[feedback.Task] || !slices.Contains([]string{NotYet, Lost, Waiting}, feedback.Verdict) {
				problem(lineOf(source, "name: "+run.Name), "wrong run %s expects %q of task %q", run.Name, feedback.Verdict, feedback.Task)
			}
		}
		if len(run.Feedback) == 0 {
			problem(lineOf(source, "name: "+run.Name), "wrong run %s records no feedback", run.Name)
		}
	}
	return errors.Join(problems...)
}

func (t Text) check(problem func(line int, format string, arguments ...any), line int, what string) {
	for _, language := range Languages {
		if t[language] == "" {
			problem(line, "%s has no text in %s", what, language)
		}
	}
}

type actionList struct {
	where string
	list  []Action
}

func (l *Lab) actionLists() []actionList {
	lists := []actionList{{"setup:", l.Setup}, {"solution:", l.Solution}}
	for _, run := range l.Wrong {
		lists = append(lists, actionList{"name: " + run.Name, run.Actions})
	}
	return lists
}

// lineOf returns the number of the first line that holds text; 1 when none does.
func lineOf(source []byte, text string) int {
	at := bytes.Index(source, []byte(text))
	if at < 0 {
		return 1
	}
	return 1 + bytes.Count(source[:at], []byte("\n"))
}
