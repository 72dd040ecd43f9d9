import type { TypedRecord } from '../trace/types';
import { isInternal } from './kafka';
import type { Told } from './story';

/** The sentence of something that Kafka-mode did. */
export function tellKafka(record: TypedRecord): Told {
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
