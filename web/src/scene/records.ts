import type { Key, Text } from '../i18n/message';
import type { State, TypedRecord } from '../trace/types';
import type { Fact } from './facts';
import { topicLabel } from './pulsar';
import { reasonText, whyOf } from './reasons';
import { routineText } from './routine';
import { sentenceOf } from './story';
import { named, replicaOf, type Thing } from './things';

/** A record as one sentence: the story's own if it is notable, else one that says what it is. */
export function recordText(record: TypedRecord, state: State): Text {
  return takenOver(record) ?? sentenceOf(record, state)?.text ?? everydayText(record);
}

/** A new controller says again what it found: nothing was created, and nobody leads who did not lead before. */
function takenOver({ node, kind, data }: TypedRecord): Text | undefined {
  if (kind === 'kafka.topicCreated' && data.found) return { key: 'record.topicFound', params: { node, topic: data.topic } };
  if (kind !== 'kafka.partitionStateChanged' || data.reason !== 'taken-over') return undefined;
  const found = { node, partition: partitionOf(data), epoch: String(data.leaderEpoch) };
  return data.leader < 0 ? { key: 'record.leaderlessFound', params: found } : { key: 'record.leaderFound', params: { ...found, leader: `kafka-${data.leader}` } };
}

/** Records that come by the thousand under load: nobody reads all of them. */
const EVERYDAY = new Set([
  'message.sent', 'message.received', 'kafka.appended', 'kafka.highWatermarkAdvanced', 'kafka.followerFetched', 'kafka.acknowledged', 'kafka.requestDelayed',
  'kafka.offsetCommitted', 'kafka.logShapeChanged', 'pulsar.published', 'pulsar.dispatched', 'pulsar.cursorMoved', 'bookkeeper.entryStored', 'bookkeeper.lastAddConfirmedAdvanced',
  'ensemble.commitAdvanced', 'ensemble.watchSet', 'ensemble.watchFired', 'ensemble.logAppended', 'pulsar.brokerMeasured', 'pulsar.subscriptionMeasured',
  'kafka.reactorMeasured', 'trace.latencyMeasured',
]);

export function isEveryday(record: TypedRecord): boolean {
  return EVERYDAY.has(record.kind);
}

export function isMessage(record: TypedRecord): record is Extract<TypedRecord, { kind: 'message.sent' | 'message.received' }> {
  return record.kind === 'message.sent' || record.kind === 'message.received';
}

/** The other end of a message: a node by its name, and whoever is none as a client. */
const peer = (name: string): string | Text => (name === 'client' ? { key: 'record.client' } : name);

