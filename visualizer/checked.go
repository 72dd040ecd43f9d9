package visualizer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"twinlog/engine/trace"
	"twinlog/labs/observe"
)

// eventsChecked bounds what a check is shown: a condition over more would be slow, and an attempt can last for hours.
const eventsChecked = 20_000

// checkedRecords keeps the records that the labs' checks are shown, for longer than the hub's window has them. When there are too many,
// the oldest goes of what there is most of: of one kind about one topic. So a workload beside a lab pushes out what it has itself
// brought about, and never the few records that a task that has passed rests on.
type checkedRecords struct {
	logger *slog.Logger

	mu    sync.Mutex // never held while records are sorted and read: who takes them must not wait
	kept  int
	lanes map[string][]*checkedRecord // by kind and topic, oldest first

	reading sync.Mutex // whoever holds it reads records, all of which are shared
}

// checkedRecord is a record as it came, until somebody wants to see it.
type checkedRecord struct {
	n     uint64
	text  []byte
	event *observe.Event
}

func newCheckedRecords(logger *slog.Logger) *checkedRecords {
	return &checkedRecords{logger: logger, lanes: map[string][]*checkedRecord{}}
}

// take keeps a record that checks are shown. It is called for every record, in order.
func (c *checkedRecords) take(n uint64, record *trace.Record, text []byte) {
	if slices.ContainsFunc(observe.Unchecked, func(beginning string) bool { return strings.HasPrefix(record.Kind, beginning) }) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	lane := laneOf(record)
	c.lanes[lane] = append(c.lanes[lane], &checkedRecord{n: n, text: bytes.Clone(text)})
	if c.kept < eventsChecked {
		c.kept++
		return
	}
	longest := lane
	for name, records := range c.lanes {
		if len(records) > len(c.lanes[longest]) {
			longest = name
		}
	}
	c.lanes[longest][0] = nil // the array behind the lane lives on for a while
	c.lanes[longest] = c.lanes[longest][1:]
}

// laneOf tells apart what a workload brings about with every message.
func laneOf(record *trace.Record) string {
	switch data := record.Data.(type) {
	case trace.KafkaAcknowledged:
		return record.Kind + " " + data.Topic
	case trace.KafkaOffsetCommitted:
		return record.Kind + " " + data.Topic
	case trace.PulsarPublished:
		return record.Kind + " " + data.Topic
	case trace.PulsarCursorMoved:
		return record.Kind + " " + data.Topic
	}
	return record.Kind
}

// after returns those that follow n, oldest first.
func (c *checkedRecords) after(n uint64) []observe.Event {
	records := c.keptAfter(n)
	slices.SortFunc(records, func(a, b *checkedRecord) int { return cmp.Compare(a.n, b.n) })
	c.reading.Lock()
	defer c.reading.Unlock()
	events := make([]observe.Event, 0, len(records))
	for _, record := range records {
		if event := record.read(c.logger); event != nil {
			events = append(events, *event)
		}
	}
	return events
}

// keptAfter returns those that follow n, lane by lane.
func (c *checkedRecords) keptAfter(n uint64) (records []*checkedRecord) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, lane := range c.lanes {
		from, _ := slices.BinarySearchFunc(lane, n+1, func(record *checkedRecord, n uint64) int { return cmp.Compare(record.n, n) })
		records = append(records, lane[from:]...)
	}
	return records
}

// read reads a record once. The caller holds reading. A watch over a condition asks for the same ones four times a second.
func (r *checkedRecord) read(logger *slog.Logger) *observe.Event {
	if r.event == nil && r.text != nil {
		event := &observe.Event{}
		if err := json.Unmarshal(r.text, event); err != nil {
			logger.Error("a record cannot be read back", "record", string(r.text), "error", err)
		} else {
			r.event = event
		}
		r.text = nil
	}
	return r.event
}
