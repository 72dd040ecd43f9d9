// The names that the page uses for what the server sends. The types themselves are generated from the Go code.
import type { EventByKind, Kind, RecordOf, TraceRecord, WireRecords, WireSnapshot } from './events.gen';

export type {
  EventByKind as EventData,
  Kind,
  LinkChanged as LinkEvent,
  Message,
  TraceRecord as WireRecord,
  WireSnapshot as SnapshotFrame,
  WorldBookie as Bookie,
  WorldBundle as Bundle,
  WorldConsumer as Consumer,
  WorldEnsembleServer as EnsembleServer,
  WorldKafkaGroup as KafkaGroup,
  WorldKafkaLog as KafkaLog,
  WorldKafkaPartition as KafkaPartition,
  WorldLedger as Ledger,
  WorldLink as Link,
  WorldLookup as Lookup,
  WorldPulsarTopic as PulsarTopic,
  WorldSession as Session,
  WorldState as State,
  WorldSubscription as Subscription,
  WorldUnderReplication as UnderReplication,
  WorldZnode as Znode,
} from './events.gen';

/** Records of the stream, told one by one. */
export interface RecordsFrame extends Omit<WireRecords, 'records'> {
  records: Iterable<TraceRecord>;
}

export type Frame = WireSnapshot | RecordsFrame;

/** A record as the page keeps it, with its time in milliseconds; a switch on kind narrows data. */
interface KeptRecord<K extends Kind> extends Pick<RecordOf<K>, 'n' | 'node' | 'seq' | 'cause'> {
  kind: K;
  data: EventByKind[K];
  time: number;
}

export type TypedRecord = { [K in Kind]: KeptRecord<K> }[Kind];

/** Records as they come, or as they were kept. */
export type Records = Iterable<TraceRecord | TypedRecord>;