function everydayText(record: TypedRecord): Text {
  const { node } = record;
  switch (record.kind) {
    case 'message.sent':
    case 'message.received': {
      const { from, to, name, subject, exchange, protocol } = record.data;
      // Pulsar's commands have names of their own for both ways; elsewhere an answer goes by the name of its request.
      const key = exchange.response && protocol !== 'pulsar' ? 'record.response' : 'record.request';
      const what: Text = { key, params: { name, subject: subject?.includes('://') ? topicLabel(subject) : (subject ?? '') } };
      return { key: record.kind === 'message.sent' ? 'record.sent' : 'record.received', params: { from: peer(from), to: peer(to), what } };
    }
    case 'kafka.appended':
      return { key: 'record.appended', params: { node, partition: partitionOf(record.data), leo: record.data.leo, count: record.data.records } };
    case 'kafka.highWatermarkAdvanced':
      return { key: 'record.highWatermark', params: { node, partition: partitionOf(record.data), offset: record.data.highWatermark } };
    case 'kafka.followerFetched':
      return { key: 'record.followerFetched', params: { node, follower: `kafka-${record.data.replica}`, partition: partitionOf(record.data), offset: record.data.leo } };
    case 'kafka.acknowledged':
      return { key: 'record.acknowledged', params: { node, partition: partitionOf(record.data), offset: record.data.lastOffset, acks: record.data.acks === -1 ? 'all' : String(record.data.acks) } };
    case 'kafka.requestDelayed':
      return { key: 'record.delayed', params: { node, name: record.data.api, subject: record.data.subject } };
    case 'kafka.offsetCommitted':
      return { key: 'record.committed', params: { group: record.data.group, partition: partitionOf(record.data), offset: record.data.offset } };
    case 'kafka.replicaRoleChanged':
      return { key: 'record.role', params: { node, partition: partitionOf(record.data), role: record.data.role, epoch: String(record.data.leaderEpoch), leo: record.data.leo } };
    case 'kafka.logShapeChanged':
      return { key: 'record.logShape', params: { node, partition: partitionOf(record.data), count: record.data.segmentCount, epoch: String(record.data.epochs?.at(-1)?.epoch ?? '–') } };
    case 'kafka.partitionStateChanged':
      return { key: 'record.partitionState', params: { node, partition: partitionOf(record.data), reason: reasonText(record.data.reason) } };
    case 'kafka.reactorMeasured': {
      const { queued, busy, handlers, produces, fetches, replicaFetch } = record.data;
      return { key: 'record.reactorMeasured', params: { node, queued, busy, handlers, waiting: produces + fetches + replicaFetch } };
    }
    case 'trace.latencyMeasured':
      return { key: 'record.latencyMeasured', params: { node, operation: record.data.operation, count: (record.data.buckets ?? []).reduce((sum, { count }) => sum + count, 0) } };
    case 'pulsar.published':
      return { key: 'record.published', params: { topic: topicLabel(record.data.topic), ledger: String(record.data.ledger), entry: record.data.entry, count: record.data.messages } };
    case 'pulsar.dispatched':
      return { key: 'record.dispatched', params: { subscription: record.data.subscription, ledger: String(record.data.ledger), entry: record.data.entry, count: record.data.messages } };
    case 'pulsar.cursorMoved':
      return { key: 'record.cursor', params: { subscription: record.data.subscription, ledger: String(record.data.ledger), entry: record.data.entry, backlog: record.data.backlog } };
    case 'pulsar.lookupAnswered':
      return { key: 'record.lookup', params: { node, topic: topicLabel(record.data.topic), bundle: record.data.bundle ?? '', result: lookupResult(record.data) } };
    case 'pulsar.brokerMeasured':
      return { key: 'record.brokerMeasured', params: { node, in: record.data.rateIn, out: record.data.rateOut } };
    case 'pulsar.subscriptionMeasured': {
      const { subscription, ledger, entry, pending, backlog } = record.data;
      return { key: 'record.subscriptionMeasured', params: { subscription, ledger: String(ledger), entry, pending, backlog } };
    }
    case 'ensemble.logAppended':
      return { key: 'record.logAppended', params: { node, index: record.data.lastIndex, term: String(record.data.term) } };
    case 'bookkeeper.entryStored':
      return { key: 'record.stored', params: { node, ledger: String(record.data.ledger), entry: record.data.entry } };
    case 'bookkeeper.lastAddConfirmedAdvanced':
      return { key: 'record.confirmed', params: { ledger: String(record.data.ledger), entry: record.data.lastAddConfirmed } };
    case 'ensemble.znodeCreated':
      return { key: 'record.znodeCreated', params: { node, path: record.data.path } };
    case 'ensemble.znodeChanged':
      return { key: 'record.znodeChanged', params: { node, path: record.data.path, version: String(record.data.version) } };
    case 'ensemble.znodeDeleted':
      return { key: 'record.znodeDeleted', params: { node, path: record.data.path } };
    case 'ensemble.watchFired':
      return { key: 'record.watchFired', params: { node, path: record.data.path } };
    case 'node.started':
      return { key: 'record.started', params: { node } };
    default:
      return routineText(record) ?? { key: 'record.other', params: { node, kind: record.kind } };
  }
}

function lookupResult({ result, url }: { result: string; url: string }): Text | string {
  const key = { connect: 'pulsar.lookup.connect', redirect: 'pulsar.lookup.redirect', failed: 'pulsar.lookup.failed' }[result] as Key | undefined;
  return key ? { key, params: { target: url } } : result;
}

