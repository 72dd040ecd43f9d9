import type { Key, Param, Text } from '../i18n/message';
import { ensembleTables } from './ensemble-tables';
import type { LogStrip } from './kafka';
import { kafkaTables } from './kafka-tables';
import { offloadText } from './ledgers';
import { pulsarTables } from './pulsar-tables';
import type { Scene } from './scene';

/** A cell is text as it is, a number, or something to be told in the reader's language. */
export type Cell = Param;

export interface Table {
  title: Key;
  columns: Key[];
  rows: Cell[][];
}

/** The picture as tables: everything that it shows, nothing that moves. */
export function tablesOf(scene: Scene, options: { internal: boolean }): Table[] {
  return [nodeTable(scene), partitionTable(scene, options.internal), groupTable(scene), ...kafkaTables(scene.kafka), bundleTable(scene), topicTable(scene), ledgerTable(scene), ...pulsarTables(scene), ...ensembleTables(scene)];
}

function nodeTable({ ensemble, kafka, pulsar, storage }: Scene): Table {
  const stateOf = (state: string): Text => ({ key: `state.${state}` as Key });
  return {
    title: 'table.nodes',
    columns: ['table.node', 'table.role', 'table.state'],
    rows: [
      ...ensemble.servers.map((server) => [server.name, server.raftRole ? { key: `ensemble.${server.raftRole}` as Key } : '', stateOf(server.state)]),
      ...kafka.brokers.map((broker) => [broker.name, roleOf('kafka.broker', broker.controller && 'kafka.controller'), stateOf(broker.state)]),
      ...pulsar.brokers.map((broker) => [broker.name, roleOf('pulsar.broker', broker.leader && 'pulsar.leader'), stateOf(broker.state)]),
      ...storage.bookies.map((bookie) => [bookie.name, { key: bookie.readOnly ? 'storage.bookieReadOnly' : 'storage.bookie' } as Text, stateOf(bookie.state)]),
    ],
  };
}

/** Who does one thing more than the others of its role is a broker all the same. */
function roleOf(role: Key, more: Key | false): Text {
  return more ? { key: 'table.roleAndMore', params: { role: { key: role }, more: { key: more } } } : { key: role };
}

function partitionTable({ kafka }: Scene, internal: boolean): Table {
  const rows = kafka.brokers.flatMap((broker) =>
    broker.topics
      .filter((topic) => internal || !topic.internal)
      .flatMap((topic) =>
        topic.strips.map((strip): Cell[] => [strip.partition, broker.name, { key: `replica.${strip.status}` }, strip.leo, strip.highWatermark, isrCell(strip.isr)]),
      ),
  );
  rows.sort((a, b) => String(a[0]).localeCompare(String(b[0]), 'en', { numeric: true }));
  return { title: 'table.partitions', columns: ['table.partition', 'table.node', 'table.replica', 'table.logEnd', 'table.highWatermark', 'table.isr'], rows };
}

function isrCell(isr: LogStrip['isr']): Cell {
  return isr ? { key: 'kafka.isrOf', params: { count: isr.members.length, total: isr.replicas, members: isr.members } } : '';
}

function groupTable({ kafka }: Scene): Table {
  return {
    title: 'group.title',
    columns: ['table.group', 'table.partition', 'table.committed', 'table.highWatermark', 'table.lag'],
    rows: kafka.groups.flatMap((group) =>
      group.partitions.map((partition): Cell[] => [group.group, partition.partition, partition.committed ?? '–', partition.end, partition.committed === undefined ? '–' : partition.lag]),
    ),
  };
}

function bundleTable({ pulsar }: Scene): Table {
  return {
    title: 'table.bundles',
    columns: ['table.namespace', 'table.bundle', 'table.owner', 'table.topics'],
    rows: pulsar.namespaces.flatMap((ring) =>
      ring.bundles.map((bundle): Cell[] => [
        ring.namespace,
        bundle.range,
        bundle.owner || ({ key: 'pulsar.nobody' } as Text),
        bundle.topics.map(({ label }) => label),
      ]),
    ),
  };
}

function topicTable({ pulsar }: Scene): Table {
  return {
    title: 'table.topics',
    columns: ['table.topic', 'table.node', 'table.subscription', 'fact.backlog'],
    rows: pulsar.brokers.flatMap((broker) =>
      broker.topics.flatMap((topic) => {
        if (topic.subscriptions.length === 0) return [[topic.label, broker.name, '', ''] as Cell[]];
        return topic.subscriptions.map((one): Cell[] => [topic.label, broker.name, `${one.name} (${one.type})`, one.backlog]);
      }),
    ),
  };
}

function ledgerTable({ storage }: Scene): Table {
  return {
    title: 'table.ledgers',
    columns: ['table.ledger', 'table.topics', 'table.state', 'table.lastEntry', 'table.bookies'],
    rows: storage.ledgers.map((ledger): Cell[] => [
      String(ledger.id),
      ledger.label,
      { key: `ledger.${ledger.state}` as Key },
      ledger.end < 0 ? { key: 'ledger.empty' } : ledger.end,
      ledger.offload?.alone ? offloadText(ledger.offload) : (ledger.changes.at(-1)?.bookies ?? []),
    ]),
  };
}
