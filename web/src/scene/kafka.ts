import type { KafkaGroup, KafkaPartition, State } from '../trace/types';
import { own } from '../trace/reduce/maps';
import { nodeCards, type NodeCard } from './nodes';
import { byName, sortedEntries } from './order';

/** leader; inSync and outOfSync followers; offline: the broker does not run or has given the replica up. */
export type ReplicaStatus = 'leader' | 'inSync' | 'outOfSync' | 'offline';

/** One replica's log, as a strip. All replicas of a partition share the scale, so that their ends can be compared. */
export interface LogStrip {
  /** "orders-0" */
  partition: string;
  topic: string;
  number: number;
  status: ReplicaStatus;
  leaderEpoch: number;
  logStart: number;
  leo: number;
  highWatermark: number;
  /** Where consumer groups are, on the leader's strip only. */
  committed: { group: string; offset: number }[];
  /** The offsets that the strip shows: [from, to). */
  scale: { from: number; to: number };
}

export interface TopicOnBroker {
  topic: string;
  internal: boolean;
  strips: LogStrip[];
}

export interface KafkaBrokerCard extends NodeCard {
  controller: boolean;
  registered: boolean;
  topics: TopicOnBroker[];
  leaders: number;
  replicas: number;
}

export interface GroupPartition {
  partition: string;
  committed: number;
  end: number;
  lag: number;
}

export interface GroupCard {
  group: string;
  coordinator: string;
  state: string;
  generation: number;
  strategy: string;
  members: { id: string; clientID: string; leader: boolean; assigned: string[] }[];
  partitions: GroupPartition[];
  lag: number;
}

export interface KafkaScene {
  brokers: KafkaBrokerCard[];
  groups: GroupCard[];
  /** Of each topic: partitions, those with fewer replicas in sync than they have, and those without a leader. */
  topics: { topic: string; internal: boolean; partitions: number; underReplicated: number; offline: number }[];
  /** The same over all topics, internal ones too. */
  underReplicated: number;
  offlinePartitions: number;
}

/** Offsets that a strip shows at least; more when replicas are further apart. */
const SHOWN_OFFSETS = 40;

export function isInternal(topic: string): boolean {
  return topic.startsWith('__');
}

export function kafkaScene(state: State): KafkaScene {
  const partitions = allPartitions(state);
  const brokers = nodeCards(state, 'kafka').map((card) => brokerCard(state, card, partitions));
  return {
    brokers,
    groups: sortedEntries(state.kafka.groups).map(([group, value]) => groupCard(state, group, value)),
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

function brokerCard(state: State, card: NodeCard, partitions: NamedPartition[]): KafkaBrokerCard {
  const here = partitions.filter(({ value }) => value.replicas.includes(card.id));
  const topics = new Map<string, TopicOnBroker>();
  for (const partition of here) {
    let onBroker = topics.get(partition.topic);
    if (!onBroker) {
      onBroker = { topic: partition.topic, internal: isInternal(partition.topic), strips: [] };
      topics.set(partition.topic, onBroker);
    }
    onBroker.strips.push(logStrip(state, partition, card));
  }
  return {
    ...card,
    controller: card.id === state.kafka.controller.broker,
    registered: state.kafka.brokers[card.id]?.registered ?? false,
    topics: [...topics.values()],
    leaders: here.filter(({ value }) => value.leader === card.id).length,
    replicas: here.length,
  };
}

function logStrip(state: State, { topic, number, value, scale }: NamedPartition, card: NodeCard): LogStrip {
  const log = value.logs[card.id];
  const status = replicaStatus(value, card);
  return {
    partition: `${topic}-${number}`,
    topic,
    number,
    status,
    leaderEpoch: log?.leaderEpoch ?? value.leaderEpoch,
    logStart: log?.logStart ?? 0,
    leo: log?.leo ?? 0,
    highWatermark: log?.highWatermark ?? 0,
    committed: status === 'leader' ? committedOffsets(state, `${topic}-${number}`) : [],
    scale,
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
  if (!running || partition.logs[card.id]?.role === 'offline') return 'offline';
  if (partition.leader === card.id) return 'leader';
  return partition.isr.includes(card.id) ? 'inSync' : 'outOfSync';
}

function groupCard(state: State, name: string, group: KafkaGroup): GroupCard {
  const assigned = Object.values(group.members).flatMap((member) => member.assigned);
  const names = [...new Set([...Object.keys(group.offsets), ...assigned])].sort(byName);
  const partitions = names.map((partition) => {
    const end = partitionEnd(state, partition);
    const committed = group.offsets[partition] ?? 0;
    return { partition, committed, end, lag: Math.max(0, end - committed) };
  });
  return {
    group: name,
    coordinator: group.coordinator > 0 ? `kafka-${group.coordinator}` : '',
    state: group.state,
    generation: group.generation,
    strategy: group.strategy,
    members: sortedEntries(group.members).map(([id, member]) => ({
      id,
      clientID: member.clientID,
      leader: id === group.leader,
      assigned: [...member.assigned].sort(byName),
    })),
    partitions,
    lag: partitions.reduce((sum, partition) => sum + partition.lag, 0),
  };
}

/** What consumers can read up to: the leader's high watermark. */
function partitionEnd(state: State, name: string): number {
  const dash = name.lastIndexOf('-');
  const topic = own(state.kafka.topics, name.slice(0, dash));
  const partition = topic && own(topic.partitions, name.slice(dash + 1));
  if (!partition) return 0;
  const leader = partition.logs[partition.leader];
  return leader ? leader.highWatermark : Math.max(0, ...Object.values(partition.logs).map((log) => log.highWatermark));
}
