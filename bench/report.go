// Package bench measures the engines: each figure beside a limit or a peer that was measured in the same run, as median, smallest and
// largest of several rounds.
package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// samples are the results of the rounds of one measurement.
type samples []float64

func (s samples) sorted() samples { return slices.Sorted(slices.Values(s)) }

func (s samples) median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := s.sorted()
	if middle := len(sorted) / 2; len(sorted)%2 == 1 {
		return sorted[middle]
	} else {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
}

// spread is "median (min–max)" with a format for each number.
func (s samples) spread(format string) string {
	if len(s) == 0 {
		return "not measured"
	}
	sorted := s.sorted()
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median(), sorted[0], sorted[len(sorted)-1])
}

// over divides round by round, so that a machine whose speed drifts is compared with itself.
func (s samples) over(other samples) (ratios samples) {
	for i := range min(len(s), len(other)) {
		ratios = append(ratios, s[i]/other[i])
	}
	return ratios
}

func (s samples) percent() (percent samples) {
	for _, value := range s {
		percent = append(percent, value*100)
	}
	return percent
}

// report prints the figures as a table, each as soon as it is known.
type report struct{ out io.Writer }

func (r report) title(text string) {
	fmt.Fprintf(r.out, "\n%s\n%s\n", text, strings.Repeat("-", len(text)))
}

func (r report) line(what, figure string) { fmt.Fprintf(r.out, "%-58s %s\n", what, figure) }
