import type { Text } from '../i18n/message';
import type { State, TypedRecord } from '../trace/types';
import { tellAutorecovery } from './autorecovery';
import { Holders } from './held';
import { tellEnsemble } from './tell-ensemble';
import { tellKafka } from './tell-kafka';
import { tellNode } from './tell-nodes';
import { tellLedger, tellPulsar } from './tell-pulsar';
import { topicNamed } from './things';
import { topicLabel, wholeTopic } from './topics';
import { VotesTold } from './votes';

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

/** What a record's sentence says, and of which side. */
export type Told = Pick<Sentence, 'side' | 'moment' | 'text'> | undefined;

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
  /** How many sentences have made room for newer ones. */
  dropped = 0;
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
    if (record.kind === 'ensemble.sessionEnded') nameClient(sentence, this.clients.get(record.data.session));
    if (record.kind === 'node.stopped' || record.kind === 'node.paused') this.noteHeld(sentence, record, state);
    this.sentences.push(sentence);
    if (this.sentences.length > KEPT * 1.2) this.keep(this.sentences);
    return sentence;
  }

  /** Keeps the newest of these. */
  private keep(sentences: Sentence[]): void {
    this.dropped += Math.max(0, sentences.length - KEPT);
    this.sentences = sentences.slice(-KEPT);
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
    this.dropped += earlier.dropped;
    this.keep([...earlier.sentences, ...this.sentences]);
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
    this.dropped = 0;
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

/** Says whose session it was that has expired, where that is known. */
export function nameClient(sentence: Sentence, client: string | undefined): void {
  if (client) sentence.text = { key: 'story.sessionExpiredOf', params: { ...sentence.text.params, client } };
}

/** The topic that a record is about: named by it, or the one that its ledger belongs to. */
export function topicOf({ data }: TypedRecord, state: State): string | undefined {
  const { topic, ledger } = data as { topic?: unknown; ledger?: unknown };
  if (typeof topic === 'string') return wholeTopic(topicLabel(topic));
  if (typeof ledger !== 'number') return undefined;
  const owner = state.pulsar.ledgers[ledger]?.managedLedger;
  const name = owner && topicNamed(owner);
  return name ? wholeTopic(topicLabel(name)) : undefined;
}
