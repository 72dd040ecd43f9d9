import type { EventData, KafkaGroup, KafkaLog, KafkaPartition, State, TypedRecord } from '../types';
import { reactorMeasured } from './kafka-reactor';
import { own, put } from './maps';

export function applyKafka(state: State, record: TypedRecord): void {
  const { kafka } = state;
  switch (record.kind) {
    case 'kafka.brokerRegistered': {
      const { broker, epoch, host, port } = record.data;
      put(kafka.brokers, broker, { node: record.node, registered: true, epoch, host, port, refusedControllers: 0 });
      return;
    }
    case 'kafka.controllerElected':
      if (record.data.epoch >= kafka.controller.epoch) kafka.controller = { broker: record.data.broker, epoch: record.data.epoch };
      return;
    case 'kafka.controllerResigned':
      if (kafka.controller.broker === record.data.broker && kafka.controller.epoch === record.data.epoch) kafka.controller.broker = -1;
      return;
    case 'kafka.controllerRefused': {
      const broker = own(kafka.brokers, brokerID(state, record.node));
      if (broker) broker.refusedControllers++;
      return;
    }
    case 'kafka.topicCreated':
      return topicCreated(state, record.data);
    case 'kafka.topicDeleted':
      return topicDeleted(state, record.data.topic);
    case 'kafka.partitionStateChanged': {
      const partition = partitionOrNew(state, record.data.topic, record.data.partition);
      const { leader, leaderEpoch, partitionEpoch, isr, replicas } = record.data;
      if (partitionEpoch < partition.partitionEpoch) return;
      Object.assign(partition, { leader, leaderEpoch, partitionEpoch, isr: [...(isr ?? [])], replicas: [...(replicas ?? [])] });
      return;
    }
    case 'kafka.isrChanged': {
      const partition = partitionOf(state, record.data.topic, record.data.partition);
      if (!partition || record.data.partitionEpoch < partition.partitionEpoch) return;
      partition.isr = [...(record.data.isr ?? [])];
      partition.partitionEpoch = record.data.partitionEpoch;
      return;
    }
    case 'kafka.groupChanged':
      return groupChanged(state, brokerID(state, record.node), record.data);
    case 'kafka.offsetCommitted': {
      const { group, topic, partition, offset } = record.data;
      put(groupOrNew(state, group, brokerID(state, record.node)).offsets, `${topic}-${partition}`, offset);
      return;
    }
    case 'kafka.reactorMeasured':
      return reactorMeasured(state, record.node, record.data);
    default:
      return applyReplica(state, record);
  }
}

/** What a broker says about the replicas that it holds. */
function applyReplica(state: State, record: TypedRecord): void {
  const here = () => {
    const { topic, partition } = record.data as { topic: string; partition: number };
    return logOf(state, topic, partition, brokerID(state, record.node));
  };
  switch (record.kind) {
    case 'kafka.replicaRoleChanged':
      return replicaRoleChanged(state, brokerID(state, record.node), record.data);
    case 'kafka.appended': {
      const log = here();
      if (log) {
        log.leo = record.data.leo;
        log.bytes += record.data.bytes;
      }
      return;
    }
    case 'kafka.highWatermarkAdvanced': {
      const log = here();
      if (log) log.highWatermark = record.data.highWatermark;
      return;
    }
    case 'kafka.followerFetched': {
      const log = logOf(state, record.data.topic, record.data.partition, record.data.replica);
      if (log) log.fetchedLEO = record.data.leo;
      return;
    }
    case 'kafka.logStartAdvanced': {
      const log = here();
      if (log) log.logStart = record.data.logStart;
      return;
    }
    case 'kafka.truncated': {
      const log = here();
      if (log) {
        log.leo = record.data.to;
        log.highWatermark = Math.min(log.highWatermark, record.data.to);
      }
      return;
    }
    case 'kafka.replicaDamaged': {
      const log = here();
      if (log) log.damaged = record.data.course === 'stepsAside';
      return;
    }
    case 'kafka.acknowledged': {
      const partition = partitionOf(state, record.data.topic, record.data.partition);
      if (!partition) return;
      const last = own(partition.acknowledged, record.data.acks);
      if (last === undefined || record.data.lastOffset > last) put(partition.acknowledged, record.data.acks, record.data.lastOffset);
      return;
    }
    case 'kafka.produceRefused': {
      const partition = partitionOf(state, record.data.topic, record.data.partition);
      if (!partition) return;
      const { error, folded } = record.data;
      put(partition.refused, error, (own(partition.refused, error) ?? 0) + Math.max(1, folded ?? 0));
      return;
    }
    case 'kafka.logShapeChanged': {
      const log = here();
      if (!log) return;
      const { segments, segmentCount, epochs } = record.data;
      log.segments = (segments ?? []).map(({ base, bytes }) => ({ base, bytes }));
      log.segmentCount = segmentCount;
      log.epochs = (epochs ?? []).map(({ epoch, start }) => ({ epoch, start }));
      return;
    }
  }
}

