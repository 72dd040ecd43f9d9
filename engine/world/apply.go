package world

import "twinlog/engine/trace"

// Apply folds one record into the state. A record about something that the state does not know (its topic is deleted, its session
// over) changes nothing; so does an event that says nothing lasting, such as a message on its way.
func (s *State) Apply(record trace.Record) {
	switch event := record.Data.(type) {
	case trace.RecordsDropped:
		s.Dropped[record.Node] += event.Count
	case trace.NodeStarted, trace.NodeReady, trace.NodeStopped, trace.NodePaused, trace.NodeResumed, trace.LinkChanged,
		trace.DiskChanged, trace.NodeRemoved:
		s.applyNode(record.Node, event)
	case trace.EnsembleRoleChanged, trace.EnsembleVoteCast, trace.EnsembleCommitAdvanced, trace.EnsembleLogAppended,
		trace.SessionConnected, trace.SessionDisconnected, trace.WatchSet, trace.WatchFired:
		s.applyEnsembleServer(record.Node, event)
	case trace.SessionCreated, trace.SessionEnded, trace.ZnodeCreated, trace.ZnodeChanged, trace.ZnodeDeleted:
		s.applyReplicated(record.Node, event)
	case trace.KafkaBrokerRegistered, trace.KafkaControllerElected, trace.KafkaControllerResigned, trace.KafkaControllerRefused,
		trace.KafkaTopicCreated, trace.KafkaTopicDeleted, trace.KafkaPartitionStateChanged, trace.KafkaISRChanged:
		s.applyKafkaCluster(record.Node, event)
	case trace.KafkaReplicaRoleChanged, trace.KafkaAppended, trace.KafkaHighWatermarkAdvanced, trace.KafkaFollowerFetched,
		trace.KafkaLogStartAdvanced, trace.KafkaTruncated, trace.KafkaReplicaDamaged, trace.KafkaAcknowledged, trace.KafkaProduceRefused,
		trace.KafkaLogShapeChanged:
		s.applyKafkaReplica(record.Node, event)
	case trace.KafkaReactorMeasured:
		s.kafkaReactorMeasured(record.Node, event)
	case trace.KafkaGroupChanged, trace.KafkaOffsetCommitted:
		s.applyKafkaGroup(record.Node, event)
	case trace.PulsarBrokerRegistered, trace.PulsarLeaderElected, trace.PulsarBundleOwned, trace.PulsarBundleReleased,
		trace.PulsarLookupAnswered, trace.PulsarBrokerMeasured:
		s.applyPulsarCluster(record.Node, event)
	case trace.PulsarTopicLoaded, trace.PulsarTopicUnloaded, trace.PulsarTopicDeleted, trace.PulsarProducerAttached,
		trace.PulsarProducerDetached, trace.PulsarPublished:
		s.applyPulsarTopic(record.Node, event)
	case trace.PulsarConsumerAttached, trace.PulsarConsumerDetached, trace.PulsarActiveConsumerChanged, trace.PulsarDispatched,
		trace.PulsarCursorMoved, trace.PulsarSubscriptionMeasured, trace.PulsarSubscriptionDeleted:
		s.applySubscription(event)
	case trace.PulsarLedgerOffloadStarted, trace.PulsarLedgerOffloaded, trace.PulsarLedgerOffloadFailed,
		trace.PulsarLedgerDeletedFromBookies, trace.PulsarOffloadedLedgerDeleted:
		s.applyOffload(record.Node, event)
	case trace.BookieRegistered, trace.BookieModeChanged, trace.LedgerOpened, trace.LedgerMetadataRead, trace.LedgerEnsembleChanged, trace.LedgerFenced, trace.LedgerRecoveryStarted,
		trace.LedgerClosed, trace.LedgerDeleted, trace.EntryStored, trace.LastAddConfirmedAdvanced:
		s.applyBookKeeper(record.Node, event)
	case trace.AuditorElected, trace.LedgerUnderReplicated, trace.ReplicationStarted, trace.FragmentReplicated, trace.ReplicationPostponed,
		trace.LedgerReplicated:
		s.applyReplication(record.Node, event)
	}
}
