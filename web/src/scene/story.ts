import type { Text } from '../i18n/message';
import type { State, TypedRecord } from '../trace/types';
import { tellAutorecovery } from './autorecovery';
import { Holders } from './held';
import { isInternal } from './kafka';
import { topicLabel } from './pulsar';
import { topicNamed } from './things';
import { tellVote, VotesTold } from './votes';

/** What kind of moment it is: picks the mark on the timeline. */
export type Moment = 'fault' | 'node' | 'election' | 'partition' | 'ownership' | 'ledger' | 'client';

export const MOMENTS: readonly Moment[] = ['fault', 'node', 'election', 'partition', 'ownership', 'ledger', 'client'];

/** One sentence of the story: a notable record, told as a key with parameters. */
export interface Sentence {
  n: number;
  time: number;
  node: string;
  side: 'ensemble' | 'kafka' | 'pulsar';
  moment: Moment;
  text: Text;
  /** The topic that it is about, as readers call it. */
  topic?: string;
  /** Of a fault: the partitions, topics and ledgers that the node had then. */
  held?: readonly string[];
  /** Of a fault that was no surprise: the record with which the node began to hand over what it had. */
  since?: { n: number; time: number };
}

type Told = Pick<Sentence, 'side' | 'moment' | 'text'> | undefined;

/** Sentences that are kept; the oldest go first. */
const KEPT = 2000;

/** The same refusal of a producer is told again after so long. */
const REFUSAL_AGAIN_MS = 10_000;

/**
 * The story so far: the notable records as sentences, oldest first. What every server of the ensemble reports (a session's end) is told
 * once, by the first.
 */
export class Story {
  private sentences: Sentence[] = [];
  private replicated = new Set<string>();
  /** By partition, the leader and epoch that were told last: a new controller says again what has not changed. */
  private leaders = new Map<string, string>();
  /** By group, the state and generation that were told last: a member that joins again changes neither. */
  private groups = new Map<string, string>();
  /** By partition and error, when a refused produce request was told last. */
  private refused = new Map<string, number>();
  /** By topic, the id that was told last. */
  private topics = new Map<string, string>();
  /** Whose session it is: the state forgets a session with its end. */
  private clients = new Map<string, string>();
  private readonly holders = new Holders();
  private readonly votes = new VotesTold();

  /** Takes a record with the state after it; returns its sentence if it is notable and new. */
  take(record: TypedRecord, state: State): Sentence | undefined {
    this.remember(record);
    this.holders.take(record);
    const repeated = this.saysNothingNew(record);
    const sentence = sentenceOf(record, state);
    if (!sentence || repeated || this.toldBefore(record)) return undefined;
    const client = record.kind === 'ensemble.sessionEnded' ? this.clients.get(record.data.session) : undefined;
    if (client) sentence.text = { key: 'story.sessionExpiredOf', params: { ...sentence.text.params, client } };
    if (record.kind === 'node.stopped' || record.kind === 'node.paused') this.noteHeld(sentence, record, state);
    this.sentences.push(sentence);
    if (this.sentences.length > KEPT * 1.2) this.sentences = this.sentences.slice(-KEPT);
    return sentence;
  }

  private noteHeld(sentence: Sentence, { node, time }: TypedRecord, state: State): void {
    const { names, since } = this.holders.heldBy(node, time, state);
    sentence.held = names;
    if (since) sentence.since = since;
  }

  get all(): readonly Sentence[] {
    return this.sentences;
  }

  /** Puts an earlier story in front of this one. */
  prepend(earlier: Story): void {
    this.sentences = [...earlier.sentences, ...this.sentences].slice(-KEPT);
  }

  /** Begins anew from a snapshot: who leads and whose the sessions are is known from its state. */
  begin(state: State): void {
    this.clear();
    this.holders.begin(state);
    for (const [id, session] of Object.entries(state.ensemble.sessions)) if (session.client) this.clients.set(id, session.client);
    for (const [topic, { id, partitions }] of Object.entries(state.kafka.topics)) {
      this.topics.set(topic, id);
      for (const [number, { leader, leaderEpoch }] of Object.entries(partitions)) this.leaders.set(`${topic}-${number}`, `${leader}/${leaderEpoch}`);
    }
  }

