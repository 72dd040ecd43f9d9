package hub

import (
	"fmt"
	"strings"
	"time"

	"twinlog/engine/trace"
)

const (
	// refusalAgain: the same refusal of a producer is told again after so long.
	refusalAgain = 10 * time.Second
	// saidKept bounds what is remembered as told, of each sort.
	saidKept = 40_000
	// changesKept bounds the replicated changes that are remembered: every server of the ensemble reports each, within seconds.
	changesKept = 2000
)

// told decides which records are notable and say what was not said before.
type told struct {
	said    map[string]string    // by subject, what was said of it last
	votes   map[string]string    // of an election, by who speaks to whom of what, the term
	voted   map[string]uint64    // by server of the ensemble, its own number of the record of its last vote
	refused map[string]time.Time // by partition and error, when a refused produce request was told last
	changes map[string]bool
	order   []string // of changes, oldest first
}

func newTold() told {
	return told{said: map[string]string{}, votes: map[string]string{}, voted: map[string]uint64{}, refused: map[string]time.Time{}, changes: map[string]bool{}}
}

// tells notes a record; true when it is notable and new.
func (t *told) tells(record *trace.Record) bool {
	switch event := record.Data.(type) {
	case trace.MessageSent:
		return event.Message.Protocol == "raft" && t.tellsVote(event.Message)
	case trace.NodeReady, trace.NodeStopped, trace.NodePaused, trace.NodeResumed, trace.NodeRemoved, trace.LinkChanged, trace.UnsyncedLost,
		trace.DiskChanged, trace.DiskCorrupted, trace.DamageFound, trace.RecordsDropped:
		return true
	case trace.EnsembleVoteCast:
		t.voted[record.Node] = record.Seq
		return true
	case trace.EnsembleRoleChanged:
		return t.tellsRole(record, event)
	case trace.SessionEnded:
		return event.Expired && !t.toldChange(event.Zxid, event.Session)
	case trace.ZnodeDeleted:
		return event.Session != "" && isSignpost(event.Path) && !t.toldChange(event.Zxid, event.Path)
	case trace.WatchFired:
		return event.Path == "/controller"
	default:
		return t.tellsKafka(record) || tellsPulsar(record)
	}
}

func (t *told) tellsKafka(record *trace.Record) bool {
	switch event := record.Data.(type) {
	case trace.KafkaControllerElected, trace.KafkaControllerResigned, trace.KafkaControllerRefused, trace.KafkaReplicaDamaged, trace.KafkaTruncated:
		return true
	case trace.KafkaTopicCreated:
		return t.isNew("topic "+event.Topic, event.TopicID)
	case trace.KafkaTopicDeleted:
		delete(t.said, "topic "+event.Topic)
		return true
	case trace.KafkaGroupChanged:
		// A rebalance is one thing in the story, whichever of its two states it is in.
		if strings.HasSuffix(event.State, "Rebalance") {
			return t.isNew("group "+event.Group, "rebalances")
		}
		return t.isNew("group "+event.Group, fmt.Sprintf("%s/%d", event.State, event.Generation))
	case trace.KafkaPartitionStateChanged:
		return t.tellsLeader(event)
	case trace.KafkaISRChanged:
		return !isInternal(event.Topic) && len(event.Added)+len(event.Removed) > 0
	case trace.KafkaProduceRefused:
		return t.tellsRefusal(record.At, event)
	default:
		return false
	}
}

