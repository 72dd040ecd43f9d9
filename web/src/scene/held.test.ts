import { expect, it } from 'vitest';
import { typed } from '../trace/decode';
import { apply, emptyState } from '../trace/reducer';
import type { State, WireRecord } from '../trace/types';
import { Story } from './story';

const node = (role: string, id: number): State['nodes'][string] => ({ role, id, state: 'running', detail: '', addresses: {} }) as never;

function classroom(): State {
  const state = emptyState();
  state.nodes = { 'kafka-1': node('kafka', 1), 'kafka-2': node('kafka', 2), 'pulsar-1': node('pulsar', 1), 'bookie-1': node('bookie', 1) };
  const partition = (leader: number) => ({ leader, leaderEpoch: 0, isr: [1, 2], replicas: [1, 2], logs: {} });
  state.kafka.topics = { orders: { id: 'a', partitions: { 0: partition(1), 1: partition(2) } }, __consumer_offsets: { id: 'b', partitions: { 0: partition(1) } } } as never;
  state.pulsar.bookies = { a: { node: 'bookie-1', registered: true, readOnly: false }, b: { node: 'bookie-2', registered: true, readOnly: false } };
  const ledger = (its: object) => ({ state: 'open', writeQuorum: 1, ackQuorum: 1, ensembles: [{ firstEntry: 0, bookies: ['a'] }], writer: '', lastAddConfirmed: 3, lastEntry: -1, length: 0, recovered: false, managedLedger: 'x', cursor: '', fencedBy: [], stored: {}, ...its });
  state.pulsar.ledgers = { 1: ledger({}), 2: ledger({ state: 'closed' }), 3: ledger({ cursor: 'c' }), 4: ledger({ ensembles: [{ firstEntry: 0, bookies: ['a'] }, { firstEntry: 2, bookies: ['b'] }] }) } as never;
  return state;
}

function faults(...records: [node: string, kind: string, data: object, at?: number][]) {
  const state = classroom();
  const story = new Story();
  story.begin(state);
  for (const [index, [name, kind, data, at = 0]] of records.entries()) {
    const record = typed({ n: index + 1, run: 'r', node: name, seq: index + 1, at: new Date(1_770_000_000_000 + at).toISOString(), kind, data } as unknown as WireRecord);
    apply(state, record);
    story.take(record, state);
  }
  return story.all.filter(({ text }) => /node(Killed|Stopped|Paused)/.test(text.key));
}

const play = (...records: Parameters<typeof faults>) => faults(...records).map(({ held }) => held);

const led = (partition: number, leader: number, reason: string) => ({ topic: 'orders', partition, leader, leaderEpoch: 1, isr: [2], replicas: [1, 2], partitionEpoch: 1, controllerEpoch: 1, reason });
const stopped = { reason: 'stopped' };
const killed = { reason: 'killed' };
const topic = (name: string) => ({ topic: `persistent://public/default/${name}` });

it('a broker had the partitions of clients that it led', () => expect(play(['kafka-1', 'node.stopped', killed], ['kafka-2', 'node.paused', {}])).toEqual([['orders-0'], ['orders-1']]));

it('a bookie had the open ledgers of topics that it stored', () => expect(play(['bookie-1', 'node.stopped', killed])).toEqual([['ledger 1']]));

it('a broker of Pulsar had the topics that it served, also those that it handed over as it stopped, but none that another serves', () => {
  const records: Parameters<typeof play> = [
    ['pulsar-1', 'pulsar.topicLoaded', topic('orders')],
    ['pulsar-1', 'pulsar.topicLoaded', topic('idle')],
    ['pulsar-1', 'pulsar.topicLoaded', topic('moved')],
    ['pulsar-1', 'pulsar.topicUnloaded', topic('idle'), 1000],
    ['pulsar-1', 'pulsar.topicUnloaded', topic('moved'), 60_000],
    ['pulsar-2', 'pulsar.topicLoaded', topic('moved'), 60_100],
    ['pulsar-1', 'pulsar.topicUnloaded', topic('orders'), 61_000],
    ['pulsar-1', 'node.stopped', { reason: 'stopped' }, 61_100],
  ];
  expect(play(...records)).toEqual([['orders']]);
});

it('a broker of Kafka that is stopped in order had the partitions that were moved away from it before it went', () => {
  const [fault] = faults(
    ['kafka-2', 'kafka.partitionStateChanged', led(0, 2, 'controlled-shutdown'), 1000],
    ['kafka-2', 'kafka.partitionStateChanged', led(1, 2, 'replica-offline'), 1001],
    ['kafka-1', 'node.stopped', stopped, 1100],
  );
  expect(fault).toMatchObject({ held: ['orders-0'], since: { n: 1, time: 1_770_000_001_000 } });
});

it('what a node handed over in an earlier life is not its own in the next one', () => {
  const records: Parameters<typeof play> = [
    ['kafka-2', 'kafka.partitionStateChanged', led(0, 2, 'controlled-shutdown'), 1000],
    ['kafka-1', 'node.stopped', stopped, 1100],
    ['kafka-1', 'node.started', { role: 'kafka', id: 1, addresses: {} }, 2000],
    ['kafka-1', 'node.stopped', killed, 3000],
    ['pulsar-1', 'pulsar.topicLoaded', topic('orders'), 3000],
    ['pulsar-1', 'pulsar.topicUnloaded', topic('orders'), 4000],
    ['pulsar-1', 'node.started', { role: 'pulsar', id: 1, addresses: {} }, 5000],
    ['pulsar-1', 'node.stopped', killed, 6000],
  ];
  expect(play(...records)).toEqual([['orders-0'], [], []]);
});