  private clear(): void {
    this.sentences = [];
    this.replicated.clear();
    this.leaders.clear();
    this.refused.clear();
    this.groups.clear();
    this.topics.clear();
    this.clients.clear();
    this.votes.clear();
  }

  private remember(record: TypedRecord): void {
    if (record.kind !== 'ensemble.sessionConnected' || record.data.client === '') return;
    this.clients.set(record.data.session, record.data.client);
    if (this.clients.size > KEPT) this.clients.delete(this.clients.keys().next().value!);
  }

  private saysNothingNew(record: TypedRecord): boolean {
    if (this.votes.repeats(record)) return true;
    if (record.kind === 'kafka.topicDeleted') this.topics.delete(record.data.topic);
    if (record.kind === 'kafka.topicCreated') return isRepeated(this.topics, record.data.topic, record.data.topicID);
    if (record.kind === 'kafka.groupChanged') return isRepeated(this.groups, record.data.group, saidOfGroup(record.data));
    if (record.kind === 'kafka.produceRefused') return this.refusedBefore(record);
    if (record.kind !== 'kafka.partitionStateChanged') return false;
    const { topic, partition, leader, leaderEpoch } = record.data;
    return isRepeated(this.leaders, `${topic}-${partition}`, `${leader}/${leaderEpoch}`);
  }

  /** A producer that tries again is refused again: that is told again after a while, or when the reason is another one. */
  private refusedBefore({ time, data }: Extract<TypedRecord, { kind: 'kafka.produceRefused' }>): boolean {
    const subject = `${data.topic}-${data.partition} ${data.error} ${data.isr}`;
    const last = this.refused.get(subject);
    if (last !== undefined && time - last < REFUSAL_AGAIN_MS) return true;
    if (this.refused.size > KEPT) this.refused.clear();
    this.refused.set(subject, time);
    return false;
  }

  private toldBefore(record: TypedRecord): boolean {
    if (record.kind !== 'ensemble.sessionEnded' && record.kind !== 'ensemble.znodeDeleted') return false;
    const subject = record.kind === 'ensemble.znodeDeleted' ? record.data.path : record.data.session;
    const change = `${record.data.zxid} ${subject}`;
    if (this.replicated.has(change)) return true;
    this.replicated.add(change);
    if (this.replicated.size > KEPT) this.replicated.delete(this.replicated.values().next().value!);
    return false;
  }
}

/** A rebalance is one thing in the story, whichever of its two states it is in. */
function saidOfGroup({ state, generation }: { state: string; generation: number }): string {
  return state.endsWith('Rebalance') ? 'rebalances' : `${state}/${generation}`;
}

/** Notes what is said of a subject; true when the same was said before. */
function isRepeated(told: Map<string, string>, subject: string, said: string): boolean {
  if (told.get(subject) === said) return true;
  told.set(subject, said);
  if (told.size > 20 * KEPT) told.clear();
  return false;
}

/** The sentence of a record, or undefined when the record is everyday. State is the one after the record. */
export function sentenceOf(record: TypedRecord, state: State): Sentence | undefined {
  const told = tellNode(record, state) ?? tellEnsemble(record, state) ?? tellKafka(record) ?? tellPulsar(record, state) ?? tellLedger(record, state) ?? tellAutorecovery(record, state);
  if (!told) return undefined;
  const topic = topicOf(record, state);
  return { n: record.n, time: record.time, node: record.node, ...told, ...(topic ? { topic } : {}) };
}

/** The topic that a record is about: named by it, or the one that its ledger belongs to. */
export function topicOf({ data }: TypedRecord, state: State): string | undefined {
  const { topic, ledger } = data as { topic?: unknown; ledger?: unknown };
  if (typeof topic === 'string') return topicLabel(topic).replace(/-partition-\d+$/, '');
  if (typeof ledger !== 'number') return undefined;
  const owner = state.pulsar.ledgers[ledger]?.managedLedger;
  const name = owner && topicNamed(owner);
  return name ? topicLabel(name).replace(/-partition-\d+$/, '') : undefined;
}