/** The broker id of a node, which is the number in its name. */
function brokerID(state: State, node: string): number {
  const known = own(state.nodes, node);
  if (known) return known.id;
  const digits = /\d+$/.exec(node);
  return digits ? Number(digits[0]) : -1;
}

/** A new controller may report a topic again; a new id is a new topic under an old name. */
function topicCreated(state: State, event: EventData['kafka.topicCreated']): void {
  const { topics } = state.kafka;
  let topic = own(topics, event.topic);
  if (!topic || (topic.id !== '' && event.topicID !== '' && topic.id !== event.topicID)) {
    topic = put(topics, event.topic, { id: '', config: {}, partitions: {} });
  }
  topic.id = event.topicID;
  topic.config = { ...event.config };
  (event.replicas ?? []).forEach((replicas, number) => {
    partitionOrNew(state, event.topic, number).replicas = [...(replicas ?? [])];
  });
}

function topicDeleted(state: State, name: string): void {
  const topic = own(state.kafka.topics, name);
  if (!topic) return;
  delete state.kafka.topics[name];
  for (const group of Object.values(state.kafka.groups)) {
    for (const number of Object.keys(topic.partitions)) delete group.offsets[`${name}-${number}`];
  }
}

function partitionOf(state: State, topic: string, number: number): KafkaPartition | undefined {
  const known = own(state.kafka.topics, topic);
  return known && own(known.partitions, number);
}

function partitionOrNew(state: State, topic: string, number: number): KafkaPartition {
  const { topics } = state.kafka;
  const known = own(topics, topic) ?? put(topics, topic, { id: '', config: {}, partitions: {} });
  // Epochs start below every real one, so that the first report counts.
  const none: KafkaPartition = { leader: -1, leaderEpoch: -1, partitionEpoch: -1, isr: [], replicas: [], logs: {}, acknowledged: {}, refused: {} };
  return own(known.partitions, number) ?? put(known.partitions, number, none);
}

/** A broker's log of a partition, made when it is not there yet; undefined when the partition does not exist. */
function logOf(state: State, topic: string, number: number, broker: number): KafkaLog | undefined {
  const partition = partitionOf(state, topic, number);
  if (!partition) return undefined;
  const none: KafkaLog = { role: 'offline', damaged: false, leaderEpoch: -1, logStart: 0, leo: 0, highWatermark: 0, fetchedLEO: 0, bytes: 0, segments: [], segmentCount: 0, epochs: [] };
  return own(partition.logs, broker) ?? put(partition.logs, broker, none);
}

function replicaRoleChanged(state: State, broker: number, event: EventData['kafka.replicaRoleChanged']): void {
  if (event.role === 'deleted') {
    const partition = partitionOf(state, event.topic, event.partition);
    if (partition) delete partition.logs[broker];
    return;
  }
  partitionOrNew(state, event.topic, event.partition);
  const { role, leaderEpoch, logStart, leo, highWatermark } = event;
  Object.assign(logOf(state, event.topic, event.partition, broker)!, { role, damaged: false, leaderEpoch, logStart, leo, highWatermark });
}

export function kafkaBrokerUnregistered(state: State, id: string): void {
  const broker = own(state.kafka.brokers, id);
  if (broker) broker.registered = false;
}

/** The logs of a broker that is gone are on its disk, but nobody serves them; its groups have no coordinator until another loads them. */
export function forgetKafkaBroker(state: State, node: string): void {
  if (own(state.nodes, node)?.role !== 'kafka') return;
  delete state.kafka.reactors[node];
  const id = brokerID(state, node);
  for (const topic of Object.values(state.kafka.topics)) {
    for (const partition of Object.values(topic.partitions)) {
      const log = own(partition.logs, id);
      if (log) Object.assign(log, { role: 'offline', damaged: false });
    }
  }
  for (const group of Object.values(state.kafka.groups)) if (group.coordinator === id) group.coordinator = -1;
}

function groupOrNew(state: State, name: string, coordinator: number): KafkaGroup {
  const none: KafkaGroup = { coordinator, state: 'Empty', generation: 0, strategy: '', leader: '', members: {}, pending: 0, offsets: {} };
  return own(state.kafka.groups, name) ?? put(state.kafka.groups, name, none);
}

/** When a group is gone from a broker that no longer coordinates it, it lives on at the one that does. */
function groupChanged(state: State, coordinator: number, event: EventData['kafka.groupChanged']): void {
  if (event.state === 'Dead') {
    if (own(state.kafka.groups, event.group)?.coordinator === coordinator) delete state.kafka.groups[event.group];
    return;
  }
  const group = groupOrNew(state, event.group, coordinator);
  const { generation, strategy, leader } = event;
  Object.assign(group, { coordinator, state: event.state, generation, strategy, leader, members: {}, pending: event.pending ?? 0 });
  for (const member of event.members ?? []) {
    const assigned = (member.assigned ?? []).map(({ topic, partition }) => `${topic}-${partition}`).sort();
    put(group.members, member.id, { instanceID: member.instanceID ?? '', clientID: member.clientID, joined: member.joined ?? false, assigned });
  }
}
