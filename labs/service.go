// Package labs runs the guided labs: it starts an attempt, checks it against the observed world, plays the solution, and remembers
// what was achieved.
package labs

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"twinlog/labs/action"
	"twinlog/labs/lab"
)

var (
	// ErrUnknownLab: no lab of that name.
	ErrUnknownLab = errors.New("no such lab")
	// ErrNotStarted: the lab has no attempt to check.
	ErrNotStarted = errors.New("the lab has not been started; start it first")
	// ErrBusy: another action of a lab is under way.
	ErrBusy = errors.New("another lab action is under way; wait until it has ended")
)

// Trace gives what a check may know of the trace.
type Trace = action.Trace

// Attempt is one go at a lab by one student.
type Attempt struct {
	ID        int64     `json:"id"`
	Lab       string    `json:"lab"`
	Student   string    `json:"student"`
	StartedAt time.Time `json:"startedAt"`
	FirstN    uint64    `json:"firstN"` // the attempt sees the records after this one
	// PassedAt is set once every task has passed in one check.
	PassedAt *time.Time     `json:"passedAt"`
	Failures map[string]int `json:"failures"` // checks that did not pass, by task
	Verdicts []lab.Verdict  `json:"verdicts"` // of the last check
}

// Progress keeps attempts over restarts.
type Progress interface {
	// Begin stores a new attempt and returns its id.
	Begin(ctx context.Context, attempt Attempt) (int64, error)
	// Update stores what a check changed, and appends the verdicts to the attempt's history.
	Update(ctx context.Context, attempt Attempt) error
	// Latest returns a student's latest attempt at each lab, by lab.
	Latest(ctx context.Context, student string) (map[string]Attempt, error)
}

// Config is what a Service needs.
type Config struct {
	Catalogue fs.FS
	Addresses action.Addresses
	Nodes     action.Nodes
	Trace     Trace
	Progress  Progress
}

// actionTimeout bounds one start, check or solve.
const actionTimeout = 90 * time.Second

// Service is the labs of one classroom. Its methods may be called from any goroutine; one action runs at a time.
type Service struct {
	config Config
	labs   []*lab.Lab
	turn   chan struct{}  // holds one token; who has it acts
	runner *action.Runner // of who has the turn

	mu       sync.Mutex
	attempts map[attemptKey]*running
}

// running is an attempt with the moment at which it began; the zero moment, for one that an earlier run of the program began, is before
// everything.
type running struct {
	Attempt
	start action.Start
}

type attemptKey struct{ student, lab string }

// New loads and checks the catalogue.
func New(config Config) (*Service, error) {
	loaded, err := lab.LoadAll(config.Catalogue)
	if err != nil {
		return nil, fmt.Errorf("load the labs: %w", err)
	}
	s := &Service{
		config: config, labs: loaded, turn: make(chan struct{}, 1), attempts: map[attemptKey]*running{},
		runner: action.NewRunner(config.Addresses, config.Nodes, config.Trace),
	}
	s.turn <- struct{}{}
	return s, nil
}

// Close waits for the action under way and ends what labs have left running. Nothing can be asked of the service afterwards.
func (s *Service) Close() {
	<-s.turn
	s.runner.Close()
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
	HTML    string       `json:"html"`
	Tasks   []TaskDetail `json:"taskList"`
	Attempt *Attempt     `json:"attempt"` // the latest one; null before the first
}

// TaskDetail is one task as a student sees it.
type TaskDetail struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Expected string   `json:"expected"`
	Needs    []string `json:"needs"`
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
	l, err := s.lab(id)
	if err != nil {
		return Detail{}, err
	}
	latest, err := s.latest(ctx, student)
	if err != nil {
		return Detail{}, err
	}
	detail := Detail{Summary: summary(l, latest, language), HTML: s.withAddresses(l.Body.In(language))}
	for _, task := range l.Tasks {
		detail.Tasks = append(detail.Tasks, TaskDetail{ID: task.ID, Title: task.Title.In(language), Expected: task.Expected.In(language), Needs: task.Needs})
	}
	if attempt, started := latest[id]; started {
		attempt.Verdicts = slices.Clone(attempt.Verdicts)
		for i, verdict := range attempt.Verdicts {
			attempt.Verdicts[i] = verdict.In(language)
		}
		detail.Attempt = &attempt
	}
	return detail, nil
}

