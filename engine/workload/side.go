package workload

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"twinlog/engine/sentence"
)

// client is what one engine's client library does for a side. Each call of produce and consume is one client program: it connects,
// works until its context ends, and returns after everything that it started has ended. When it returns an error earlier, it is called
// again a little later.
type client interface {
	// prepare makes sure that the topic is there.
	prepare(ctx context.Context) error
	// produce sends the messages of a source until there are no more. Leaving, it waits for answers that are still missing until
	// hurry ends.
	produce(hurry context.Context, program string, messages *source, to *side) error
	consume(ctx context.Context, program string, to *side) error
}

// The waits of a side.
const (
	prepareFor = time.Minute
	// retryAfter is how long a client program that failed stays down.
	retryAfter = time.Second
	// leaveWithin is how long producers may wait for missing answers when the side is stopped.
	leaveWithin = 3 * time.Second
)

// side is one engine's half of a workload.
type side struct {
	name     string // in the messages
	engine   string
	spec     Spec
	client   client
	registry *registry
	logger   *slog.Logger

	running context.Context // ends when the side is stopped
	cancel  context.CancelFunc
	hurry   context.Context // ends leaveWithin later
	rush    context.CancelFunc
	ended   chan struct{}
	crew    crew // the consumers

	mu        sync.Mutex
	state     string
	next      int64 // number of the next message
	tally     Counts
	delivered delivered
}

func newSide(name, engine string, spec Spec, client client, registry *registry, logger *slog.Logger) *side {
	s := &side{name: name, engine: engine, spec: spec, client: client, registry: registry, logger: logger.With("workload", engine),
		ended: make(chan struct{}), state: StateStarting}
	s.running, s.cancel = context.WithCancel(context.Background())
	s.hurry, s.rush = context.WithCancel(context.Background())
	return s
}

func (s *side) start() {
	s.registry.add(s)
	go func() {
		defer close(s.ended)
		s.run()
	}()
}

// stop ends the side and waits for its goroutines.
func (s *side) stop() {
	s.cancel()
	late := time.AfterFunc(leaveWithin, s.rush)
	<-s.ended
	late.Stop()
	s.rush()
	s.registry.remove(s)
	s.setState(StateStopped)
}

func (s *side) run() {
	if err := s.prepare(); err != nil {
		if s.running.Err() == nil {
			s.setState(StateFailed)
		}
		return
	}
	s.setState(StateRunning)
	var producers sync.WaitGroup
	s.crew.open(s, max(0, s.spec.Consumers))
	defer s.crew.wait()
	for number := range s.spec.Producers {
		program := fmt.Sprintf("demo-producer-%d", number+1)
		messages := &source{side: s, pace: newPace(time.Now(), s.spec.MessagesPerSecond, s.spec.Producers)}
		producers.Go(func() {
			s.keepUp(s.running, program, func() error { return s.client.produce(s.hurry, program, messages, s) })
		})
	}
	producers.Wait()
	if s.running.Err() == nil {
		s.setState(StateFinished)
	}
	<-s.running.Done()
}

// prepare asks for the topic until it is there: the cluster may be electing a controller just now.
func (s *side) prepare() error {
	ctx, cancel := context.WithTimeout(s.running, prepareFor)
	defer cancel()
	for {
		err := s.client.prepare(ctx)
		if err == nil {
			return nil
		}
		s.failed(sentence.Of("preparingTopic", "preparing the topic"), err)
		if errors.Is(err, ErrInvalid) || !sleep(ctx, retryAfter) {
			return err
		}
	}
}

// keepUp runs a client program again whenever it fails, as a service manager would.
func (s *side) keepUp(ctx context.Context, program string, run func() error) {
	for {
		err := run()
		if err == nil || ctx.Err() != nil {
			return
		}
		s.failed(sentence.Of("program", "{program}", program), err)
		if !sleep(ctx, retryAfter) {
			return
		}
	}
}

// sleep waits, unless the context ends first.
func sleep(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *side) setState(state string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
}

// failed keeps an error for the people who look at the workload.
func (s *side) failed(doing sentence.Sentence, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	s.logger.Debug("a demo client failed", "doing", doing, "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteError(doing, err)
}

// noteError is called under the lock.
func (s *side) noteError(doing sentence.Sentence, err error) {
	now := time.Now()
	said := sentence.Of("couldNot", "{doing}: {why}", doing, err)
	s.tally.LastError, s.tally.LastErrorAt, s.tally.LastProblem = said.String(), &now, &said
}

// answered counts the answer to one message that was produced.
func (s *side) answered(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.tally.Acknowledged++
	case s.running.Err() != nil: // the side was stopped before the answer came
	default:
		s.tally.Failed++
		s.noteError(sentence.Of("producing", "producing"), err)
	}
}

// consumed counts a delivery. Consumers share a topic and a group with those of other workloads, so that one side's consumer may be
// given another side's message.
func (s *side) consumed(value []byte) {
	s.mu.Lock()
	s.tally.Consumed++
	s.mu.Unlock()
	if name, number, ok := readValue(value); ok {
		if from := s.registry.find(s.engine, name); from != nil {
			from.noteDelivery(number)
		}
	}
}

func (s *side) noteDelivery(number int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.delivered.note(number) {
		s.tally.Duplicates++
	}
}

func (s *side) counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := s.tally
	counts.Engine, counts.State, counts.Produced = s.engine, s.state, s.next
	counts.Lag = max(0, counts.Acknowledged-s.delivered.count)
	return counts
}

// source gives one producer its messages, each when it is due.
type source struct {
	side *side
	pace pace
}

// message is what a producer sends.
type message struct {
	key   string // empty: none
	value []byte
}

// next waits until the next message is due; ok is false when there is none any more: all were sent or the side is stopped.
func (m *source) next() (next message, ok bool) {
	s := m.side
	if wait := m.pace.delay(time.Now()); wait > 0 && !sleep(s.running, wait) || s.running.Err() != nil {
		return message{}, false
	}
	s.mu.Lock()
	number := s.next
	if s.spec.MaxMessages > 0 && number >= s.spec.MaxMessages {
		s.mu.Unlock()
		return message{}, false
	}
	s.next++
	s.mu.Unlock()
	return message{key: s.spec.key(number), value: messageValue(s.name, number, s.spec.MessageBytes)}, true
}

// registry finds the side that a message belongs to.
type registry struct {
	mu    sync.Mutex
	sides map[string]*side
}

func (r *registry) add(s *side) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sides == nil {
		r.sides = map[string]*side{}
	}
	r.sides[s.engine+"/"+s.name] = s
}

func (r *registry) remove(s *side) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sides, s.engine+"/"+s.name)
}

func (r *registry) find(engine, name string) *side {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sides[engine+"/"+name]
}
