package groupcoordinator

import (
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/reactor"
	"twinlog/engine/kafka/broker/records"
	"twinlog/engine/kafka/group"
	"twinlog/engine/trace"
)

// after carries out what a group decided and looks when it is next to be looked at.
func (c *Coordinator) after(g *member, now time.Time) {
	effects := g.Take()
	for _, event := range effects.Events {
		c.config.Tracer.EmitCaused(c.cause, event)
	}
	for _, store := range effects.Stores {
		record := groupRecord(g.ID(), store.Metadata, now)
		c.append(g.partition, []records.Record{record}, func(err *kerr.Error, now time.Time) {
			g.Stored(store.ID, storeError(err), now)
			c.after(g, now)
		})
	}
	for _, answer := range effects.Joins {
		if w, waits := c.tickets[answer.Ticket]; waits {
			delete(c.tickets, answer.Ticket)
			w.join(answer)
		}
	}
	for _, answer := range effects.Syncs {
		if w, waits := c.tickets[answer.Ticket]; waits {
			delete(c.tickets, answer.Ticket)
			w.sync(answer)
		}
	}
	if g.Abandoned() && g.Generation() == 0 && g.partition.groups[g.ID()] == g {
		delete(g.partition.groups, g.ID()) // a request named it, and nothing came of it
	}
	c.deadlines.set(g)
}

func (c *Coordinator) ticket(w waiting) group.Ticket {
	c.lastTicket++
	c.tickets[c.lastTicket] = w
	return c.lastTicket
}

// showWaiting tells the trace that a request waits for other members.
func (c *Coordinator) showWaiting(r *reactor.Request, ticket group.Ticket) {
	if _, waits := c.tickets[ticket]; waits {
		c.config.Tracer.EmitCaused(c.cause, trace.KafkaRequestDelayed{
			API: kmsg.NameForKey(r.Key), Subject: reactor.DescribeRequest(r.Body).Subject, Exchange: r.Exchange, Waiting: len(c.tickets),
		})
	}
}

func (c *Coordinator) tick(now time.Time) {
	for _, g := range c.deadlines.due(now) {
		if g.partition.groups[g.ID()] != g {
			continue
		}
		g.Tick(now)
		c.after(g, now)
	}
}

// append writes records to a group's partition. Done is called by the owner's goroutine; with NOT_COORDINATOR when the partition moved away
// meanwhile.
func (c *Coordinator) append(p *partition, list []records.Record, done func(err *kerr.Error, now time.Time)) {
	if len(list) == 0 {
		c.inbox.push(func(now time.Time) { done(nil, now) })
		return
	}
	cause := c.cause
	c.config.Log.Append(p.index, p.leaderEpoch, records.Build(list), c.config.CommitTimeout, func(err error) {
		c.inbox.push(func(now time.Time) {
			c.cause = cause
			kafkaError := asKafkaError(err)
			if c.partitions[p.index] != p {
				kafkaError = kerr.NotCoordinator
			}
			done(kafkaError, now)
			c.cause = cause
		})
	})
}

func asKafkaError(err error) *kerr.Error {
	if err == nil {
		return nil
	}
	if known, isKafka := err.(*kerr.Error); isKafka {
		return known
	}
	return kerr.UnknownServerError
}

// storeError is what members are told when a group's metadata could not be written.
func storeError(err *kerr.Error) *kerr.Error {
	switch err {
	case nil:
		return nil
	case kerr.RequestTimedOut:
		return kerr.RebalanceInProgress // they join again, and it is tried again
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		return kerr.UnknownServerError
	}
	return logError(err)
}

// commitError is what a client is told when its offsets could not be written.
func commitError(err *kerr.Error) *kerr.Error {
	switch err {
	case kerr.MessageTooLarge, kerr.RecordListTooLarge:
		return kerr.InvalidCommitOffsetSize
	}
	return logError(err)
}

func logError(err *kerr.Error) *kerr.Error {
	switch err {
	case kerr.UnknownTopicOrPartition, kerr.NotEnoughReplicas, kerr.NotEnoughReplicasAfterAppend:
		return kerr.CoordinatorNotAvailable
	case kerr.NotLeaderForPartition, kerr.KafkaStorageError, kerr.FencedLeaderEpoch:
		return kerr.NotCoordinator
	}
	return err
}

func code(err *kerr.Error) int16 {
	if err == nil {
		return 0
	}
	return err.Code
}
