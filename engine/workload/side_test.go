package workload

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// broker is a client library and its cluster in one: what is produced is delivered, sometimes twice.
type broker struct {
	mu        sync.Mutex
	down      bool // producing and preparing fail
	twice     bool // every delivery comes twice
	deaf      bool // answers do not come
	delivered chan []byte
}

func (b *broker) is(flag *bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return *flag
}

func (b *broker) set(flag *bool, value bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*flag = value
}

var errDown = errors.New("the broker is down")

func (b *broker) prepare(context.Context) error {
	if b.is(&b.down) {
		return errDown
	}
	return nil
}

func (b *broker) produce(hurry context.Context, _ string, messages *source, to *side) error {
	for {
		next, ok := messages.next()
		if !ok {
			break
		}
		if b.is(&b.down) {
			to.answered(errDown)
			return errDown
		}
		if b.is(&b.deaf) {
			continue
		}
		b.delivered <- next.value
		if b.is(&b.twice) {
			b.delivered <- next.value
		}
		to.answered(nil)
	}
	if b.is(&b.deaf) {
		<-hurry.Done()
		return hurry.Err()
	}
	return nil
}

func (b *broker) consume(ctx context.Context, _ string, to *side) error {
	for {
		select {
		case value := <-b.delivered:
			to.consumed(value)
		case <-ctx.Done():
			return nil
		}
	}
}

func startSide(t *testing.T, b *broker, spec Spec) *side {
	t.Helper()
	spec, err := spec.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	b.delivered = make(chan []byte, 10_000)
	s := newSide("0123abcd", EngineKafka, spec, b, &registry{}, slog.New(slog.DiscardHandler))
	s.start()
	return s
}

func TestSideProducesAtItsRateAndCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{twice: true}
		s := startSide(t, b, Spec{MessagesPerSecond: 100, Producers: 2, Consumers: 3})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		counts := s.counts()
		if counts.State != StateRunning || counts.Produced < 995 || counts.Produced > 1005 {
			t.Errorf("after 10 s at 100 a second: %+v", counts)
		}
		if counts.Acknowledged != counts.Produced || counts.Consumed != 2*counts.Produced || counts.Duplicates != counts.Produced || counts.Lag != 0 {
			t.Errorf("counts: %+v", counts)
		}
		s.stop()
		if s.counts().State != StateStopped {
			t.Errorf("after stop: %+v", s.counts())
		}
	})
}

func TestSideLivesThroughABrokersDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{}
		s := startSide(t, b, Spec{MessagesPerSecond: 10})
		time.Sleep(5 * time.Second)
		b.set(&b.down, true)
		time.Sleep(5 * time.Second)
		down := s.counts()
		if down.Failed == 0 || down.LastError == "" || down.LastErrorAt == nil || time.Since(*down.LastErrorAt) > 2*retryAfter {
			t.Errorf("while the broker is down: %+v", down)
		}
		b.set(&b.down, false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		up := s.counts()
		if up.State != StateRunning || up.Acknowledged < down.Acknowledged+40 || up.Lag != 0 {
			t.Errorf("after it came back: %+v, before %+v", up, down)
		}
		s.stop()
	})
}

func TestSideWaitsForItsTopicButNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{down: true}
		s := startSide(t, b, Spec{})
		time.Sleep(prepareFor / 2)
		if counts := s.counts(); counts.State != StateStarting || counts.LastError == "" {
			t.Errorf("while waiting: %+v", counts)
		}
		time.Sleep(prepareFor)
		if counts := s.counts(); counts.State != StateFailed {
			t.Errorf("in the end: %+v", counts)
		}
		s.stop()
	})
}

func TestSideFinishesAfterItsLastMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{}
		s := startSide(t, b, Spec{MessagesPerSecond: 1000, MaxMessages: 500, Producers: 3})
		time.Sleep(time.Minute)
		if counts := s.counts(); counts.State != StateFinished || counts.Produced != 500 || counts.Lag != 0 {
			t.Errorf("counts: %+v", counts)
		}
		s.stop()
	})
}

func TestStopDoesNotWaitForAnswersForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &broker{deaf: true}
		s := startSide(t, b, Spec{})
		time.Sleep(time.Second)
		before := time.Now()
		s.stop()
		if took := time.Since(before); took != leaveWithin {
			t.Errorf("stop took %v, want %v", took, leaveWithin)
		}
	})
}
