package visualizer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"twinlog/engine/trace"
	"twinlog/labs"
	"twinlog/labs/lab"
	"twinlog/labs/observe"
	"twinlog/visualizer/wire"
)

// lesson is a Labs that remembers what it was asked.
type lesson struct {
	trace labs.Trace
	asked []string
	err   error
}

func (l *lesson) note(asked ...string) { l.asked = append(l.asked, fmt.Sprint(asked)) }

func (l *lesson) List(_ context.Context, student, language string) ([]labs.Summary, error) {
	l.note("list", student, language)
	return []labs.Summary{{ID: "01-first"}}, l.err
}

func (l *lesson) Show(_ context.Context, id, student, language string) (labs.Detail, error) {
	l.note("show", id, student, language)
	return labs.Detail{
		Summary: labs.Summary{ID: id}, Attempt: &labs.Attempt{ID: 7, Lab: id},
		HTML: "<p>See {{page}}</p>", Solution: []lab.Step{{Command: "curl -X POST {{page}}/api/v1/nodes/kafka-2/kill"}},
	}, l.err
}

func (l *lesson) Start(_ context.Context, id, student, task string) (labs.Attempt, error) {
	l.note("start", id, student+task)
	return labs.Attempt{ID: 7, Lab: id, Student: student}, l.err
}

func (l *lesson) Check(_ context.Context, id, student, language string) (labs.Attempt, error) {
	l.note("check", id, student, language)
	return labs.Attempt{ID: 7, Lab: id, Student: student}, l.err
}

func (l *lesson) Solve(_ context.Context, id, student string) (labs.Attempt, error) {
	l.note("solve", id, student)
	return labs.Attempt{ID: 7, Lab: id}, l.err
}

func (l *lesson) Step(_ context.Context, id, student string, number int) (labs.Attempt, error) {
	l.note("step", id, student, fmt.Sprint(number))
	return labs.Attempt{ID: 7, Lab: id}, l.err
}

func (l *lesson) Answer(_ context.Context, id, student, question, choice string) (labs.Attempt, error) {
	l.note("answer", id, student, question, choice)
	return labs.Attempt{ID: 7, Lab: id}, l.err
}

func (l *lesson) Export(_ context.Context, student string, to io.Writer) error {
	l.note("export", student)
	fmt.Fprint(to, "the file")
	return l.err
}

func (l *lesson) Import(_ context.Context, from io.Reader) (labs.Imported, error) {
	file, err := io.ReadAll(from)
	l.note("import", string(file))
	return labs.Imported{}, errors.Join(err, l.err)
}

func withLesson(t *testing.T, config Config) (*lesson, string) {
	t.Helper()
	var l lesson
	config.Labs = func(trace labs.Trace) (Labs, error) {
		l.trace = trace
		return &l, nil
	}
	_, url := serving(t, config)
	return &l, url
}

func TestLabRoutes(t *testing.T) {
	l, url := withLesson(t, Config{})
	for _, step := range []struct{ method, path, asked string }{
		{"GET", "/labs", "[list student en]"},
		{"GET", "/labs?lang=zh&student=ada", "[list ada zh]"},
		{"GET", "/labs/01-first?lang=zh", "[show 01-first student zh]"},
		{"POST", "/labs/01-first/start?student=ada", "[start 01-first ada]"},
		{"POST", "/labs/01-first/reset", "[start 01-first student]"},
		{"POST", "/labs/01-first/check?lang=zh", "[check 01-first student zh]"},
		{"POST", "/labs/01-first/solve", "[solve 01-first student]"},
		{"POST", "/labs/01-first/start?task=second", "[start 01-first studentsecond]"},
		{"POST", "/labs/01-first/step?step=3", "[step 01-first student 3]"},
		{"POST", "/labs/01-first/answer?question=who&choice=me", "[answer 01-first student who me]"},
	} {
		l.asked = nil
		status, _, body := ask(t, step.method, url+"/api/v1"+step.path, "")
		if status != 200 || len(l.asked) == 0 || l.asked[0] != step.asked {
			t.Errorf("%s %s: %d %s, asked %v, want %s", step.method, step.path, status, body, l.asked, step.asked)
		}
		if step.method == "POST" && decode[labs.Attempt](t, body).ID != 7 {
			t.Errorf("%s: %s", step.path, body)
		}
	}
	for _, path := range []string{"/labs?lang=fr", "/labs?student="} {
		status, _, body := ask(t, "GET", url+"/api/v1"+path, "")
		mustRefuse(t, status, body, 400, "badRequest")
	}
	status, _, body := ask(t, "POST", url+"/api/v1/labs/01-first/explode", "")
	mustRefuse(t, status, body, 404, "notFound")
	for err, want := range map[error]struct {
		status int
		code   string
	}{
		labs.ErrUnknownTask: {404, "unknownTask"}, labs.ErrAnswered: {409, "answered"}, labs.ErrBroken: {422, "broken"}, labs.ErrTooLarge: {413, "tooLarge"},
		labs.ErrUnknownLab: {404, "unknownLab"}, labs.ErrNotStarted: {409, "notStarted"}, labs.ErrBusy: {409, "busy"},
		context.DeadlineExceeded: {500, "failed"},
	} {
		l.err = fmt.Errorf("lab: %w", err)
		status, _, body := ask(t, "POST", url+"/api/v1/labs/01-first/check", "")
		mustRefuse(t, status, body, want.status, want.code)
	}
}

