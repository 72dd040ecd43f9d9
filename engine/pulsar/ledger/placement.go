package ledger

import (
	"fmt"
	"slices"
)

// ChooseEnsemble picks size different bookies. Bookies in suspect failed a short while ago and are taken only when there are not
// enough others. Pick is a random number below n.
func ChooseEnsemble(size int, available []string, suspect func(string) bool, pick func(n int) int) ([]string, error) {
	return choose(size, available, nil, suspect, pick)
}

// ReplaceFailed gives a change its new ensemble: every place that failed gets a bookie that is not in the old ensemble.
func ReplaceFailed(change Change, available []string, suspect func(string) bool, pick func(n int) int) ([]string, error) {
	replacements, err := choose(len(change.Failed), available, change.Ensemble, suspect, pick)
	if err != nil {
		return nil, err
	}
	ensemble := slices.Clone(change.Ensemble)
	for i, index := range change.Failed {
		ensemble[index] = replacements[i]
	}
	return ensemble, nil
}

func choose(count int, available, taken []string, suspect func(string) bool, pick func(n int) int) ([]string, error) {
	var good, bad []string
	for _, bookie := range available {
		switch {
		case slices.Contains(taken, bookie):
		case suspect(bookie):
			bad = append(bad, bookie)
		default:
			good = append(good, bookie)
		}
	}
	if len(good)+len(bad) < count {
		return nil, fmt.Errorf("%w: need %d more besides %v, available are %v", ErrNotEnoughBookies, count, taken, available)
	}
	var chosen []string
	for _, candidates := range [][]string{good, bad} {
		for len(chosen) < count && len(candidates) > 0 {
			i := pick(len(candidates))
			chosen = append(chosen, candidates[i])
			candidates = slices.Delete(candidates, i, i+1)
		}
	}
	return chosen, nil
}
