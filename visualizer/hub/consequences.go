package hub

import (
	"strconv"
	"strings"
	"time"

	"twinlog/engine/trace"
)

// consequences gives a record the one that led to it where its node does not say, by what the protocols make certain: an ephemeral znode
// goes with its session, a follower appends what its last fetch brought, an entry is stored because it was asked for. Each rule takes
// the newest record that can have led to it. A record that no rule knows keeps no cause; none is guessed by time alone, except that a
// controller's work follows what woke it (see workFor).
//
// What is remembered is bounded: the oldest is forgotten, and then there simply is no known cause.
type consequences struct {
	newest map[string]remembered
	ring   []string
	next   int
	// names: by session, whose it is; by ledger, the topic whose entries it holds; by bookie, its node; and who leads the ensemble. At most as
	// many as ring is long.
	names map[string]string
}

type remembered struct {
	ref trace.Ref
	at  time.Time
}

// consequencesKept is how many facts are remembered.
const consequencesKept = 1 << 14

// workFor is how long a controller is taken to be at work on what woke it.
const workFor = 2 * time.Second

func newConsequences(limit int) *consequences {
	return &consequences{newest: make(map[string]remembered, limit), ring: make([]string, limit), names: map[string]string{}}
}

// resolve gives the record its cause if it has none, and remembers what later ones may follow from. It comes after causes.resolve.
func (c *consequences) resolve(record *trace.Record) {
	if record.Cause == (trace.Ref{}) {
		record.Cause = c.causeOf(record)
	}
	c.remember(record)
}

// note remembers the record under a fact.
func (c *consequences) note(record *trace.Record, fact ...string) {
	key := strings.Join(fact, "|")
	if _, known := c.newest[key]; !known {
		delete(c.newest, c.ring[c.next])
		c.ring[c.next] = key
		c.next = (c.next + 1) % len(c.ring)
	}
	c.newest[key] = remembered{trace.Ref{Node: record.Node, Seq: record.Seq}, record.At}
}

// of is the newest record of a fact, the zero Ref when there is none.
func (c *consequences) of(fact ...string) trace.Ref { return c.newest[strings.Join(fact, "|")].ref }

// lately is of, if that was not long before.
func (c *consequences) lately(at time.Time, fact ...string) trace.Ref {
	known := c.newest[strings.Join(fact, "|")]
	if at.Sub(known.at) > workFor {
		return trace.Ref{}
	}
	return known.ref
}

