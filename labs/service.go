// Package labs runs the guided labs: it starts an attempt, checks it against the observed world, plays the solution, and remembers
// what was achieved.
package labs

import (
	"context"
	"fmt"
	"html"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"twinlog/engine/sentence"
	"twinlog/labs/action"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
)

var (
	// ErrUnknownLab: no lab of that name.
	ErrUnknownLab = sentence.Error(nil, "unknownLab", "no such lab")
	// ErrNotStarted: the lab has no attempt to check.
	ErrNotStarted = sentence.Error(nil, "labNotStarted", "the lab has not been started; start it first")
	// ErrBusy: another action of a lab is under way.
	ErrBusy = sentence.Error(nil, "labBusy", "another lab action is under way; wait until it has ended")
)

// Trace gives what a check may know of the trace.
type Trace = action.Trace

// Config is what a Service needs.
type Config struct {
	Catalogue fs.FS
	// Class is the name of the class whose students work here; with it and their own names their values are drawn.
	Class     string
	Addresses action.Addresses
	Nodes     action.Nodes
	Trace     Trace
	Progress  Progress
	// Observed, when it is set, is told what every judgement was made of.
	Observed func(l *lab.Lab, world observe.World, standing lab.Standing)
	// Logger is told what goes wrong behind an attempt; nil: nobody is.
	Logger *slog.Logger
}

// actionTimeout bounds one start, check or solve.
const actionTimeout = 150 * time.Second

// Service is the labs of one classroom. Its methods may be called from any goroutine; one action runs at a time.
type Service struct {
	config Config
	labs   []*lab.Lab     // with everybody's values
	turn   chan struct{}  // holds one token; who has it acts
	runner *action.Runner // starts and checks have it in turn; helpers use it beside them

	mu       sync.Mutex
	attempts map[attemptKey]*running
	drawn    map[attemptKey]*lab.Lab // with the values of a student
	behind   map[backgroundKey]*background
}

type attemptKey struct{ student, lab string }

// maxDrawn bounds how many students' labs are kept.
const maxDrawn = 1_000

// New loads and checks the catalogue.
func New(config Config) (*Service, error) {
	loaded, err := lab.LoadAll(config.Catalogue)
	if err != nil {
		return nil, fmt.Errorf("load the labs: %w", err)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		config: config, labs: loaded, turn: make(chan struct{}, 1), attempts: map[attemptKey]*running{}, drawn: map[attemptKey]*lab.Lab{}, behind: map[backgroundKey]*background{},
		runner: action.NewRunner(config.Addresses, config.Nodes, config.Trace),
	}
	s.turn <- struct{}{}
	return s, nil
}

// Close waits for the action under way and ends what labs have left running. Nothing can be asked of the service afterwards.
func (s *Service) Close() {
	<-s.turn
	s.endBackground()
	s.runner.Close()
}

// Labs returns all labs with everybody's values.
func (s *Service) Labs() []*lab.Lab { return s.labs }

// Alone is who works at a classroom without having told a name: such a student has everybody's values, which are those of the notes.
const Alone = "student"

// Lab returns a lab with a student's values.
func (s *Service) Lab(id, student string) (*lab.Lab, error) {
	at := slices.IndexFunc(s.labs, func(l *lab.Lab) bool { return l.ID == id })
	if at < 0 {
		return nil, sentence.Error(ErrUnknownLab, "noSuchLab", `there is no lab "{lab}"`, id)
	}
	if student == Alone || len(s.labs[at].Variants) == 0 {
		return s.labs[at], nil
	}
	key := attemptKey{student, id}
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.drawn[key]; known != nil {
		return known, nil
	}
	drawn, err := lab.Load(s.config.Catalogue, id, lab.SeedOf(s.config.Class, student, id))
	if err != nil {
		return nil, fmt.Errorf("draw the values of %s: %w", student, err)
	}
	if len(s.drawn) >= maxDrawn {
		clear(s.drawn)
	}
	s.drawn[key] = drawn
	return drawn, nil
}

// Summary is one lab in a list.
type Summary struct {
	ID      string `json:"id"`
	Title   string `json:"title"`
	Minutes int    `json:"minutes"`
	Tasks   int    `json:"tasks"`
	Started bool   `json:"started"`
	Passed  bool   `json:"passed"`
}

// Detail is one lab as a student sees it.
type Detail struct {
	Summary
	HTML      string           `json:"html"`
	Tasks     []TaskDetail     `json:"taskList"`
	Questions []QuestionDetail `json:"questions"`
	// Solution is what the solution does, step by step.
	Solution []lab.Step `json:"solution"`
	// Values are those that were drawn for this student, by name.
	Values  map[string]string `json:"values"`
	Attempt *Attempt          `json:"attempt"` // the latest one; null before the first
	Next    *Summary          `json:"next"`    // the lab that follows; null for the last
}

// TaskDetail is one task as a student sees it.
type TaskDetail struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Expected string   `json:"expected"`
	Needs    []string `json:"needs"`
	HoldMS   int64    `json:"holdMS"`
	// Helper tells that something goes on in the background while the task is open.
	Helper bool `json:"helper"`
}

