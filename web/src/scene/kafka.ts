import type { KafkaPartition, State } from '../trace/types';
import { own } from '../trace/reduce/maps';
import { groupCards, readersOf, type GroupCard, type Reader } from './kafka-groups';
import { logShape, type LogShape } from './kafka-log';
import { reactorCard, type ReactorCard } from './kafka-reactor';
import { nodeCards, type NodeCard } from './nodes';
import { sortedEntries } from './order';

/** leader; inSync and outOfSync followers; offline: the broker does not run or has given the replica up; damaged: it does not serve what it has. */
export type ReplicaStatus = 'leader' | 'inSync' | 'outOfSync' | 'offline' | 'damaged';

/** One replica's log, as a strip. All replicas of a partition share the scale, so that their ends can be compared. */
export interface LogStrip {
  /** "orders-0" */
  partition: string;
  topic: string;
  number: number;
  status: ReplicaStatus;
  /** The partition's leader is this replica, whether its broker runs or not. */
  leads: boolean;
  leaderEpoch: number;
  logStart: number;
  leo: number;
  highWatermark: number;
  /** Where consumer groups are, on the leader's strip only. */
  committed: { group: string; offset: number }[];
  /** The offsets that the strip shows: [from, to). */
  scale: { from: number; to: number };
  shape: LogShape;
  /** Who reads the partition, on the leader's strip only. */
  readers: Reader[];
  /** Who is in sync, of so many replicas: on the leader's strip, and while there is no leader on those of the ISR, since only they may take over. */
  isr: { members: string[]; replicas: number } | undefined;
}

export interface TopicOnBroker {
  topic: string;
  internal: boolean;
  strips: LogStrip[];
}

export interface KafkaBrokerCard extends NodeCard {
  controller: boolean;
  /** Undefined until the broker has told. */
  reactor: ReactorCard | undefined;
  registered: boolean;
  topics: TopicOnBroker[];
  leaders: number;
  replicas: number;
}

export type { GroupCard, GroupPartition, MemberCard, Reader } from './kafka-groups';
export type { ReactorCard, WaitFor, WaitLine } from './kafka-reactor';

/** How often produce requests to a partition were refused with an error, while the page was watching. */
export interface Refusals {
  partition: string;
  error: string;
  count: number;
}

export interface KafkaScene {
  brokers: KafkaBrokerCard[];
  groups: GroupCard[];
  /** Of each topic: partitions, those with fewer replicas in sync than they have, and those without a leader. */
  topics: { topic: string; internal: boolean; partitions: number; underReplicated: number; offline: number }[];
  /** The same over all topics, internal ones too. */
  underReplicated: number;
  offlinePartitions: number;
  /** Of partitions of clients. */
  refused: Refusals[];
}

/** Offsets that a strip shows at least; more when replicas are further apart. */
const SHOWN_OFFSETS = 40;

export function isInternal(topic: string): boolean {
  return topic.startsWith('__');
}

export function kafkaScene(state: State): KafkaScene {
  const partitions = allPartitions(state);
  const groups = groupCards(state);
  const readers = readersOf(groups);
  const brokers = nodeCards(state, 'kafka').map((card) => brokerCard(state, card, partitions, readers));
  return {
    brokers,
    groups,
    topics: sortedEntries(state.kafka.topics).map(([topic, value]) => {
      const all = Object.values(value.partitions);
      return {
        topic,
        internal: isInternal(topic),
        partitions: all.length,
        underReplicated: all.filter(isUnderReplicated).length,
        offline: all.filter(isOffline).length,
      };
    }),
    underReplicated: partitions.filter(({ value }) => isUnderReplicated(value)).length,
    offlinePartitions: partitions.filter(({ value }) => isOffline(value)).length,
    refused: partitions.filter(({ topic }) => !isInternal(topic)).flatMap(({ topic, number, value }) => sortedEntries(value.refused).map(([error, count]) => ({ partition: `${topic}-${number}`, error, count }))),
  };
}

function isUnderReplicated({ isr, replicas }: KafkaPartition): boolean {
  return isr.length < replicas.length;
}

