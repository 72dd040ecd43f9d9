import type { Key, Text } from '../i18n/message';
import type { KafkaScene, LogStrip } from './kafka';
import type { WaitLine } from './kafka-reactor';
import type { Cell, Table } from './tables';

/** What the Kafka-mode panel shows besides partitions and groups' offsets, as tables. */
export function kafkaTables(kafka: KafkaScene): Table[] {
  return [memberTable(kafka), reactorTable(kafka), waitTable(kafka), epochTable(kafka)];
}

function memberTable({ groups }: KafkaScene): Table {
  return {
    title: 'members.title',
    columns: ['table.group', 'table.state', 'members.member', 'members.static', 'members.reads'],
    rows: groups.flatMap((group) =>
      group.members.map((member): Cell[] => [
        group.group,
        { key: `group.state.${group.state}` as Key },
        `${member.letter} ${member.clientID || member.id}`,
        member.instanceID,
        member.assigned,
      ]),
    ),
  };
}

function reactorTable({ brokers }: KafkaScene): Table {
  return {
    title: 'reactor.title',
    columns: ['table.node', 'reactor.connections', 'reactor.queue', 'reactor.handlers', 'reactor.for.replicas', 'reactor.for.records', 'reactor.for.copy', 'reactor.for.cluster'],
    rows: brokers.flatMap(({ name, reactor }): Cell[][] => {
      if (!reactor) return [];
      const { connections, queued, queueLimit, busy, handlers, waiting } = reactor;
      return [[name, connections, ofLimit(queued, queueLimit), ofLimit(busy, handlers), waiting.replicas, waiting.records, waiting.copy, waiting.cluster]];
    }),
  };
}

function ofLimit(count: number, limit: number): Text {
  return { key: 'reactor.of', params: { count, limit } };
}

function waitTable({ brokers }: KafkaScene): Table {
  return {
    title: 'reactor.waits',
    columns: ['table.node', 'reactor.request', 'reactor.client', 'reactor.waitsFor'],
    rows: brokers.flatMap(({ name, reactor }) => (reactor?.waits ?? []).map((wait): Cell[] => [name, wait.api, wait.client, waitText(wait)])),
  };
}

function epochTable({ brokers }: KafkaScene): Table {
  return {
    title: 'epochs.title',
    columns: ['table.partition', 'table.node', 'epochs.segments', 'epochs.logStart', 'epochs.epoch'],
    rows: brokers.flatMap((broker) =>
      broker.topics
        .filter(({ internal }) => !internal)
        .flatMap(({ strips }) =>
          strips.map((strip): Cell[] => [strip.partition, broker.name, strip.shape.segmentCount, strip.logStart, strip.leaderEpoch]),
        ),
    ),
  };
}

/** What a request in the purgatory waits for, in words. */
export function waitText({ waitsFor, partition, offset, minBytes, more }: WaitLine): Text {
  const params = { partition, offset, bytes: minBytes, count: more };
  const key = ({ replicas: 'reactor.wait.replicas', records: 'reactor.wait.records', copy: 'reactor.wait.copy', cluster: 'reactor.wait.cluster' } as const)[waitsFor];
  return { key, params };
}

/** What is worth a sentence. */
export function kafkaFindings({ brokers, groups, refused }: KafkaScene): Text[] {
  const stuck = brokers.flatMap(({ name, reactor }) => (reactor?.stuck ?? []).map((wait) => ({ name, wait })));
  return [
    ...stuck.slice(0, 3).map(({ name, wait }): Text => ({ key: 'sentence.stuck', params: { node: name, api: wait.api, partition: wait.partition, offset: wait.offset } })),
    ...isrFindings(brokers),
    ...refused.slice(0, 3).map(({ partition, error, count }): Text => ({ key: 'sentence.refused', params: { partition, error, count } })),
    ...groups.flatMap(({ group, members }) =>
      members.filter(({ assigned }) => assigned.length > 0).slice(0, 6).map((member): Text => ({
        key: 'sentence.reads',
        params: { group, member: member.clientID || member.id, partitions: member.assigned },
      })),
    ),
  ];
}

/** Partitions whose ISR is told one by one. */
const ISR_TOLD = 6;

/** Who is in sync: of the partitions that lack somebody one by one, of the others in one sentence. */
function isrFindings(brokers: KafkaScene['brokers']): Text[] {
  const partitions = new Map<string, { leader: string | undefined; isr: NonNullable<LogStrip['isr']> }>();
  for (const broker of brokers) {
    for (const { partition, isr, leads } of broker.topics.filter(({ internal }) => !internal).flatMap(({ strips }) => strips)) {
      if (isr) partitions.set(partition, { leader: leads ? broker.name : undefined, isr });
    }
  }
  const lacking = [...partitions].filter(([, { isr }]) => isr.members.length < isr.replicas);
  const whole = partitions.size - lacking.length;
  return [
    ...lacking.slice(0, ISR_TOLD).map(([partition, { leader, isr }]): Text => {
      const params = { partition, count: isr.members.length, total: isr.replicas, members: isr.members };
      return leader ? { key: 'sentence.isrLacks', params: { ...params, leader } } : { key: 'sentence.isrLeaderless', params };
    }),
    ...(lacking.length > ISR_TOLD ? [{ key: 'sentence.isrMore', params: { count: lacking.length - ISR_TOLD } } as Text] : []),
    ...(whole > 0 ? [{ key: 'sentence.isrWhole', params: { count: whole } } as Text] : []),
  ];
}
