// What arrives from the server, as TypeScript. State mirrors engine/world, events mirror engine/trace.

export interface Ref {
  node: string;
  seq: number;
}

export interface Exchange {
  connection: string;
  correlation: number;
  response: boolean;
}

export interface Message {
  exchange: Exchange;
  from: string;
  to: string;
  protocol: string;
  name: string;
  bytes: number;
  subject?: string;
  offset: number;
  count: number;
  folded?: number;
}

interface Partition {
  topic: string;
  partition: number;
}

export interface GroupMemberEvent {
  id: string;
  instanceID?: string;
  clientID: string;
  assigned: Partition[] | null;
}

/** The data of each kind of event. */
export interface EventData {
  'message.sent': Message;
  'message.received': Message;

  'node.started': { role: string; id: number; addresses: Record<string, string> | null };
  'node.ready': Record<string, never>;
  'node.stopped': { reason: string; detail?: string };
  'node.paused': Record<string, never>;
  'node.resumed': Record<string, never>;
  'node.linkChanged': Link;
  'trace.recordsDropped': { count: number };

  'ensemble.roleChanged': { term: number; role: string; leader: string };
  'ensemble.voteCast': { term: number; for: string };
  'ensemble.commitAdvanced': { term: number; index: number; zxid: number; folded?: number };
  'ensemble.sessionCreated': { session: string; timeoutMS: number; zxid: number };
  'ensemble.sessionConnected': { session: string; client: string; address: string };
  'ensemble.sessionDisconnected': { session: string; reason: string };
  'ensemble.sessionEnded': { session: string; expired: boolean; zxid: number };
  'ensemble.znodeCreated': { path: string; mode: string; session: string; data: string; bytes: number; zxid: number };
  'ensemble.znodeChanged': { path: string; data: string; bytes: number; version: number; zxid: number };
  'ensemble.znodeDeleted': { path: string; session?: string; zxid: number };
  'ensemble.watchSet': { session: string; path: string; type: string };
  'ensemble.watchFired': { session: string; path: string; event: string; zxid: number };

  'kafka.brokerRegistered': { broker: number; epoch: number; host: string; port: number };
  'kafka.controllerElected': { broker: number; epoch: number };
  'kafka.controllerResigned': { broker: number; epoch: number; reason: string };
  'kafka.topicCreated': { topic: string; topicID: string; replicas: number[][] | null; config?: Record<string, string> };
  'kafka.topicDeleted': { topic: string };
  'kafka.partitionStateChanged': Partition & {
    leader: number;
    leaderEpoch: number;
    isr: number[] | null;
    replicas: number[] | null;
    partitionEpoch: number;
    controllerEpoch: number;
    reason: string;
  };
  'kafka.replicaRoleChanged': Partition & {
    role: string;
    leader: number;
    leaderEpoch: number;
    leo: number;
    highWatermark: number;
    logStart: number;
  };
  'kafka.appended': Partition & { role: string; baseOffset: number; leo: number; bytes: number; records: number; folded?: number };
  'kafka.highWatermarkAdvanced': Partition & { role: string; highWatermark: number; folded?: number };
  'kafka.followerFetched': Partition & { replica: number; leo: number; folded?: number };
  'kafka.logStartAdvanced': Partition & { logStart: number };
  'kafka.truncated': Partition & { from: number; to: number; leaderEpoch: number };
  'kafka.isrChanged': Partition & { isr: number[] | null; added?: number[]; removed?: number[]; partitionEpoch: number };
  'kafka.acknowledged': Partition & { acks: number; baseOffset: number; lastOffset: number; folded?: number };
  'kafka.requestDelayed': { api: string; subject: string; exchange: Exchange; waiting: number; folded?: number };
  'kafka.groupChanged': {
    group: string;
    state: string;
    generation: number;
    strategy: string;
    leader: string;
    members: GroupMemberEvent[] | null;
    reason: string;
  };
  'kafka.offsetCommitted': Partition & { group: string; offset: number; folded?: number };

  'pulsar.brokerRegistered': { broker: string; url: string };
  'pulsar.leaderElected': { broker: string };
  'pulsar.bundleOwned': { namespace: string; bundle: string };
  'pulsar.bundleReleased': { namespace: string; bundle: string; reason: string };
  'pulsar.lookupAnswered': { topic: string; result: string; url: string; authoritative: boolean; transport: string };
  'pulsar.topicLoaded': { topic: string; namespace: string; bundle: string; hash: number; ledgers: number[] | null };
  'pulsar.topicUnloaded': { topic: string; reason: string };
  'pulsar.topicDeleted': { topic: string };
  'pulsar.producerAttached': { topic: string; producer: string; client: string };
  'pulsar.producerDetached': { topic: string; producer: string };
  'pulsar.consumerAttached': { topic: string; subscription: string; type: string; consumer: string; name: string; client: string };
  'pulsar.consumerDetached': { topic: string; subscription: string; consumer: string };
  'pulsar.activeConsumerChanged': { topic: string; subscription: string; consumer: string };
  'pulsar.published': { topic: string; ledger: number; entry: number; messages: number; bytes: number; folded?: number };
  'pulsar.dispatched': {
    topic: string;
    subscription: string;
    consumer: string;
    ledger: number;
    entry: number;
    messages: number;
    fromCache: boolean;
    folded?: number;
  };
  'pulsar.cursorMoved': { topic: string; subscription: string; ledger: number; entry: number; backlog: number; folded?: number };
  'pulsar.subscriptionDeleted': { topic: string; subscription: string };

