package trace

// Hot is an event that can happen thousands of times a second. Under load the tracer merges the hot events of one flow and one
// interval into one record, so that a full-speed producer costs as much of the trace as a slow one; Folded tells how many events a
// record stands for.
type Hot interface {
	Event
	// FlowKey names the flow: events of the same Kind and FlowKey may be merged.
	FlowKey() string
	// Merge returns the event that stands for this one and the later one.
	Merge(later Event) Event
}

// Gauge is an event that tells how much there is of something at the moment, beside what goes on: it says nothing that hot events before and
// after it would have to be told apart by, so that they may be merged across it. What a gauge repeats, though, must not be told before it
// in a newer state: merging ends in the one flow that it follows.
type Gauge interface {
	Event
	// follows names the flow whose newest event the gauge repeats; empty: none.
	follows() (kind, flow string)
}

// Folded counts the events that a merged record stands for; 0 and 1 both mean one.
type Folded int

// Events is the number of events, at least 1.
func (f Folded) Events() int { return max(1, int(f)) }

func (f Folded) plus(later Folded) Folded { return Folded(f.Events() + later.Events()) }