function isOffline({ leader }: KafkaPartition): boolean {
  return leader < 0;
}

interface NamedPartition {
  topic: string;
  number: number;
  value: KafkaPartition;
  scale: { from: number; to: number };
}

function allPartitions(state: State): NamedPartition[] {
  const topics = sortedEntries(state.kafka.topics).sort(([a], [b]) => Number(isInternal(a)) - Number(isInternal(b)));
  return topics.flatMap(([topic, value]) =>
    sortedEntries(value.partitions).map(([number, partition]) => ({
      topic,
      number: Number(number),
      value: partition,
      scale: stripScale(partition),
    })),
  );
}

/** The last offsets of a partition: at least SHOWN_OFFSETS, and enough that the served replica that is furthest behind is still in the strip. */
export function stripScale(partition: KafkaPartition): { from: number; to: number } {
  const logs = partition.replicas.map((id) => partition.logs[id]).filter((log) => log !== undefined);
  const furthest = Math.max(0, ...logs.map((log) => log.leo));
  const served = logs.filter((log) => log.role !== 'offline');
  const behind = furthest - Math.min(furthest, ...served.map((log) => log.leo));
  let shown = SHOWN_OFFSETS;
  while (shown < behind * 1.25 && shown < furthest) shown *= 2;
  const from = Math.max(0, furthest - shown);
  return { from, to: from + shown };
}

function brokerCard(state: State, card: NodeCard, partitions: NamedPartition[], readers: ReadonlyMap<string, Reader[]>): KafkaBrokerCard {
  const here = partitions.filter(({ value }) => value.replicas.includes(card.id));
  const topics = new Map<string, TopicOnBroker>();
  for (const partition of here) {
    let onBroker = topics.get(partition.topic);
    if (!onBroker) {
      onBroker = { topic: partition.topic, internal: isInternal(partition.topic), strips: [] };
      topics.set(partition.topic, onBroker);
    }
    onBroker.strips.push(logStrip(state, partition, card, readers));
  }
  return {
    ...card,
    controller: card.id === state.kafka.controller.broker,
    reactor: card.up ? reactorCard(state, card.name) : undefined,
    registered: state.kafka.brokers[card.id]?.registered ?? false,
    topics: [...topics.values()],
    leaders: here.filter(({ value }) => value.leader === card.id).length,
    replicas: here.length,
  };
}

function logStrip(state: State, { topic, number, value, scale }: NamedPartition, card: NodeCard, readers: ReadonlyMap<string, Reader[]>): LogStrip {
  const log = value.logs[card.id];
  const status = replicaStatus(value, card);
  return {
    partition: `${topic}-${number}`,
    topic,
    number,
    status,
    leads: value.leader === card.id,
    leaderEpoch: log?.leaderEpoch ?? value.leaderEpoch,
    logStart: log?.logStart ?? 0,
    leo: log?.leo ?? 0,
    highWatermark: log?.highWatermark ?? 0,
    committed: status === 'leader' ? committedOffsets(state, `${topic}-${number}`) : [],
    scale,
    shape: logShape(log, scale),
    readers: status === 'leader' ? (readers.get(`${topic}-${number}`) ?? []) : [],
    isr: value.leader === card.id || (isOffline(value) && value.isr.includes(card.id)) ? { members: value.isr.map((id) => `kafka-${id}`), replicas: value.replicas.length } : undefined,
  };
}

function committedOffsets(state: State, partition: string): LogStrip['committed'] {
  return sortedEntries(state.kafka.groups).flatMap(([group, { offsets }]) => {
    const offset = own(offsets, partition);
    return offset === undefined ? [] : [{ group, offset }];
  });
}

function replicaStatus(partition: KafkaPartition, card: NodeCard): ReplicaStatus {
  const running = card.state === 'running' || card.state === 'paused';
  const log = partition.logs[card.id];
  if (!running || log?.role === 'offline') return running && log?.damaged ? 'damaged' : 'offline';
  if (partition.leader === card.id) return 'leader';
  return partition.isr.includes(card.id) ? 'inSync' : 'outOfSync';
}