function tellNode(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = sideOf(state.nodes[node]?.role);
  switch (record.kind) {
    case 'node.ready':
      return { side, moment: 'node', text: { key: 'story.nodeReady', params: { node } } };
    case 'node.stopped':
      switch (record.data.reason) {
        case 'stopped':
          return { side, moment: 'fault', text: { key: 'story.nodeStopped', params: { node } } };
        case 'failed':
          return { side, moment: 'fault', text: { key: 'story.nodeFailed', params: { node, detail: record.data.detail ?? '' } } };
        case 'lost':
          return { side, moment: 'fault', text: { key: 'story.nodeLost', params: { node } } };
        default:
          return { side, moment: 'fault', text: { key: 'story.nodeKilled', params: { node } } };
      }
    case 'node.paused':
      return { side, moment: 'fault', text: { key: 'story.nodePaused', params: { node } } };
    case 'node.resumed':
      return { side, moment: 'node', text: { key: 'story.nodeResumed', params: { node } } };
    case 'node.linkChanged': {
      const { from, to, cut, delayMS, jitterMS, bytesPerSecond } = record.data;
      const healthy = !cut && !delayMS && !jitterMS && !bytesPerSecond;
      const key = cut ? 'story.linkCut' : healthy ? 'story.linkHealed' : 'story.linkSlowed';
      return { side, moment: healthy ? 'node' : 'fault', text: { key, params: { from, to } } };
    }
    case 'trace.recordsDropped':
    case 'node.unsyncedLost':
    case 'node.diskChanged':
    case 'node.diskCorrupted':
    case 'node.damageFound':
    case 'node.removed':
      return tellDisk(record, side);
    default:
      return undefined;
  }
}

type DiskRecord = Extract<TypedRecord, { kind: 'trace.recordsDropped' | 'node.unsyncedLost' | 'node.diskChanged' | 'node.diskCorrupted' | 'node.damageFound' | 'node.removed' }>;

function tellDisk(record: DiskRecord, side: Sentence['side']): Told {
  const { node } = record;
  switch (record.kind) {
    case 'node.unsyncedLost':
      return { side, moment: 'fault', text: { key: 'story.unsyncedLost', params: { node, bytes: record.data.bytes } } };
    case 'node.diskChanged': {
      const { delayMS, full, failSync } = record.data;
      const healthy = !delayMS && !full && !failSync;
      const key = full ? 'story.diskFull' : failSync ? 'story.diskFailsSync' : healthy ? 'story.diskHealed' : 'story.diskSlow';
      return { side, moment: healthy ? 'node' : 'fault', text: { key, params: { node, delay: delayMS } } };
    }
    case 'node.diskCorrupted':
      return { side, moment: 'fault', text: { key: 'story.diskCorrupted', params: { node, file: record.data.file } } };
    case 'node.damageFound': {
      const { file, position } = record.data;
      return { side, moment: 'fault', text: { key: 'story.damageFound', params: { node, file, position } } };
    }
    case 'node.removed':
      return { side, moment: 'node', text: { key: 'story.nodeRemoved', params: { node } } };
    case 'trace.recordsDropped':
      return { side, moment: 'fault', text: { key: 'story.recordsDropped', params: { node, count: record.data.count } } };
  }
}

function sideOf(role: string | undefined): Sentence['side'] {
  if (role === 'kafka') return 'kafka';
  return role === 'pulsar' || role === 'bookie' ? 'pulsar' : 'ensemble';
}

function tellEnsemble(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = 'ensemble';
  switch (record.kind) {
    case 'message.sent':
    case 'ensemble.voteCast': {
      const text = tellVote(record);
      return text && { side, moment: 'election', text };
    }
    case 'ensemble.roleChanged':
      if (record.data.role === 'candidate') return { side, moment: 'election', text: tellVote(record)! };
      if (record.data.role !== 'leader') return undefined;
      return { side, moment: 'election', text: { key: 'story.ensembleLeader', params: { node, term: String(record.data.term) } } };
    case 'ensemble.sessionEnded': {
      if (!record.data.expired) return undefined;
      return { side, moment: 'fault', text: { key: 'story.sessionExpired', params: { session: record.data.session } } };
    }
    case 'ensemble.znodeDeleted': {
      const { path, session } = record.data;
      if (!session || !isSignpost(path)) return undefined;
      return { side, moment: 'election', text: { key: 'story.ephemeralGone', params: { path } } };
    }
    case 'ensemble.watchFired': {
      const { path, session } = record.data;
      if (path !== '/controller') return undefined;
      const client = state.ensemble.sessions[session]?.client || session;
      return { side, moment: 'election', text: { key: 'story.watchFired', params: { node, client, path } } };
    }
    default:
      return undefined;
  }
}