function partitionOf({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}-${partition}`;
}

/** Whether a record is about a thing. A znode's are told by every server of the ensemble, each for itself. */
export function concerns(thing: Thing): (record: TypedRecord) => boolean {
  switch (thing.type) {
    case 'node':
      return (record) => record.node === thing.node || ends(record, thing.node);
    case 'replica':
      return aboutReplica(thing);
    case 'group':
      return ({ kind, data }) => (kind === 'kafka.groupChanged' || kind === 'kafka.offsetCommitted') && data.group === thing.group;
    case 'topic':
      return ({ data }) => field(data, 'topic') === thing.topic || field(data, 'subject') === thing.topic;
    case 'subscription':
      return ({ data }) => field(data, 'topic') === thing.topic && field(data, 'subscription') === thing.subscription;
    case 'bundle':
      return ({ data }) => field(data, 'namespace') === thing.namespace && field(data, 'bundle') === thing.range;
    case 'ledger':
      return ({ kind, data }) => field(data, 'ledger') === thing.ledger || (kind.startsWith('message.') && field(data, 'subject') === `ledger ${thing.ledger}`);
    case 'znode':
      return ({ data }) => field(data, 'path') === thing.path || field(data, 'subject') === thing.path;
    case 'record':
      return () => false;
  }
}

function ends(record: TypedRecord, node: string): boolean {
  if (record.kind !== 'node.linkChanged' && !isMessage(record)) return false;
  return record.data.from === node || record.data.to === node;
}

/** What the controller decides about the partition concerns each of its replicas; what another replica's broker does with its own does not. */
function aboutReplica({ topic, partition, broker }: Extract<Thing, { type: 'replica' }>): (record: TypedRecord) => boolean {
  const node = `kafka-${broker}`;
  const name = `${topic}-${partition}`;
  return (record) => {
    const { kind, data } = record;
    if (isMessage(record)) return record.data.subject === name && (record.data.from === node || record.data.to === node);
    if (field(data, 'topic') !== topic) return false;
    if (kind === 'kafka.topicCreated' || kind === 'kafka.topicDeleted') return true;
    if (field(data, 'partition') !== partition) return false;
    if (kind === 'kafka.partitionStateChanged' || kind === 'kafka.isrChanged') return true;
    return record.node === node || (kind === 'kafka.followerFetched' && data.replica === broker);
  };
}

function field(data: object, name: string): unknown {
  return (data as Record<string, unknown>)[name];
}

/** The fields of a record as the trace has them, and the things that it names. */
export function recordFacts(record: TypedRecord, state: State): Fact[] {
  return [
    { label: 'fact.kind', code: record.kind },
    { label: 'table.node', things: state.nodes[record.node] ? [named({ type: 'node', node: record.node })] : [], value: state.nodes[record.node] ? undefined : record.node },
    { label: 'fact.about', things: thingsIn(record, state) },
    { label: 'fact.why', value: whyOf(record) },
    { label: 'fact.fields', lines: flatten(withoutWords(record.data)) },
  ].filter(({ things, value, lines, code }) => things?.length || value !== undefined || lines?.length || code) as Fact[];
}

function thingsIn({ data }: TypedRecord, state: State) {
  const subject = field(data, 'subject');
  const candidates: (Thing | undefined)[] = [];
  for (const end of [field(data, 'from'), field(data, 'to')]) if (typeof end === 'string' && state.nodes[end]) candidates.push({ type: 'node', node: end });
  const topic = field(data, 'topic');
  if (typeof topic === 'string' && typeof field(data, 'partition') === 'number') candidates.push(replicaOf(state, `${topic}-${String(field(data, 'partition'))}`));
  else if (typeof topic === 'string' && state.pulsar.topics[topic]) candidates.push({ type: 'topic', topic });
  if (typeof subject === 'string') {
    const ledger = /^ledger (\d+)$/.exec(subject)?.[1];
    if (ledger && state.pulsar.ledgers[ledger]) candidates.push({ type: 'ledger', ledger: Number(ledger) });
    else if (state.ensemble.znodes[subject]) candidates.push({ type: 'znode', path: subject });
    else if (state.pulsar.topics[subject]) candidates.push({ type: 'topic', topic: subject });
    else candidates.push(replicaOf(state, subject));
  }
  const ledger = field(data, 'ledger');
  if (typeof ledger === 'number' && state.pulsar.ledgers[ledger]) candidates.push({ type: 'ledger', ledger });
  const path = field(data, 'path');
  if (typeof path === 'string' && state.ensemble.znodes[path]) candidates.push({ type: 'znode', path });
  const group = field(data, 'group');
  if (typeof group === 'string' && state.kafka.groups[group]) candidates.push({ type: 'group', group });
  return candidates.filter((thing) => thing !== undefined).map(named);
}

/** What is told in the reader's language need not be listed in English. */
function withoutWords(data: object): object {
  if (!('why' in data)) return data;
  return Object.fromEntries(Object.entries(data).filter(([name]) => name !== 'why' && name !== 'reason'));
}

/** Lines of fields that are shown, and the length of one. */
const FIELD_LIMIT = 60;
const LINE_LIMIT = 300;

function flatten(data: object, prefix = ''): string[] {
  const lines = Object.entries(data).flatMap(([name, value]): string[] => {
    if (value === null || typeof value !== 'object') return [`${prefix}${name}: ${String(value)}`];
    if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) return [`${prefix}${name}: ${value.join(', ')}`];
    return flatten(value as object, `${prefix}${name}.`);
  });
  return lines.slice(0, FIELD_LIMIT).map((line) => (line.length > LINE_LIMIT ? `${line.slice(0, LINE_LIMIT)}…` : line));
}
