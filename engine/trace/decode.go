package trace

import (
	"encoding/json"
	"fmt"
	"slices"
)

// UnmarshalJSON reads a record as MarshalJSON of its fields writes it; Data becomes the event type that Kind names.
func (r *Record) UnmarshalJSON(text []byte) error {
	// The plain fields, without this method, and the event still as text.
	type fields Record
	partly := struct {
		*fields
		Data json.RawMessage `json:"data"`
	}{fields: (*fields)(r)}
	if err := json.Unmarshal(text, &partly); err != nil {
		return err
	}
	event, err := Decode(r.Kind, partly.Data)
	r.Data = event
	return err
}

// Decode reads an event of a kind from its JSON.
func Decode(kind string, data []byte) (Event, error) {
	decode, known := decoders[kind]
	if !known {
		return nil, fmt.Errorf("trace: no event is called %q; was this recorded by a newer twinlog?", kind)
	}
	event, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("trace: reading a %s: %w", kind, err)
	}
	return event, nil
}

// Kinds lists the kinds of all events, sorted.
func Kinds() []string {
	kinds := make([]string, 0, len(decoders))
	for kind := range decoders {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func decodeAs[E Event](data []byte) (Event, error) {
	var event E
	err := json.Unmarshal(data, &event)
	return event, err
}

func add[E Event](decoders map[string]func([]byte) (Event, error)) {
	var event E
	decoders[event.Kind()] = decodeAs[E]
}

// decoders, by kind. A test holds it against the types in this package.
var decoders = func() map[string]func([]byte) (Event, error) {
	all := make(map[string]func([]byte) (Event, error))
	for _, addOne := range []func(map[string]func([]byte) (Event, error)){
		add[NodeStarted], add[NodeReady], add[NodeStopped], add[NodePaused], add[NodeResumed], add[LinkChanged], add[RecordsDropped],
		add[UnsyncedLost], add[DiskChanged], add[DiskCorrupted], add[DamageFound], add[NodeRemoved], add[LatencyMeasured],
		add[MessageSent], add[MessageReceived],
		add[EnsembleRoleChanged], add[EnsembleVoteCast], add[EnsembleCommitAdvanced], add[EnsembleLogAppended], add[SessionCreated], add[SessionConnected],
		add[SessionDisconnected], add[SessionEnded], add[ZnodeCreated], add[ZnodeChanged], add[ZnodeDeleted], add[WatchSet], add[WatchFired],
		add[KafkaBrokerRegistered], add[KafkaControllerElected], add[KafkaControllerResigned], add[KafkaControllerRefused], add[KafkaTopicCreated],
		add[KafkaTopicDeleted], add[KafkaPartitionStateChanged], add[KafkaReplicaRoleChanged], add[KafkaAppended],
		add[KafkaHighWatermarkAdvanced], add[KafkaFollowerFetched], add[KafkaLogStartAdvanced], add[KafkaTruncated], add[KafkaReplicaDamaged],
		add[KafkaISRChanged], add[KafkaAcknowledged], add[KafkaRequestDelayed], add[KafkaGroupChanged], add[KafkaOffsetCommitted],
		add[KafkaReactorMeasured], add[KafkaProduceRefused], add[KafkaLogShapeChanged],
		add[PulsarBrokerRegistered], add[PulsarLeaderElected], add[PulsarBundleOwned], add[PulsarBundleReleased],
		add[PulsarLookupAnswered], add[PulsarTopicLoaded], add[PulsarTopicUnloaded], add[PulsarTopicDeleted],
		add[PulsarProducerAttached], add[PulsarProducerDetached], add[PulsarConsumerAttached], add[PulsarConsumerDetached],
		add[PulsarActiveConsumerChanged], add[PulsarPublished], add[PulsarDispatched], add[PulsarCursorMoved],
		add[PulsarSubscriptionDeleted], add[PulsarBrokerMeasured], add[PulsarSubscriptionMeasured],
		add[PulsarLedgerOffloadStarted], add[PulsarLedgerOffloaded], add[PulsarLedgerOffloadFailed], add[PulsarLedgerDeletedFromBookies],
		add[PulsarOffloadedLedgerDeleted],
		add[BookieRegistered], add[BookieModeChanged], add[LedgerOpened], add[LedgerMetadataRead], add[LedgerEnsembleChanged], add[LedgerFenced], add[LedgerRecoveryStarted],
		add[LedgerClosed], add[LedgerDeleted], add[EntryStored], add[LastAddConfirmedAdvanced],
		add[AuditorElected], add[LedgerUnderReplicated], add[ReplicationStarted], add[FragmentReplicated], add[ReplicationPostponed],
		add[LedgerReplicated],
	} {
		addOne(all)
	}
	return all
}()