func tellsPulsar(record *trace.Record) bool {
	switch event := record.Data.(type) {
	case trace.PulsarLeaderElected, trace.PulsarBundleOwned, trace.PulsarBundleReleased, trace.PulsarTopicLoaded, trace.PulsarTopicUnloaded,
		trace.PulsarConsumerAttached, trace.BookieModeChanged, trace.LedgerEnsembleChanged, trace.LedgerFenced, trace.LedgerRecoveryStarted,
		trace.LedgerClosed, trace.AuditorElected, trace.LedgerUnderReplicated, trace.ReplicationStarted, trace.FragmentReplicated,
		trace.ReplicationPostponed, trace.LedgerReplicated,
		trace.PulsarLedgerOffloadStarted, trace.PulsarLedgerOffloaded, trace.PulsarLedgerOffloadFailed, trace.PulsarLedgerDeletedFromBookies:
		return true
	case trace.PulsarLookupAnswered:
		return event.Result == "redirect"
	case trace.PulsarActiveConsumerChanged:
		return event.Consumer != ""
	case trace.LedgerOpened:
		return event.Cursor == ""
	default:
		return false
	}
}

// tellsVote: a server that hears no answer asks the same again and again. A vote that is given is told as it is cast.
func (t *told) tellsVote(message trace.Message) bool {
	if !strings.Contains(message.Name, "Vote") || !t.isNewIn(t.votes, message.From+" "+message.To+" "+message.Name, message.Subject) {
		return false
	}
	switch message.Name {
	case "PreVote", "PreVoteResponse", "RequestVote":
		return true
	case "RequestVoteResponse":
		return !strings.HasSuffix(message.Subject, ": granted")
	default:
		return false
	}
}

// tellsRole: a candidate has just voted for itself, which was told, or it misses its leader still.
func (t *told) tellsRole(record *trace.Record, event trace.EnsembleRoleChanged) bool {
	switch event.Role {
	case "leader":
		clear(t.votes) // the election is over
		return true
	case "candidate":
		last, voted := t.voted[record.Node]
		return !(voted && last == record.Seq-1) && t.isNewIn(t.votes, record.Node+" misses", number(int64(event.Term)))
	default:
		return false
	}
}

// tellsLeader: a new controller says again what has not changed.
func (t *told) tellsLeader(event trace.KafkaPartitionStateChanged) bool {
	isNew := t.isNew("leader "+partitionName(event.KafkaPartition), fmt.Sprintf("%d/%d", event.Leader, event.LeaderEpoch))
	if !isNew || isInternal(event.Topic) {
		return false
	}
	switch event.Reason {
	case trace.ReasonCreated, trace.ReasonISRChanged:
		return false
	case trace.ReasonReplicaOffline:
		return event.Leader < 0
	default:
		return true
	}
}

// tellsRefusal: a producer that tries again is refused again. That is told again after a while, or when the reason is another one.
func (t *told) tellsRefusal(at time.Time, event trace.KafkaProduceRefused) bool {
	subject := fmt.Sprintf("%s %s %d", partitionName(event.KafkaPartition), event.Error, event.ISR)
	if last, known := t.refused[subject]; known && at.Sub(last) < refusalAgain {
		return false
	}
	if len(t.refused) > changesKept {
		clear(t.refused)
	}
	t.refused[subject] = at
	return !isInternal(event.Topic)
}

// toldChange: what the ensemble replicates is reported by each of its servers, and told once.
func (t *told) toldChange(zxid int64, subject string) bool {
	change := fmt.Sprintf("%d %s", zxid, subject)
	if t.changes[change] {
		return true
	}
	t.changes[change] = true
	t.order = append(t.order, change)
	if len(t.order) > changesKept {
		delete(t.changes, t.order[0])
		t.order = t.order[1:]
	}
	return false
}

func (t *told) isNew(subject, said string) bool { return t.isNewIn(t.said, subject, said) }

func (*told) isNewIn(all map[string]string, subject, said string) bool {
	if before, known := all[subject]; known && before == said {
		return false
	}
	if len(all) > saidKept {
		clear(all)
	}
	all[subject] = said
	return true
}

// isSignpost: an ephemeral znode there stands for somebody who is alive.
func isSignpost(path string) bool {
	if path == "/controller" {
		return true
	}
	for _, parent := range []string{"/brokers/ids/", "/loadbalance/", "/ledgers/available/"} {
		if strings.HasPrefix(path, parent) {
			return true
		}
	}
	return false
}

func isInternal(topic string) bool { return strings.HasPrefix(topic, "__") }
