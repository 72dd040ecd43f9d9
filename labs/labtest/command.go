package labtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"twinlog/labs"
	"twinlog/labs/catalogue"
	"twinlog/labs/lab"
)

// errNotKept ends `twinlog lab test` when a lab does not keep what labs promise.
var errNotKept = errors.New("not every lab keeps what labs promise")

type options struct {
	random, parallel int
	seed             uint64
	classroom, token string
	json             bool
}

// Commands are `twinlog lab new` and `twinlog lab test`.
func Commands() []*cobra.Command {
	var chosen options
	test := &cobra.Command{
		Use: "test [DIR|LAB…]", Short: "Hold labs to what they promise, by running them", SilenceUsage: true,
		Long: "Runs labs (all of them, or those named by their id, their number or their folder) on classrooms of its own, or on a running one, and prints what they keep:\n" +
			"the untouched world passes nothing; wrong runs get their recorded feedback; the solution passes with the values of two students;\n" +
			"questions have an answer; random actions that leave out one kind of what the solution does do not pass; a condition that is inverted or\ndropped is found.",
		RunE: func(command *cobra.Command, args []string) error {
			// Flags of `twinlog lab` itself.
			chosen.json, _ = command.Flags().GetBool("json")
			chosen.token, _ = command.Flags().GetString("token")
			return run(command.Context(), command.OutOrStdout(), chosen, args)
		},
	}
	flags := test.Flags()
	flags.IntVar(&chosen.random, "random", 1, "random action sequences for each lab: those of even numbers in any order, the others the solution with something left out")
	flags.IntVar(&chosen.parallel, "parallel", 3, "classrooms at a time")
	flags.Uint64Var(&chosen.seed, "seed", uint64(time.Now().UnixNano()%1_000_000), "of the random actions and the second student's values")
	flags.StringVar(&chosen.classroom, "classroom", "", "the page of a running classroom that may be taken apart, such as http://127.0.0.1:7700, in the place of classrooms of its own")
	fresh := &cobra.Command{
		Use: "new DIR", Short: "Make a folder with a small lab that passes `lab test`, to change from there", Args: cobra.ExactArgs(1), SilenceUsage: true,
		RunE: func(command *cobra.Command, args []string) error { return scaffold(command.OutOrStdout(), args[0]) },
	}
	return []*cobra.Command{test, fresh}
}

// job is a lab in a catalogue.
type job struct {
	files   fs.FS
	id      string
	minutes int // that a student needs
}

func jobs(named []string) (list []job, err error) {
	if len(named) == 0 {
		all, err := lab.LoadAll(catalogue.Files)
		for _, l := range all {
			if l != nil {
				list = append(list, job{catalogue.Files, l.ID, l.Minutes})
			}
		}
		return list, err
	}
	for _, name := range named {
		files, id := fs.FS(catalogue.Files), catalogue.ID(name)
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			full, err := filepath.Abs(name)
			if err != nil {
				return nil, err
			}
			id = filepath.Base(full)
			if files, err = fs.Sub(os.DirFS(filepath.Dir(full)), "."); err != nil {
				return nil, err
			}
			files = only{files, id}
		}
		l, err := lab.Load(files, id, nil)
		if err != nil {
			return nil, err
		}
		list = append(list, job{only{files, id}, id, l.Minutes})
	}
	return list, nil
}

// only is a catalogue of one lab.
type only struct {
	fs.FS
	id string
}

// ReadDir lists the one lab at the root.
func (o only) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.FS, name)
	if name == "." {
		entries = slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() != o.id })
	}
	return entries, err
}

func run(ctx context.Context, out io.Writer, chosen options, named []string) error {
	list, err := jobs(named)
	if err != nil {
		return err
	}
	if !chosen.json {
		fmt.Fprintf(out, "seed %d, %d random sequences for each lab\n", chosen.seed, chosen.random)
	}
	// The long ones first, so that at the end no classroom waits for another.
	slices.SortStableFunc(list, func(a, b job) int { return b.minutes - a.minutes })
	results, problems := work(ctx, out, chosen, list)
	slices.SortFunc(results, func(a, b Result) int { return strings.Compare(a.Lab, b.Lab) })
	if chosen.json {
		problems = append(problems, json.NewEncoder(out).Encode(results))
	} else {
		print(out, results)
	}
	for _, result := range results {
		if !result.Passed() {
			problems = append(problems, errNotKept)
			break
		}
	}
	return errors.Join(problems...)
}

// work tests labs in classrooms of their own, several at a time, or one after the other in the classroom that is named.
func work(ctx context.Context, out io.Writer, chosen options, list []job) (results []Result, problems []error) {
	queue := make(chan job, len(list))
	for _, each := range list {
		queue <- each
	}
	close(queue)
	workers := min(max(chosen.parallel, 1), len(list))
	if chosen.classroom != "" {
		workers = 1
	}
	var (
		mu       sync.Mutex // guards what is returned
		starting sync.Mutex // two classrooms must not choose the same ports
		working  sync.WaitGroup
	)
	for range workers {
		working.Go(func() {
			room, end := &classroom{api: labs.API{Base: chosen.classroom, Token: chosen.token, Client: http.DefaultClient}}, func() {}
			if chosen.classroom == "" {
				var err error
				starting.Lock()
				room, end, err = open(ctx)
				starting.Unlock()
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					problems = append(problems, err)
					return
				}
			}
			defer end()
			for each := range queue {
				result, err := testOne(ctx, room, each, chosen)
				mu.Lock()
				results, problems = append(results, result), append(problems, err)
				if !chosen.json {
					fmt.Fprintf(out, "%s: %d runs in %.0f s\n", result.Lab, result.Runs, result.Seconds)
				}
				mu.Unlock()
			}
		})
	}
	working.Wait()
	return results, problems
}

func testOne(ctx context.Context, room *classroom, each job, chosen options) (Result, error) {
	t, err := newTester(room, each.files, chosen.random, chosen.seed)
	if err != nil {
		return Result{Lab: each.id, Problems: map[string][]string{Untouched: {err.Error()}}}, err
	}
	defer t.service.Close()
	return t.test(ctx, each.id), nil
}

// print prints the table, lab by property, and below it what is not kept.
func print(out io.Writer, results []Result) {
	fmt.Fprintf(out, "\n%-26s", "lab")
	for _, property := range Properties {
		fmt.Fprintf(out, " %-10s", property)
	}
	fmt.Fprintln(out)
	for _, result := range results {
		fmt.Fprintf(out, "%-26s", result.Lab)
		for _, property := range Properties {
			mark := "ok"
			switch {
			case len(result.Problems[property]) > 0:
				mark = "NOT KEPT"
			case property == Mutants && !result.Passed():
				mark = "-"
			case property == Mutants:
				mark = fmt.Sprintf("ok (%d)", result.Mutants)
			case property == Random && result.Random == 0:
				mark = "none"
			case property == Random:
				mark = fmt.Sprintf("ok (%d)", result.Random)
			}
			fmt.Fprintf(out, " %-10s", mark)
		}
		fmt.Fprintln(out)
	}
	for _, result := range results {
		for _, property := range Properties {
			for _, problem := range result.Problems[property] {
				fmt.Fprintf(out, "%s: %s: %s\n", result.Lab, property, problem)
			}
		}
		for _, note := range result.Notes {
			fmt.Fprintf(out, "%s: %s\n", result.Lab, note)
		}
	}
}
