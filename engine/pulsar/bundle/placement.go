package bundle

import (
	"cmp"
	"slices"
)

// Load is what a broker reported about itself and what was promised to it since.
type Load struct {
	Broker string // host:port of its HTTP service
	// Usage is its most used resource in percent of the limit.
	Usage float64
	// MessageRate is its long-term rate, in and out, messages per second.
	MessageRate float64
	// Bundles it owns by its last report.
	Bundles int
	// Preallocated counts bundles placed on it that its report does not show yet.
	Preallocated int
}

// overloadedPercent is where a broker gets no more bundles while another one has room (loadBalancerBrokerOverloadedThresholdPercentage).
const overloadedPercent = 85

// Place chooses the broker for a bundle that nobody owns: the one with the least long-term message rate among those that are not
// overloaded, then the one with the fewest bundles; ties are broken by draw, a number that the caller picks at random. It reports
// false when there is no broker.
func Place(brokers []Load, draw uint64) (string, bool) {
	if len(brokers) == 0 {
		return "", false
	}
	candidates := slices.DeleteFunc(slices.Clone(brokers), func(load Load) bool { return load.Usage > overloadedPercent })
	if len(candidates) == 0 {
		candidates = slices.Clone(brokers) // all are overloaded: a slow broker is better than none
	}
	slices.SortFunc(candidates, compareLoad)
	equal := 1
	for equal < len(candidates) && sameLoad(candidates[0], candidates[equal]) {
		equal++
	}
	return candidates[draw%uint64(equal)].Broker, true
}

// Rates that differ by less than this are the same: an idle cluster spreads by bundle count.
const negligibleRate = 1

func compareLoad(a, b Load) int {
	if rateStep(a) != rateStep(b) {
		return cmp.Compare(rateStep(a), rateStep(b))
	}
	if owned(a) != owned(b) {
		return cmp.Compare(owned(a), owned(b))
	}
	return cmp.Compare(a.Broker, b.Broker)
}

func sameLoad(a, b Load) bool { return rateStep(a) == rateStep(b) && owned(a) == owned(b) }

func owned(load Load) int { return load.Bundles + load.Preallocated }

// rateStep rounds the rate to powers of two, so that noise does not send every new bundle to the same broker.
func rateStep(load Load) int {
	step := 0
	for rate := load.MessageRate; rate > negligibleRate; rate /= 2 {
		step++
	}
	return step
}