function isSignpost(path: string): boolean {
  return path === '/controller' || path.startsWith('/brokers/ids/') || path.startsWith('/loadbalance/') || path.startsWith('/ledgers/available/');
}

function tellKafka(record: TypedRecord): Told {
  const side = 'kafka';
  switch (record.kind) {
    case 'kafka.controllerElected': {
      const { broker, epoch } = record.data;
      return { side, moment: 'election', text: { key: 'story.controllerElected', params: { broker: `kafka-${broker}`, epoch: String(epoch) } } };
    }
    case 'kafka.controllerResigned':
      return { side, moment: 'election', text: { key: 'story.controllerResigned', params: { broker: `kafka-${record.data.broker}` } } };
    case 'kafka.controllerRefused': {
      const { controller, epoch, newest, api } = record.data;
      const params = { node: record.node, controller: `kafka-${controller}`, name: api, epoch: String(epoch), newest: String(newest) };
      return { side, moment: 'election', text: { key: 'story.controllerRefused', params } };
    }
    case 'kafka.topicCreated': {
      const { topic, replicas } = record.data;
      const factor = replicas?.[0]?.length ?? 0;
      return { side, moment: 'client', text: { key: 'story.topicCreated', params: { topic, count: replicas?.length ?? 0, factor } } };
    }
    case 'kafka.topicDeleted':
      return { side, moment: 'client', text: { key: 'story.topicDeleted', params: { topic: record.data.topic } } };
    case 'kafka.groupChanged': {
      const { group, state, generation, members } = record.data;
      const key = state === 'Stable' ? 'story.groupStable' : state === 'Empty' || state === 'Dead' ? 'story.groupEmpty' : 'story.groupRebalances';
      return { side, moment: 'client', text: { key, params: { group, generation: String(generation), count: members?.length ?? 0 } } };
    }
    default:
      return tellPartition(record);
  }
}

function tellPartition(record: TypedRecord): Told {
  const side = 'kafka';
  switch (record.kind) {
    case 'kafka.partitionStateChanged': {
      const { topic, partition, leader, leaderEpoch, reason } = record.data;
      if (isInternal(topic) || reason === 'created' || reason === 'isr-changed') return undefined;
      const name = `${topic}-${partition}`;
      if (leader < 0) return { side, moment: 'partition', text: { key: 'story.partitionOffline', params: { partition: name } } };
      if (reason === 'replica-offline') return undefined;
      const key = reason === 'election-unclean' ? 'story.leaderUnclean' : 'story.leaderChanged';
      return { side, moment: 'partition', text: { key, params: { partition: name, leader: `kafka-${leader}`, epoch: String(leaderEpoch) } } };
    }
    case 'kafka.isrChanged': {
      const { topic, partition, isr, added, removed } = record.data;
      if (isInternal(topic)) return undefined;
      const params = { partition: `${topic}-${partition}`, isr: brokers(isr) };
      if (removed?.length) return { side, moment: 'partition', text: { key: 'story.isrShrunk', params: { ...params, brokers: brokers(removed) } } };
      if (added?.length) return { side, moment: 'partition', text: { key: 'story.isrExpanded', params: { ...params, brokers: brokers(added) } } };
      return undefined;
    }
    case 'kafka.produceRefused': {
      const { topic, partition, error, acks, isr, minISR, appended } = record.data;
      if (isInternal(topic)) return undefined;
      const params = { node: record.node, partition: `${topic}-${partition}`, error, acks: acks === -1 ? 'all' : String(acks), isr, minISR };
      const few = error === 'NOT_ENOUGH_REPLICAS' || error === 'NOT_ENOUGH_REPLICAS_AFTER_APPEND';
      const key = few ? 'story.refusedForReplicas' : appended ? 'story.unsureProduce' : 'story.refused';
      return { side, moment: 'client', text: { key, params } };
    }
    case 'kafka.replicaDamaged': {
      const { topic, partition, course, leo } = record.data;
      const key = course === 'beginsAnew' ? 'story.replicaBeginsAnew' : leo < 0 ? 'story.replicaUnreadable' : 'story.replicaStepsAside';
      return { side, moment: course === 'beginsAnew' ? 'partition' : 'fault', text: { key, params: { node: record.node, partition: `${topic}-${partition}`, leo } } };
    }
    case 'kafka.truncated': {
      const { topic, partition, from, to } = record.data;
      const params = { node: record.node, partition: `${topic}-${partition}`, to, count: from - to };
      return { side, moment: 'partition', text: { key: 'story.truncated', params } };
    }
    default:
      return undefined;
  }
}

