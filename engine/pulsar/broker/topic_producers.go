package broker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/pulsar/pulsarpb"
	"twinlog/engine/trace"
)

// waitingProducer wants exclusive access and will get it when those before it are gone.
type waitingProducer struct {
	producer *producer
	answer   func(ready bool, err error)
}

// topicEpochProperty is where a topic keeps the epoch of exclusive access: who comes with an older one was fenced.
const topicEpochProperty = "pulsar.topic.epoch"

// addProducer attaches a producer, or says why not. Answer may be called twice for one that waits for exclusive access.
func (t *topic) addProducer(p *producer, answer func(ready bool, err error)) {
	if err := t.mayProduce(); err != nil {
		answer(false, err)
		return
	}
	existing := t.producers[p.name]
	if existing != nil && existing.conn == p.conn && existing.id == p.id && p.epoch > existing.epoch {
		t.removeProducer(existing)
		existing = nil
	}
	if existing == nil {
		t.admit(p, answer)
		return
	}
	busy := fmt.Errorf("%w: Producer with name '%s' is already connected to topic '%s'", errProducerBusy, p.name, t.name)
	if existing.conn == p.conn {
		answer(false, busy)
		return
	}
	// The client may have lost its connection without this side noticing: ask the old one for a sign of life.
	existing.conn.alive(func(alive bool) {
		handed := t.post(func() {
			if alive && t.producers[p.name] == existing {
				answer(false, busy)
				return
			}
			if t.producers[p.name] == existing {
				t.removeProducer(existing)
			}
			t.addProducer(p, answer)
		})
		if !handed {
			answer(false, errTopicClosing)
		}
	})
}

func (t *topic) mayProduce() error {
	switch {
	case t.closing:
		return errTopicClosing
	case t.log != nil && errors.Is(t.log.Err(), managedledger.ErrTerminated):
		return errTopicIsTerminated
	case t.quotaExceeded != nil && t.quotaExceeded.Policy == policyProducerHold:
		return errQuotaHold
	case t.quotaExceeded != nil && t.quotaExceeded.Policy == policyProducerException:
		return errQuotaException
	}
	return nil
}

// admit applies the access modes (PIP-68): Exclusive is for one producer alone.
func (t *topic) admit(p *producer, answer func(ready bool, err error)) {
	occupied := len(t.producers) > 0 || len(t.waiting) > 0
	switch p.access {
	case pulsarpb.ProducerAccessMode_ExclusiveAccess, pulsarpb.ProducerAccessMode_ExclusiveWithFencing:
		if p.topicEpoch != nil && *p.topicEpoch < t.epoch {
			answer(false, fmt.Errorf("%w: its epoch %d is older than the topic's %d", errProducerFenced, *p.topicEpoch, t.epoch))
			return
		}
		if occupied && p.access == pulsarpb.ProducerAccessMode_ExclusiveAccess {
			answer(false, fmt.Errorf("%w: topic has other producers", errProducerFenced))
			return
		}
		if occupied {
			t.disconnectProducers()
		}
		t.attachExclusive(p, answer)
	case pulsarpb.ProducerAccessMode_WaitForExclusive:
		if p.topicEpoch != nil && *p.topicEpoch < t.epoch {
			answer(false, errProducerFenced)
			return
		}
		if !occupied {
			t.attachExclusive(p, answer)
			return
		}
		if t.attach(p, false) {
			t.waiting = append(t.waiting, waitingProducer{producer: p, answer: answer})
			answer(false, nil)
		}
	default:
		if t.exclusive != nil || len(t.waiting) > 0 {
			answer(false, fmt.Errorf("%w: topic has an existing exclusive producer", errProducerBusy))
			return
		}
		if t.attach(p, true) {
			answer(true, nil)
		}
	}
}

// attachExclusive raises the topic's epoch, durably, before the producer may send: who held it before is then known to be old.
func (t *topic) attachExclusive(p *producer, answer func(ready bool, err error)) {
	if !t.attach(p, true) {
		return
	}
	t.exclusive = p
	next := t.epoch
	if p.topicEpoch == nil {
		if t.hasEpoch {
			next++
		}
	} else {
		next = max(next, *p.topicEpoch)
	}
	t.epoch, t.hasEpoch = next, true
	p.topicEpoch = &next
	if t.log == nil {
		answer(true, nil)
		return
	}
	properties := maps.Clone(t.log.Properties())
	if properties == nil {
		properties = map[string]string{}
	}
	properties[topicEpochProperty] = strconv.FormatUint(next, 10)
	t.inBackground(func(ctx context.Context) {
		err := t.log.SetProperties(ctx, properties)
		t.post(func() {
			if err != nil {
				t.removeProducer(p)
			}
			answer(err == nil, err)
		})
	})
}

// attach makes a producer known; false when its client has gone meanwhile.
func (t *topic) attach(p *producer, ready bool) bool {
	p.topic.Store(t)
	if !p.conn.holdsProducer(p) {
		return false
	}
	if ready {
		t.producers[p.name] = p
	}
	t.lastActive = time.Now()
	if t.dedup != nil {
		p.lastSequence = t.dedup.last(p.name)
	}
	t.broker.tracer.Emit(trace.PulsarProducerAttached{Topic: t.name.String(), Producer: p.name, Client: p.conn.remote})
	return true
}

func (t *topic) detached(p *producer) {
	t.lastActive = time.Now()
	t.broker.tracer.Emit(trace.PulsarProducerDetached{Topic: t.name.String(), Producer: p.name})
}

// removeProducer lets a producer go, and the next one that waits for exclusive access in.
func (t *topic) removeProducer(p *producer) {
	for i, waiting := range t.waiting {
		if waiting.producer == p {
			t.waiting = append(t.waiting[:i], t.waiting[i+1:]...)
			t.detached(p)
			return
		}
	}
	if t.producers[p.name] != p {
		return
	}
	delete(t.producers, p.name)
	t.detached(p)
	if t.exclusive == p {
		t.exclusive = nil
	}
	for len(t.producers) == 0 && len(t.waiting) > 0 && !t.closing {
		next := t.waiting[0]
		t.waiting = t.waiting[1:]
		t.attachExclusive(next.producer, next.answer)
	}
}

// inBackground runs what waits for ZooKeeper or bookies, as long as the topic lives.
func (t *topic) inBackground(work func(ctx context.Context)) {
	t.reads.Go(func() {
		ctx, cancel := context.WithTimeout(t.context, t.broker.config.OperationTimeout)
		defer cancel()
		work(ctx)
	})
}