func firstKnown(refs ...trace.Ref) trace.Ref {
	for _, ref := range refs {
		if ref != (trace.Ref{}) {
			return ref
		}
	}
	return trace.Ref{}
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

func partitionName(p trace.KafkaPartition) string { return p.Topic + "-" + number(int64(p.Partition)) }

// topicOf is where the topic of a ledger's entries is remembered.
func topicOf(ledger string) string { return "topic of " + ledger }

func ledgerName(ledger int64) string { return "ledger " + number(ledger) }

func (c *consequences) causeOf(record *trace.Record) trace.Ref {
	area, _, _ := strings.Cut(record.Kind, ".")
	switch area {
	case "message":
		if event, ok := record.Data.(trace.MessageSent); ok {
			return c.ofSending(record, event.Message)
		}
	case "node":
		if _, ok := record.Data.(trace.NodeReady); ok {
			return c.of("started", record.Node)
		}
	case "ensemble":
		return c.ofEnsemble(record)
	case "kafka":
		return c.ofKafka(record)
	case "pulsar", "bookkeeper":
		return c.ofPulsar(record)
	}
	return trace.Ref{}
}

// ofSending: an answer follows what was done for the request, a request what its sender had just learnt.
func (c *consequences) ofSending(record *trace.Record, m trace.Message) trace.Ref {
	node := record.Node
	switch {
	case m.Name == "ADD_ENTRY" && m.Exchange.Response:
		return firstKnown(c.of("stored", node, m.Subject, number(m.Offset)), c.of("request", node, m.Exchange.Connection, m.Name))
	case m.Name == "ADD_ENTRY":
		// An entry of a cursor's ledger, or of one that nobody saw opened, follows from no message that is known.
		if topic := c.names[topicOf(m.Subject)]; topic != "" {
			return c.of("received", node, "SEND", topic)
		}
		return trace.Ref{}
	case m.Name == "SEND_RECEIPT":
		return c.of("published", node, m.Subject, number(m.Offset))
	case m.Name == "MESSAGE":
		return c.of("dispatched", node, m.Subject)
	case m.Protocol == "raft" && strings.HasSuffix(m.Name, "Response"):
		return c.of("received", node, strings.TrimSuffix(m.Name, "Response"), m.To)
	case m.Protocol == "raft":
		return trace.Ref{}
	case m.Exchange.Response || strings.HasSuffix(m.Name, "_RESPONSE"):
		return c.of("request", node, m.Exchange.Connection, strings.TrimSuffix(m.Name, "_RESPONSE"))
	case m.Protocol == "zookeeper":
		return firstKnown(c.lately(record.At, "watch", node, m.Subject), c.lately(record.At, "woken", node))
	case m.Protocol == "kafka" && (m.Name == "LeaderAndISR" || m.Name == "UpdateMetadata" || m.Name == "StopReplica"):
		return firstKnown(c.lately(record.At, "decided", node, m.Subject), c.lately(record.At, "decided", node), c.lately(record.At, "woken", node))
	}
	return trace.Ref{}
}

func (c *consequences) ofEnsemble(record *trace.Record) trace.Ref {
	node := record.Node
	switch event := record.Data.(type) {
	case trace.EnsembleVoteCast:
		return firstKnown(c.of("received", node, "RequestVote", event.For), c.of("role", node))
	case trace.EnsembleRoleChanged:
		return c.ofRole(node, event)
	case trace.EnsembleCommitAdvanced:
		return firstKnown(c.of("raft", node), c.of("role", node))
	case trace.SessionDisconnected:
		return c.of("down", c.names[event.Session])
	case trace.SessionEnded:
		first := c.of("ended", number(event.Zxid), event.Session)
		if event.Expired {
			return firstKnown(first, c.of("down", c.names[event.Session]), c.of("disconnected", event.Session))
		}
		return firstKnown(first, c.of("disconnected", event.Session))
	case trace.SessionConnected:
		return firstKnown(c.of("session", event.Session), c.of("started", event.Client))
	case trace.ZnodeCreated:
		return c.ofWrite(record, event.Zxid, event.Path)
	case trace.ZnodeChanged:
		return c.ofWrite(record, event.Zxid, event.Path)
	case trace.ZnodeDeleted:
		if event.Session != "" {
			if ended := c.of("ended", node, number(event.Zxid), event.Session); ended != (trace.Ref{}) {
				return ended
			}
		}
		return c.ofWrite(record, event.Zxid, event.Path)
	case trace.WatchSet:
		return c.of("reading", node, event.Path)
	}
	return trace.Ref{}
}

// ofRole: a server becomes a candidate when it misses the leader, a leader by a vote, a follower by what a leader says.
func (c *consequences) ofRole(node string, event trace.EnsembleRoleChanged) trace.Ref {
	switch event.Role {
	case "candidate":
		return c.of("down", "leader of the ensemble")
	case "leader":
		return firstKnown(c.of("received", node, "RequestVoteResponse"), c.of("role", node))
	default:
		return c.of("raft", node)
	}
}

// ofWrite: a write was asked for once, and each server carries it out. The first that does follows from the request, the others from it.
func (c *consequences) ofWrite(record *trace.Record, zxid int64, path string) trace.Ref {
	return firstKnown(c.of("write", number(zxid), path), c.of("asked", path), c.of("write", number(zxid)), c.lately(record.At, "multi"))
}

func (c *consequences) ofKafka(record *trace.Record) trace.Ref {
	node := record.Node
	switch event := record.Data.(type) {
	case trace.KafkaBrokerRegistered:
		return firstKnown(c.of("znode", "/brokers/ids/"+number(int64(event.Broker))), c.of("started", node))
	case trace.KafkaControllerElected:
		return firstKnown(c.of("answer", node), c.of("znode", "/controller"))
	case trace.KafkaControllerResigned:
		return firstKnown(c.of("watch", node, "/controller"), c.of("woken", node))
	case trace.KafkaControllerRefused:
		return c.lately(record.At, "received", node, event.API)
	case trace.KafkaTopicCreated, trace.KafkaTopicDeleted:
		return c.lately(record.At, "woken", node)
	case trace.KafkaPartitionStateChanged:
		return firstKnown(c.lately(record.At, "woken", node), c.lately(record.At, "znode", "/brokers/topics/"+event.Topic+"/partitions/"+number(int64(event.Partition))+"/state"))
	case trace.KafkaISRChanged:
		return firstKnown(c.lately(record.At, "partition", node, partitionName(event.KafkaPartition)), c.lately(record.At, "woken", node))
	case trace.KafkaReplicaRoleChanged:
		return firstKnown(c.lately(record.At, "received", node, "LeaderAndISR"), c.lately(record.At, "received", node, "StopReplica"), c.of("started", node))
	case trace.KafkaAppended:
		name := partitionName(event.KafkaPartition)
		if event.Role == "leader" {
			return c.of("received", node, "Produce", name)
		}
		return c.of("fetched", node, name)
	case trace.KafkaFollowerFetched:
		return c.of("received", node, "Fetch", partitionName(event.KafkaPartition))
	case trace.KafkaHighWatermarkAdvanced:
		name := partitionName(event.KafkaPartition)
		if event.Role == "leader" {
			return c.of("replica", node, name)
		}
		return firstKnown(c.of("fetched", node, name), c.of("replica", node, name))
	case trace.KafkaReplicaDamaged:
		return firstKnown(c.lately(record.At, "received", node, "LeaderAndISR"), c.of("started", node))
	case trace.KafkaTruncated:
		return firstKnown(c.lately(record.At, "epochs", node), c.of("replica", node, partitionName(event.KafkaPartition)))
	case trace.KafkaAcknowledged:
		return c.of("received", node, "Produce", partitionName(event.KafkaPartition))
	}
	return trace.Ref{}
}

func (c *consequences) ofPulsar(record *trace.Record) trace.Ref {
	node := record.Node
	switch event := record.Data.(type) {
	case trace.BookieRegistered:
		path := "/ledgers/available/" + event.Bookie
		if event.ReadOnly {
			path = "/ledgers/available/readonly/" + event.Bookie
		}
		return firstKnown(c.of("znode", path), c.of("started", node))
	case trace.BookieModeChanged:
		return c.of("disk", node)
	case trace.PulsarBrokerRegistered:
		return firstKnown(c.of("znode", "/loadbalance/brokers/"+event.Broker), c.of("started", node))
	case trace.PulsarLeaderElected:
		return firstKnown(c.of("znode", "/loadbalance/leader"), c.of("answer", node))
	case trace.PulsarBundleOwned:
		return firstKnown(c.of("znode", "/namespace/"+event.Namespace+"/"+event.Bundle), c.lately(record.At, "received", node, "LOOKUP"))
	case trace.PulsarLookupAnswered:
		return c.lately(record.At, "received", node, "LOOKUP", event.Topic)
	case trace.PulsarTopicLoaded:
		return firstKnown(c.lately(record.At, "ledger", node), c.of("bundle", node, event.Namespace, event.Bundle))
	case trace.PulsarProducerAttached:
		return c.of("received", node, "PRODUCER", event.Topic)
	case trace.PulsarConsumerAttached:
		return c.of("received", node, "SUBSCRIBE", event.Topic)
	case trace.PulsarActiveConsumerChanged:
		return c.of("consumers", node, event.Topic)
	case trace.PulsarPublished:
		return firstKnown(c.of("confirmed", node, ledgerName(event.Ledger)), c.of("received", node, "SEND", event.Topic))
	case trace.PulsarDispatched:
		return firstKnown(c.of("published", node, event.Topic, number(event.Entry)), c.of("received", node, "FLOW", event.Topic))
	case trace.PulsarCursorMoved:
		return c.of("received", node, "ACK", event.Topic)
	case trace.EntryStored:
		return firstKnown(c.of("adding", node, ledgerName(event.Ledger), number(event.Entry)), c.of("received", node, "ADD_ENTRY", ledgerName(event.Ledger)))
	case trace.LastAddConfirmedAdvanced:
		return c.of("added", node, ledgerName(event.Ledger))
	case trace.LedgerOpened:
		return firstKnown(c.lately(record.At, "ledger", node), c.lately(record.At, "bundle", node))
	case trace.LedgerEnsembleChanged:
		for _, bookie := range event.Replaced {
			if down := c.of("down", c.names["bookie "+bookie]); down != (trace.Ref{}) {
				return down
			}
		}
	case trace.LedgerFenced:
		return firstKnown(c.lately(record.At, "received", node, "READ_ENTRY", ledgerName(event.Ledger)), c.of("recovery", number(event.Ledger)))
	case trace.LedgerRecoveryStarted:
		return c.lately(record.At, "bundle", node)
	case trace.LedgerClosed:
		return firstKnown(c.of("recovery", number(event.Ledger)), c.of("confirmed", node, ledgerName(event.Ledger)))
	}
	return trace.Ref{}
}