// QuestionDetail is one question as a student sees it. Explanation is empty until it is known what happened.
type QuestionDetail struct {
	ID          string         `json:"id"`
	Before      string         `json:"before"`
	Text        string         `json:"text"`
	Choices     []ChoiceDetail `json:"choices"`
	Explanation string         `json:"explanation"`
}

// ChoiceDetail is one thing that could happen.
type ChoiceDetail struct {
	Value string `json:"value"`
	Text  string `json:"text"`
}

// List lists the labs in order, in a language.
func (s *Service) List(ctx context.Context, student, language string) ([]Summary, error) {
	latest, err := s.latest(ctx, student)
	if err != nil {
		return nil, err
	}
	list := make([]Summary, 0, len(s.labs))
	for _, l := range s.labs {
		list = append(list, summary(l, latest, language))
	}
	return list, nil
}

func summary(l *lab.Lab, latest map[string]Attempt, language string) Summary {
	attempt, started := latest[l.ID]
	return Summary{ID: l.ID, Title: l.Title.In(language), Minutes: l.Minutes, Tasks: len(l.Tasks), Started: started, Passed: attempt.PassedAt != nil}
}

// Show returns one lab, in a language.
func (s *Service) Show(ctx context.Context, id, student, language string) (Detail, error) {
	l, err := s.Lab(id, student)
	if err != nil {
		return Detail{}, err
	}
	latest, err := s.latest(ctx, student)
	if err != nil {
		return Detail{}, err
	}
	detail := Detail{
		Summary: summary(l, latest, language), HTML: s.withAddresses(l.Body.In(language)), Values: l.Drawn, Questions: []QuestionDetail{}, Solution: l.Steps(language),
	}
	if at := slices.IndexFunc(s.labs, func(other *lab.Lab) bool { return other.ID == id }) + 1; at < len(s.labs) {
		next := summary(s.labs[at], latest, language)
		detail.Next = &next
	}
	for i := range detail.Solution {
		detail.Solution[i].Command = html.UnescapeString(s.withAddresses(detail.Solution[i].Command))
	}
	for _, task := range l.Tasks {
		detail.Tasks = append(detail.Tasks, TaskDetail{
			ID: task.ID, Title: task.Title.In(language), Expected: task.Expected.In(language), Needs: task.Needs, HoldMS: task.Hold.Milliseconds(),
			Helper: task.Helper != nil,
		})
	}
	attempt, started := latest[id]
	for _, question := range l.Questions {
		shown := QuestionDetail{ID: question.ID, Before: question.Before, Text: question.Text.In(language)}
		for _, choice := range question.Choices {
			shown.Choices = append(shown.Choices, ChoiceDetail{choice.Value, choice.Text.In(language)})
		}
		if attempt.Answers[question.ID].Outcome != nil {
			shown.Explanation = question.Explanation.In(language)
		}
		detail.Questions = append(detail.Questions, shown)
	}
	if started {
		attempt = s.standingNow(attempt)
		attempt.Verdicts = slices.Clone(attempt.Verdicts)
		for i, verdict := range attempt.Verdicts {
			attempt.Verdicts[i] = verdict.In(language)
		}
		detail.Attempt = &attempt
	}
	return detail, nil
}

// withAddresses puts the addresses of this classroom into a text, as programs of students dial them; the usual ones where no broker has
// told its own yet. All nodes of a role are named: in a lab, any one of them may be dead. The page's own address is put in by the page, which knows how
// it was reached.
func (s *Service) withAddresses(text string) string {
	state, _ := s.config.Trace.World()
	addresses := func(role, purpose, usual string) string {
		var found []string
		for _, name := range slices.Sorted(maps.Keys(state.Nodes)) {
			if n := state.Nodes[name]; strings.HasPrefix(name, role+"-") && n.Addresses[purpose] != "" {
				found = append(found, n.Addresses[purpose])
			}
		}
		if len(found) == 0 {
			found = []string{usual}
		}
		return html.EscapeString(strings.Join(found, ","))
	}
	admin, _, _ := strings.Cut(addresses("pulsar", "http", "localhost:8080"), ",")
	return strings.NewReplacer(
		lab.KafkaPlaceholder, addresses("kafka", "kafka", "localhost:9092"),
		lab.PulsarPlaceholder, "pulsar://"+addresses("pulsar", "pulsar", "localhost:6650"),
		lab.AdminPlaceholder, "http://"+admin,
		lab.EnsemblePlaceholder, addresses("ensemble", "zookeeper", "localhost:2181"),
	).Replace(text)
}

// latest is what progress has, each attempt made whole, with the attempts of this run on top.
func (s *Service) latest(ctx context.Context, student string) (map[string]Attempt, error) {
	latest, err := s.config.Progress.Latest(ctx, student)
	if err != nil {
		return nil, fmt.Errorf("read progress of %s: %w", student, err)
	}
	for id, attempt := range latest {
		latest[id] = attempt.whole()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, attempt := range s.attempts {
		if key.student == student {
			latest[key.lab] = attempt.Attempt
		}
	}
	return latest, nil
}

// act runs do while no other lab action runs.
func (s *Service) act(ctx context.Context, do func(ctx context.Context) error) error {
	select {
	case <-s.turn:
	default:
		return ErrBusy
	}
	defer func() { s.turn <- struct{}{} }()
	ctx, cancel := context.WithTimeout(ctx, actionTimeout)
	defer cancel()
	return do(ctx)
}
