package hub

import (
	"strings"

	"twinlog/engine/trace"
)

// remember notes what a record may lead to.
func (c *consequences) remember(record *trace.Record) {
	node := record.Node
	switch event := record.Data.(type) {
	case trace.MessageReceived:
		c.rememberReceipt(record, event.Message)
	case trace.NodeStarted:
		c.note(record, "started", node)
		c.forget("down", node)
	case trace.DiskChanged:
		c.note(record, "disk", node)
	case trace.NodeStopped:
		c.note(record, "down", node)
		c.leaderGone(record)
	case trace.NodePaused:
		c.note(record, "down", node)
		c.leaderGone(record)
	case trace.NodeResumed:
		c.forget("down", node)
	case trace.KafkaControllerElected:
		c.note(record, "woken", node)
		c.forget("decided", node)
	case trace.KafkaPartitionStateChanged:
		c.note(record, "decided", node)
		c.note(record, "decided", node, partitionName(event.KafkaPartition))
	case trace.KafkaTopicCreated:
		c.note(record, "decided", node)
	case trace.KafkaISRChanged:
		c.note(record, "replica", node, partitionName(event.KafkaPartition))
	case trace.KafkaReplicaRoleChanged:
		c.note(record, "replica", node, partitionName(event.KafkaPartition))
	case trace.KafkaAppended:
		c.note(record, "replica", node, partitionName(event.KafkaPartition))
	case trace.KafkaFollowerFetched:
		c.note(record, "replica", node, partitionName(event.KafkaPartition))
	default:
		c.rememberEnsemble(record)
		c.rememberPulsar(record)
	}
}

// name remembers what something is called; when there are too many names, all are forgotten.
func (c *consequences) name(key, called string) {
	if len(c.names) >= len(c.ring) {
		clear(c.names)
	}
	c.names[key] = called
}

func (c *consequences) forget(fact ...string) {
	key := strings.Join(fact, "|")
	if _, known := c.newest[key]; known {
		c.newest[key] = remembered{}
	}
}

// leaderGone: when the ensemble's leader goes, the others will miss it.
func (c *consequences) leaderGone(record *trace.Record) {
	if record.Node == c.names["leader of the ensemble"] {
		c.note(record, "down", "leader of the ensemble")
	}
}

// writes are ZooKeeper's requests that change something.
var writes = map[string]bool{"create": true, "create2": true, "createContainer": true, "createTTL": true, "setData": true, "delete": true, "deleteContainer": true, "multi": true}

// wakes are requests that set a Kafka-mode controller to work.
var wakes = map[string]bool{"AlterPartition": true, "ControlledShutdown": true, "CreateTopics": true, "DeleteTopics": true, "ElectLeaders": true,
	"AlterPartitionReassignments": true, "CreatePartitions": true}

func (c *consequences) rememberReceipt(record *trace.Record, m trace.Message) {
	node := record.Node
	if m.Exchange.Response {
		switch {
		case m.Name == "ADD_ENTRY":
			c.note(record, "added", node, m.Subject)
		case m.Name == "Fetch":
			c.note(record, "fetched", node, m.Subject)
		case m.Name == "OffsetForLeaderEpoch":
			c.note(record, "epochs", node)
		case m.Protocol == "zookeeper":
			c.note(record, "answer", node)
		}
		return
	}
	if m.Protocol == "raft" {
		c.note(record, "raft", node)
		c.note(record, "received", node, m.Name)
		c.note(record, "received", node, m.Name, m.From)
		return
	}
	c.note(record, "request", node, m.Exchange.Connection, m.Name)
	c.note(record, "received", node, m.Name)
	c.note(record, "received", node, m.Name, m.Subject)
	switch {
	case m.Name == "ADD_ENTRY":
		c.note(record, "adding", node, m.Subject, number(m.Offset))
	case wakes[m.Name]:
		c.note(record, "woken", node)
	case m.Protocol == "zookeeper" && writes[m.Name]:
		c.note(record, "asked", m.Subject)
		if m.Name == "multi" {
			c.note(record, "multi")
		}
	case m.Protocol == "zookeeper":
		c.note(record, "reading", node, m.Subject)
	}
}

func (c *consequences) rememberEnsemble(record *trace.Record) {
	node := record.Node
	switch event := record.Data.(type) {
	case trace.EnsembleRoleChanged:
		c.note(record, "role", node)
		if event.Role == "leader" {
			c.name("leader of the ensemble", node)
			c.forget("down", "leader of the ensemble")
		}
	case trace.SessionCreated:
		c.note(record, "session", event.Session)
	case trace.SessionConnected:
		c.name(event.Session, event.Client)
	case trace.SessionDisconnected:
		c.note(record, "disconnected", event.Session)
	case trace.SessionEnded:
		c.first(record, "ended", number(event.Zxid), event.Session)
		c.note(record, "ended", node, number(event.Zxid), event.Session)
	case trace.ZnodeCreated:
		c.rememberWrite(record, event.Zxid, event.Path)
	case trace.ZnodeChanged:
		c.rememberWrite(record, event.Zxid, event.Path)
	case trace.ZnodeDeleted:
		c.rememberWrite(record, event.Zxid, event.Path)
	case trace.WatchFired:
		if client := c.names[event.Session]; client != "" {
			c.note(record, "watch", client, event.Path)
			if strings.HasPrefix(client, "kafka-") {
				c.note(record, "woken", client)
			}
		}
	}
}

// first is note, unless the fact is known already.
func (c *consequences) first(record *trace.Record, fact ...string) {
	if c.of(fact...) == (trace.Ref{}) {
		c.note(record, fact...)
	}
}

func (c *consequences) rememberWrite(record *trace.Record, zxid int64, path string) {
	// The server that was asked says so itself; what it did is the znode's change for all who follow.
	if record.Cause.Node == record.Node {
		c.note(record, "write", number(zxid), path)
	} else {
		c.first(record, "write", number(zxid), path)
	}
	c.first(record, "write", number(zxid))
	c.note(record, "znode", path)
}

func (c *consequences) rememberPulsar(record *trace.Record) {
	node := record.Node
	switch event := record.Data.(type) {
	case trace.BookieRegistered:
		c.name("bookie "+event.Bookie, node)
	case trace.PulsarBundleOwned:
		c.note(record, "bundle", node)
		c.note(record, "bundle", node, event.Namespace, event.Bundle)
	case trace.PulsarConsumerAttached:
		c.note(record, "consumers", node, event.Topic)
	case trace.PulsarConsumerDetached:
		c.note(record, "consumers", node, event.Topic)
	case trace.PulsarPublished:
		c.note(record, "published", node, event.Topic, number(event.Entry))
	case trace.PulsarDispatched:
		c.note(record, "dispatched", node, event.Topic)
	case trace.EntryStored:
		c.note(record, "stored", node, ledgerName(event.Ledger), number(event.Entry))
	case trace.LastAddConfirmedAdvanced:
		c.note(record, "confirmed", node, ledgerName(event.Ledger))
	case trace.LedgerOpened:
		c.note(record, "ledger", node)
		if topic := trace.TopicOf(event.ManagedLedger); topic != "" && event.Cursor == "" {
			c.name(topicOf(ledgerName(event.Ledger)), topic)
		}
	case trace.LedgerRecoveryStarted:
		c.note(record, "recovery", number(event.Ledger))
	case trace.LedgerClosed:
		c.note(record, "ledger", node)
	}
}