func TestALabNamesThePageAsItWasReached(t *testing.T) {
	_, url := withLesson(t, Config{})
	address := "localhost" + url[strings.LastIndexByte(url, ':'):]
	_, _, body := ask(t, "GET", url+"/api/v1/labs/01-first", "", "Host", address)
	detail := decode[labs.Detail](t, body)
	if want := "curl -X POST http://" + address + "/api/v1/nodes/kafka-2/kill"; detail.Solution[0].Command != want {
		t.Errorf("the command is %q, want %q", detail.Solution[0].Command, want)
	}
	if want := "<p>See http://" + address + "</p>"; detail.HTML != want {
		t.Errorf("the text is %q, want %q", detail.HTML, want)
	}
}

func TestProgressIsOneFile(t *testing.T) {
	l, url := withLesson(t, Config{})
	if status, header, body := ask(t, "GET", url+"/api/v1/progress?student=ada", ""); status != 200 || string(body) != "the file" || header.Get("Content-Disposition") == "" {
		t.Errorf("export: %d %v %s", status, header, body)
	}
	if status, _, body := ask(t, "POST", url+"/api/v1/progress", "the file"); status != 200 || !slices.Equal(l.asked, []string{"[export ada]", "[import the file]"}) {
		t.Errorf("import: %d %s, asked %v", status, body, l.asked)
	}
	l.err = fmt.Errorf("%w: entry 3 of ada was changed", labs.ErrBroken)
	status, _, body := ask(t, "POST", url+"/api/v1/progress", "the file")
	mustRefuse(t, status, body, 422, "broken")
}

func TestAFileOfProgressMayBeLargerThanOtherBodies(t *testing.T) {
	l, url := withLesson(t, Config{})
	class := strings.Repeat("a check and what it saw\n", 10_000)
	if len(class) <= maxBodyBytes {
		t.Fatalf("%d bytes are no test", len(class))
	}
	if status, _, body := ask(t, "POST", url+"/api/v1/progress", class); status != 200 || !slices.Equal(l.asked, []string{"[import " + class + "]"}) {
		t.Errorf("import of %d bytes: %d %s", len(class), status, body)
	}
	status, _, body := ask(t, "POST", url+"/api/v1/progress", strings.Repeat(" ", labs.LargestProgress+1))
	mustRefuse(t, status, body, 413, "tooLarge")
}

func TestLabsSeeTheTraceWithoutItsMessages(t *testing.T) {
	room := newClassroom()
	l, _ := withLesson(t, Config{Control: room})
	mustSoon(t, func() bool { _, n := l.trace.World(); return n == 4 })
	room.tracers["kafka-2"].Emit(trace.MessageSent{Message: trace.Message{Name: "Fetch"}})
	room.tracers["kafka-2"].Emit(trace.KafkaTopicCreated{Topic: `a "kind":"message.` + "trap", Replicas: [][]int32{{2}}})
	mustSoon(t, func() bool { _, n := l.trace.World(); return n == 6 })
	events := l.trace.EventsAfter(4)
	if len(events) != 1 || events[0].N != 6 || events[0].Node != "kafka-2" || events[0].Kind != "kafka.topicCreated" || events[0].Data["topic"] == "" {
		t.Errorf("events: %+v", events)
	}
	state, _ := l.trace.World()
	if len(state.Kafka.Topics) != 1 {
		t.Errorf("topics: %v", state.Kafka.Topics)
	}
}

func TestLabsAreShownABoundedNumberOfEvents(t *testing.T) {
	room := newClassroom()
	l, _ := withLesson(t, Config{Control: room})
	const more = 1000
	for range eventsChecked + more {
		room.tracers["kafka-2"].Emit(trace.NodeReady{})
	}
	last := uint64(4 + eventsChecked + more)
	mustSoon(t, func() bool { _, n := l.trace.World(); return n == last })
	events := l.trace.EventsAfter(0)
	if len(events) != eventsChecked || events[len(events)-1].N != last {
		t.Errorf("%d events, the last is %d of %d", len(events), events[len(events)-1].N, last)
	}
}

// A workload beside a lab brings hundreds of records a second. A task that passed at the attempt's beginning rests on a handful of old ones.
func TestAWorkloadPushesNothingOfALabOutOfSight(t *testing.T) {
	checked := newCheckedRecords(slog.New(slog.DiscardHandler))
	n := uint64(0)
	take := func(event trace.Event) {
		n++
		record := trace.Record{Node: "kafka-2", Kind: event.Kind(), Data: event}
		text, err := json.Marshal(wire.Record{N: n, Record: record})
		if err != nil {
			t.Fatal(err)
		}
		checked.take(n, &record, text)
	}
	written := func(topic string) trace.KafkaAcknowledged {
		return trace.KafkaAcknowledged{KafkaPartition: trace.KafkaPartition{Topic: topic}, Acks: -1}
	}
	take(trace.KafkaTopicCreated{Topic: "clicks", Replicas: [][]int32{{2}}})
	take(written("clicks"))
	for range eventsChecked {
		take(written("demo"))
		take(trace.KafkaReactorMeasured{})
	}
	take(trace.NodeReady{})
	events := checked.after(0)
	if len(events) != eventsChecked || events[0].N != 1 || events[1].N != 2 || events[1].Data["topic"] != "clicks" || events[len(events)-1].N != n {
		t.Errorf("%d events: %+v … %+v", len(events), events[:min(2, len(events))], events[max(0, len(events)-1):])
	}
	if !slices.IsSortedFunc(events, func(a, b observe.Event) int { return cmp.Compare(a.N, b.N) }) {
		t.Error("the events are out of order")
	}
	if later := checked.after(2); len(later) != eventsChecked-2 || later[0].Data["topic"] != "demo" {
		t.Errorf("%d events after the second: %+v", len(later), later[:min(1, len(later))])
	}
}