// withAddresses puts the addresses of this classroom into a text, as programs of students dial them; the usual ones where no broker has
// told its own yet. All nodes of a role are named: in a lab, any one of them may be dead.
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

func (s *Service) lab(id string) (*lab.Lab, error) {
	for _, l := range s.labs {
		if l.ID == id {
			return l, nil
		}
	}
	return nil, fmt.Errorf("lab %q: %w", id, ErrUnknownLab)
}

// latest is what progress has, with the attempts of this run on top.
func (s *Service) latest(ctx context.Context, student string) (map[string]Attempt, error) {
	latest, err := s.config.Progress.Latest(ctx, student)
	if err != nil {
		return nil, fmt.Errorf("read progress of %s: %w", student, err)
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

// Start makes the classroom whole, runs the lab's set-up and begins an attempt; an older one is given up.
func (s *Service) Start(ctx context.Context, id, student string) (attempt Attempt, err error) {
	l, err := s.lab(id)
	if err != nil {
		return Attempt{}, err
	}
	err = s.act(ctx, func(ctx context.Context) error {
		err := s.runner.Restore(ctx)
		if err == nil {
			err = s.runner.Run(ctx, s.runner.Now(), l.Setup)
		}
		if err != nil {
			return fmt.Errorf("set up lab %s: %w", id, err)
		}
		start := s.runner.Now()
		attempt = Attempt{Lab: id, Student: student, StartedAt: time.Now().UTC(), FirstN: start.N, Failures: map[string]int{}, Verdicts: []lab.Verdict{}}
		if attempt.ID, err = s.config.Progress.Begin(ctx, attempt); err != nil {
			return fmt.Errorf("store the attempt at lab %s: %w", id, err)
		}
		s.remember(attempt, start)
		return nil
	})
	return attempt, err
}

func (s *Service) remember(attempt Attempt, start action.Start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[attemptKey{attempt.Student, attempt.Lab}] = &running{attempt, start}
}

// current is the attempt that is under way. One of an earlier run of the classroom goes on: its records are numbered anew, and all of
// them count.
func (s *Service) current(ctx context.Context, id, student string) (running, error) {
	s.mu.Lock()
	attempt := s.attempts[attemptKey{student, id}]
	s.mu.Unlock()
	if attempt != nil {
		return *attempt, nil
	}
	latest, err := s.latest(ctx, student)
	if err != nil {
		return running{}, err
	}
	earlier, started := latest[id]
	if !started {
		return running{}, fmt.Errorf("lab %s: %w", id, ErrNotStarted)
	}
	earlier.FirstN = 0
	return running{Attempt: earlier}, nil
}

// Check looks at the world and gives a verdict for every task.
func (s *Service) Check(ctx context.Context, id, student, language string) (attempt Attempt, err error) {
	l, err := s.lab(id)
	if err != nil {
		return Attempt{}, err
	}
	current, err := s.current(ctx, id, student)
	if err != nil {
		return Attempt{}, err
	}
	attempt = current.Attempt
	err = s.act(ctx, func(ctx context.Context) error {
		attempt.note(l.Check(s.runner.Look(ctx, current.start), attempt.Failures, language))
		if err := s.config.Progress.Update(ctx, attempt); err != nil {
			return fmt.Errorf("store the check of lab %s: %w", id, err)
		}
		s.remember(attempt, current.start)
		return nil
	})
	return attempt, err
}

// note takes the verdicts of a check. A failure is counted on a copy: the old map may be on its way to a reader.
func (a *Attempt) note(verdicts []lab.Verdict) {
	failures := map[string]int{}
	for task, count := range a.Failures {
		failures[task] = count
	}
	allPassed := true
	for _, verdict := range verdicts {
		if verdict.Verdict != lab.Passed {
			allPassed = false
		}
		if verdict.Verdict == lab.NotYet {
			failures[verdict.Task]++
		}
	}
	a.Failures, a.Verdicts = failures, verdicts
	if allPassed && a.PassedAt == nil {
		now := time.Now().UTC()
		a.PassedAt = &now
	}
}

// Solve plays the lab's solution on the running clusters.
func (s *Service) Solve(ctx context.Context, id string) error {
	l, err := s.lab(id)
	if err != nil {
		return err
	}
	return s.act(ctx, func(ctx context.Context) error {
		if err := s.runner.Run(ctx, s.runner.Now(), l.Solution); err != nil {
			return fmt.Errorf("play the solution of lab %s: %w", id, err)
		}
		return nil
	})
}
