package trace

import "time"

const (
	// foldInterval is how long a flow's events are counted together.
	foldInterval = 100 * time.Millisecond
	// singleEvents is how many hot events of a node pass singly in an interval before anybody looks at flows: an idle or lightly
	// used node pays nothing for folding.
	singleEvents = 64
	// singlePerFlow is how many events of one flow pass singly in an interval after that.
	singlePerFlow = 8
	// maxFlows bounds the flows that are told apart in an interval; the events of further ones pass singly.
	maxFlows = 4096
)

// folder decides which hot events become part of a record that still waits to be drained.
//
// A record is merged into only while nothing else than hot events and gauges follow it: any other event (a new leader, a truncation)
// seals all records before it, so that no record tells of what happened after such an event. Merged events keep the place and the time
// of the first of them.
type folder struct {
	began  time.Time // of the interval
	events int       // hot ones in the interval
	flows  map[flowKey]*flow
	age    uint64 // counts the seals
}

type flowKey struct{ kind, key string }

type flow struct {
	events int
	// open: the record at index, of the current age, takes further events in.
	open  bool
	index int
	age   uint64
}

// seal ends merging into the records so far.
func (f *folder) seal() { f.age++ }

// sealFlow ends merging into the record of one flow.
func (f *folder) sealFlow(kind, key string) {
	if known := f.flows[flowKey{kind: kind, key: key}]; known != nil {
		known.open = false
	}
}

// flowOf returns the flow of an event that is to be merged, nil when the event is to pass singly.
func (f *folder) flowOf(event Hot, kind string, at time.Time) *flow {
	if at.Sub(f.began) >= foldInterval {
		f.began, f.events = at, 0
		clear(f.flows)
	}
	f.events++
	if f.events <= singleEvents {
		return nil
	}
	key := flowKey{kind: kind, key: event.FlowKey()}
	known := f.flows[key]
	if known == nil {
		if len(f.flows) >= maxFlows {
			return nil
		}
		if f.flows == nil {
			f.flows = map[flowKey]*flow{}
		}
		known = &flow{}
		f.flows[key] = known
	}
	known.events++
	if known.events <= singlePerFlow {
		return nil
	}
	known.open = known.open && known.age == f.age
	return known
}

func (f *folder) openAt(opened *flow, index int) {
	opened.open, opened.index, opened.age = true, index, f.age
}