  'bookkeeper.bookieRegistered': { bookie: string };
  'bookkeeper.ledgerOpened': {
    ledger: number;
    ensemble: string[] | null;
    writeQuorum: number;
    ackQuorum: number;
    managedLedger: string;
    cursor?: string;
  };
  'bookkeeper.ensembleChanged': { ledger: number; firstEntry: number; ensemble: string[] | null; replaced: string[] | null };
  'bookkeeper.ledgerFenced': { ledger: number };
  'bookkeeper.recoveryStarted': { ledger: number };
  'bookkeeper.ledgerClosed': { ledger: number; lastEntry: number; length: number; recovered: boolean };
  'bookkeeper.ledgerDeleted': { ledger: number };
  'bookkeeper.entryStored': { ledger: number; entry: number; bytes: number; folded?: number };
  'bookkeeper.lastAddConfirmedAdvanced': { ledger: number; lastAddConfirmed: number; folded?: number };
}

export type Kind = keyof EventData;

/** A record as the stream carries it: n is its place in the one order that the server gave to the records of all nodes. */
export interface WireRecord<K extends Kind = Kind> {
  n: number;
  run: string;
  node: string;
  seq: number;
  at: string;
  cause?: Ref;
  kind: K;
  data: EventData[K];
}

/** A record of one of the known kinds, so that a switch on kind narrows data. */
export type TypedRecord = { [K in Kind]: WireRecord<K> & { time: number } }[Kind];

export interface Window {
  firstN: number;
  lastN: number;
}

export interface SnapshotFrame {
  type: 'snapshot';
  n: number;
  at: string;
  state: State;
  window: Window;
  resynchronised: number;
}

export interface RecordsFrame {
  type: 'records';
  records: WireRecord[];
}

export type Frame = SnapshotFrame | RecordsFrame;

// The state: engine/world/state.go tells what each field means.

export interface State {
  nodes: Record<string, NodeState>;
  links: Record<string, Link>;
  ensemble: Ensemble;
  kafka: Kafka;
  pulsar: Pulsar;
  dropped: Record<string, number>;
}

export interface NodeState {
  role: string;
  id: number;
  state: string;
  detail: string;
  addresses: Record<string, string>;
}

export interface Link {
  from: string;
  to: string;
  cut: boolean;
  delayMS: number;
  jitterMS: number;
  bytesPerSecond: number;
}

export interface Ensemble {
  leader: string;
  term: number;
  servers: Record<string, EnsembleServer>;
  applied: Change;
  znodes: Record<string, Znode>;
  sessions: Record<string, Session>;
}

export interface EnsembleServer {
  role: string;
  term: number;
  leader: string;
  commitIndex: number;
  zxid: number;
  votedFor: string;
  voteTerm: number;
  reported: Change;
}

export interface Change {
  zxid: number;
  parts: number;
}

export interface Znode {
  mode: string;
  session: string;
  data: string;
  bytes: number;
  version: number;
  czxid: number;
  mzxid: number;
}

export interface Session {
  timeoutMS: number;
  client: string;
  address: string;
  server: string;
  watches: Record<string, string[]>;
}

export interface Kafka {
  controller: { broker: number; epoch: number };
  brokers: Record<string, KafkaBroker>;
  topics: Record<string, KafkaTopic>;
  groups: Record<string, KafkaGroup>;
}

export interface KafkaBroker {
  node: string;
  registered: boolean;
  epoch: number;
  host: string;
  port: number;
}

export interface KafkaTopic {
  id: string;
  config: Record<string, string>;
  partitions: Record<string, KafkaPartition>;
}

export interface KafkaPartition {
  leader: number;
  leaderEpoch: number;
  isr: number[];
  replicas: number[];
  partitionEpoch: number;
  logs: Record<string, KafkaLog>;
  acknowledged: Record<string, number>;
}

export interface KafkaLog {
  role: string;
  leaderEpoch: number;
  logStart: number;
  leo: number;
  highWatermark: number;
  fetchedLEO: number;
  bytes: number;
}

export interface KafkaGroup {
  coordinator: number;
  state: string;
  generation: number;
  strategy: string;
  leader: string;
  members: Record<string, KafkaGroupMember>;
  offsets: Record<string, number>;
}

export interface KafkaGroupMember {
  instanceID: string;
  clientID: string;
  assigned: string[];
}

export interface Pulsar {
  leader: string;
  brokers: Record<string, PulsarBroker>;
  bundles: Record<string, Bundle>;
  topics: Record<string, PulsarTopic>;
  ledgers: Record<string, Ledger>;
  bookies: Record<string, Bookie>;
}

export interface PulsarBroker {
  registered: boolean;
  broker: string;
  url: string;
}

export interface Bundle {
  namespace: string;
  range: string;
  owner: string;
}

export interface PulsarTopic {
  owner: string;
  namespace: string;
  bundle: string;
  hash: number;
  ledgers: number[];
  producers: Record<string, string>;
  lastPublished: Position;
  messages: number;
  subscriptions: Record<string, Subscription>;
}

export interface Position {
  ledger: number;
  entry: number;
}

export interface Subscription {
  type: string;
  active: string;
  consumers: Record<string, Consumer>;
  markDelete: Position;
  backlog: number;
}

export interface Consumer {
  name: string;
  client: string;
  lastDispatched: Position;
  messages: number;
}

export interface Ledger {
  state: string;
  writeQuorum: number;
  ackQuorum: number;
  ensembles: LedgerEnsemble[];
  writer: string;
  lastAddConfirmed: number;
  lastEntry: number;
  length: number;
  recovered: boolean;
  managedLedger: string;
  cursor: string;
  fencedBy: string[];
  stored: Record<string, Stored>;
}

export interface LedgerEnsemble {
  firstEntry: number;
  bookies: string[];
}

export interface Stored {
  lastEntry: number;
  entries: number;
  bytes: number;
}

export interface Bookie {
  node: string;
  registered: boolean;
}