function brokers(ids: readonly number[] | null | undefined): string[] {
  return (ids ?? []).map((id) => `kafka-${id}`);
}

function tellPulsar(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = 'pulsar';
  switch (record.kind) {
    case 'pulsar.leaderElected':
      return { side, moment: 'election', text: { key: 'story.loadManager', params: { node } } };
    case 'pulsar.bundleOwned':
      return { side, moment: 'ownership', text: { key: 'story.bundleOwned', params: { node, bundle: record.data.bundle, namespace: record.data.namespace } } };
    case 'pulsar.bundleReleased':
      return { side, moment: 'ownership', text: { key: 'story.bundleReleased', params: { node, bundle: record.data.bundle } } };
    case 'pulsar.lookupAnswered':
      if (record.data.result !== 'redirect') return undefined;
      return { side, moment: 'ownership', text: { key: 'story.lookupRedirected', params: { node, topic: topicLabel(record.data.topic), url: record.data.url } } };
    case 'pulsar.topicLoaded':
      return { side, moment: 'ownership', text: { key: 'story.topicLoaded', params: { node, topic: topicLabel(record.data.topic) } } };
    case 'pulsar.topicUnloaded':
      return { side, moment: 'ownership', text: { key: 'story.topicUnloaded', params: { node, topic: topicLabel(record.data.topic) } } };
    case 'pulsar.consumerAttached': {
      const { topic, subscription, name } = record.data;
      return { side, moment: 'client', text: { key: 'story.consumerAttached', params: { name, subscription, topic: topicLabel(topic) } } };
    }
    case 'pulsar.activeConsumerChanged': {
      const { topic, subscription, consumer } = record.data;
      if (!consumer) return undefined;
      const name = state.pulsar.topics[topic]?.subscriptions[subscription]?.consumers[consumer]?.name || consumer;
      return { side, moment: 'client', text: { key: 'story.activeConsumer', params: { subscription, consumer: name } } };
    }
    default:
      return undefined;
  }
}

function tellLedger(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = 'pulsar';
  const moment = 'ledger';
  switch (record.kind) {
    case 'bookkeeper.bookieModeChanged': {
      const { readOnly } = record.data;
      return { side, moment: readOnly ? 'fault' : 'node', text: { key: readOnly ? 'story.bookieReadOnly' : 'story.bookieWritable', params: { node } } };
    }
    case 'bookkeeper.ledgerOpened': {
      const { ledger, ensemble, cursor } = record.data;
      if (cursor) return undefined;
      const bookies = (ensemble ?? []).map((address) => bookieName(state, address));
      return { side, moment, text: { key: 'story.ledgerOpened', params: { node, ledger: String(ledger), bookies } } };
    }
    case 'bookkeeper.ensembleChanged': {
      const { ledger, firstEntry, replaced, ensemble } = record.data;
      const bookies = (ensemble ?? []).map((address) => bookieName(state, address));
      const gone = (replaced ?? []).map((address) => bookieName(state, address));
      return { side, moment, text: { key: 'story.ensembleChanged', params: { ledger: String(ledger), entry: firstEntry, bookies, replaced: gone } } };
    }
    case 'bookkeeper.ledgerFenced':
      return { side, moment, text: { key: 'story.ledgerFenced', params: { node, ledger: String(record.data.ledger) } } };
    case 'bookkeeper.recoveryStarted':
      return { side, moment, text: { key: 'story.recoveryStarted', params: { node, ledger: String(record.data.ledger) } } };
    case 'bookkeeper.ledgerClosed': {
      const { ledger, lastEntry, recovered } = record.data;
      if (lastEntry < 0) return { side, moment, text: { key: 'story.ledgerClosedEmpty', params: { ledger: String(ledger) } } };
      const key = recovered ? 'story.ledgerRecovered' : 'story.ledgerClosed';
      return { side, moment, text: { key, params: { ledger: String(ledger), entry: lastEntry } } };
    }
    default:
      return undefined;
  }
}

function bookieName(state: State, address: string): string {
  return state.pulsar.bookies[address]?.node || address;
}
