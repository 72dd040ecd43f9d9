import { describe, expect, it } from 'vitest';
import { typed } from '../trace/decode';
import { apply, emptyState } from '../trace/reducer';
import { craftedRecords } from '../trace/run.fixture';
import type { KafkaLog, KafkaPartition, State, WireRecord } from '../trace/types';
import { kafkaScene, stripScale } from './kafka';
import { memberLetter } from './kafka-groups';
import { logShape } from './kafka-log';
import { ledgersScene, writeSet } from './ledgers';
import { hashRange, pulsarScene, topicLabel } from './pulsar';
import { sceneOf } from './scene';
import { sentencesOf } from './sentences';
import { Story } from './story';
import { tablesOf } from './tables';

function log(change: Partial<KafkaLog>): KafkaLog {
  return { role: 'follower', damaged: false, leaderEpoch: 0, logStart: 0, leo: 0, highWatermark: 0, fetchedLEO: 0, bytes: 0, segments: [], segmentCount: 0, epochs: [], ...change };
}

function partition(change: Partial<KafkaPartition>): KafkaPartition {
  return { leader: 1, leaderEpoch: 0, isr: [1, 2], replicas: [1, 2, 3], partitionEpoch: 0, logs: {}, acknowledged: {}, refused: {}, ...change };
}

function threeBrokers(): State {
  const state = emptyState();
  for (const id of [1, 2, 3]) state.nodes[`kafka-${id}`] = { role: 'kafka', id, state: 'running', detail: '', addresses: {} };
  state.kafka.controller = { broker: 2, epoch: 4 };
  state.kafka.topics.orders = {
    id: 'x',
    config: {},
    partitions: { 0: partition({ logs: { 1: log({ role: 'leader', leo: 12, highWatermark: 10 }), 2: log({ leo: 12 }), 3: log({ leo: 4 }) } }) },
  };
  return state;
}

describe('Kafka-mode', () => {
  it('tells leader, in sync, out of sync and offline apart', () => {
    const state = threeBrokers();
    const statuses = () => kafkaScene(state).brokers.map((broker) => broker.topics[0]!.strips[0]!.status);
    expect(statuses()).toEqual(['leader', 'inSync', 'outOfSync']);
    state.nodes['kafka-2']!.state = 'killed';
    expect(statuses()).toEqual(['leader', 'offline', 'outOfSync']);
    state.kafka.topics.orders!.partitions[0]!.logs[3] = log({ role: 'offline', damaged: true });
    expect(statuses()).toEqual(['leader', 'offline', 'damaged']);
    expect(kafkaScene(state).brokers.map(({ controller }) => controller)).toEqual([false, true, false]);
    expect(kafkaScene(state).underReplicated).toBe(1);
  });

  it('tells the ISR of a partition on its leader’s strip, in the table and in sentences', () => {
    const state = threeBrokers();
    const strips = () => kafkaScene(state).brokers.map((broker) => broker.topics[0]!.strips[0]!.isr);
    const isr = { members: ['kafka-1', 'kafka-2'], replicas: 3 };
    expect(strips()).toEqual([isr, undefined, undefined]);
    const cells = () => tablesOf(sceneOf(state), { internal: true }).find(({ title }) => title === 'table.partitions')!.rows.map((row) => row.at(-1));
    expect(cells()).toEqual([{ key: 'kafka.isrOf', params: { count: 2, total: 3, members: isr.members } }, '', '']);
    const told = () => sentencesOf(sceneOf(state)).filter(({ key }) => key.startsWith('sentence.isr'));
    expect(told()).toEqual([{ key: 'sentence.isrLacks', params: { partition: 'orders-0', leader: 'kafka-1', count: 2, total: 3, members: isr.members } }]);
    const partitions = state.kafka.topics.orders!.partitions;
    partitions[0]!.isr = [1, 2, 3];
    expect(told()).toEqual([{ key: 'sentence.isrWhole', params: { count: 1 } }]);
    Object.assign(partitions[0]!, { leader: -1, isr: [2] }); // nobody leads: who may take over is what counts
    expect(strips()).toEqual([undefined, { members: ['kafka-2'], replicas: 3 }, undefined]);
    expect(told()[0]).toMatchObject({ key: 'sentence.isrLeaderless' });
    for (let number = 1; number < 9; number++) partitions[number] = partition({});
    expect(told().map(({ key }) => key).slice(-2)).toEqual(['sentence.isrLacks', 'sentence.isrMore']);
  });

  it('counts in its sentence the partitions of clients only', () => {
    const state = threeBrokers();
    const orders = state.kafka.topics.orders!;
    state.kafka.topics.__consumer_offsets = { ...orders, partitions: { ...orders.partitions, 1: orders.partitions[0]! } };
    expect(kafkaScene(state).underReplicated).toBe(3);
    const sentence = sentencesOf(sceneOf(state)).find(({ key }) => key === 'sentence.partitions');
    expect(sentence?.params).toEqual({ count: 1, under: 1, offline: 0 });
  });

  it('gives all replicas of a partition one scale, wide enough for the one that is furthest behind', () => {
    expect(stripScale(partition({ logs: { 1: log({ leo: 12 }) } }))).toEqual({ from: 0, to: 40 });
    const even = partition({ logs: { 1: log({ leo: 1000 }), 2: log({ leo: 995 }), 3: log({ leo: 1000 }) } });
    expect(stripScale(even)).toEqual({ from: 960, to: 1000 });
    const dead = partition({ logs: { 1: log({ leo: 1000 }), 2: log({ leo: 1000 }), 3: log({ role: 'offline', leo: 8 }) } });
    expect(stripScale(dead), 'a dead replica does not squeeze the others').toEqual({ from: 960, to: 1000 });
    const { from, to } = stripScale(partition({ logs: { 1: log({ leo: 1000 }), 2: log({ leo: 1000 }), 3: log({ leo: 800 }) } }));
    expect(from).toBeLessThan(800);
    expect(to).toBe(1000);
  });

  it('counts a group’s lag up to the high watermark of the leader', () => {
    const state = threeBrokers();
    const members = { m: { instanceID: '', clientID: 'c', joined: false, assigned: ['orders-0'] } };
    state.kafka.groups.readers = { coordinator: 1, state: 'Stable', generation: 1, strategy: 'range', leader: 'm', members, pending: 0, offsets: { 'orders-0': 7 } };
    const scene = kafkaScene(state);
    expect(scene.groups[0]!.partitions).toEqual([{ partition: 'orders-0', committed: 7, end: 10, lag: 3 }]);
    expect(scene.brokers[0]!.topics[0]!.strips[0]!.committed).toEqual([{ group: 'readers', offset: 7 }]);
    expect(scene.brokers[1]!.topics[0]!.strips[0]!.committed).toEqual([]);
  });

  it('does not take a group that has committed nothing for one that has read everything', () => {
    const state = threeBrokers();
    const group = { coordinator: 1, state: 'Empty', generation: 1, strategy: '', leader: '', members: {}, pending: 0, offsets: {} as Record<string, number> };
    state.kafka.groups.readers = group;
    const told = () => sentencesOf(sceneOf(state)).map(({ key }) => key);
    expect(kafkaScene(state).groups[0]!.lag).toBeUndefined();
    expect(told()).toContain('sentence.groupUncommitted');
    state.kafka.groups.readers = { ...group, state: 'Stable', members: { m: { instanceID: '', clientID: 'c', joined: false, assigned: ['orders-0'] } } };
    expect(kafkaScene(state).groups[0]).toMatchObject({ lag: undefined, partitions: [{ partition: 'orders-0', committed: undefined, lag: 10 }] });
    state.kafka.groups.readers = { ...group, offsets: { 'orders-0': 10 } };
    expect(kafkaScene(state).groups[0]!.lag).toBe(0);
    expect(told()).not.toContain('sentence.groupUncommitted');
  });
});

describe('ledgers', () => {
  const ensembles = [
    { firstEntry: 0, bookies: ['a', 'b', 'c'] },
    { firstEntry: 5, bookies: ['a', 'd', 'c'] },
  ];

  it('stripes an entry over the write quorum, round robin, by the ensemble that takes it', () => {
    expect([0, 1, 2, 3].map((entry) => writeSet(ensembles, entry, 2))).toEqual([['a', 'b'], ['b', 'c'], ['c', 'a'], ['a', 'b']]);
    expect(writeSet(ensembles, 6, 2)).toEqual(['a', 'd']);
    expect(writeSet(ensembles, 7, 3)).toEqual(['d', 'c', 'a']);
    expect(writeSet([], 1, 2)).toEqual([]);
  });

  it('shows where the ensemble changed and what each bookie has', () => {
    const state = emptyState();
    'abcd'.split('').forEach((name, index) => {
      state.nodes[`bookie-${index + 1}`] = { role: 'bookie', id: index + 1, state: 'running', detail: '', addresses: { bookie: name } };
    });
    const stored = { a: { lastEntry: 6, entries: 5, bytes: 5 }, b: { lastEntry: 4, entries: 3, bytes: 3 }, d: { lastEntry: 6, entries: 1, bytes: 1 } };
    state.pulsar.ledgers[7] = {
      state: 'open', writeQuorum: 2, ackQuorum: 1, ensembles, writer: 'pulsar-1', lastAddConfirmed: 6, lastEntry: -1, length: 0, recovered: false,
      managedLedger: 'public/default/persistent/a%2Fb', cursor: '', fencedBy: ['a'], stored,
    };
    const row = ledgersScene(state).ledgers[0]!;
    expect(row.label).toBe('a/b');
    expect(Object.keys(row.stripes).sort()).toEqual(['bookie-1', 'bookie-2', 'bookie-3', 'bookie-4']);
    expect(row.stripes['bookie-2']).toMatchObject({ inEnsemble: false, fenced: false });
    expect(row.stripes['bookie-1']).toMatchObject({ inEnsemble: true, fenced: true });
    const spare = row.stripes['bookie-4']!.cells;
    expect(spare.filter(({ belongs }) => belongs).map(({ entry }) => entry)).toEqual([6]);
    expect(spare.filter(({ afterChange }) => afterChange).map(({ entry }) => entry)).toEqual([5]);
    expect(row.stripes['bookie-3']!.cells.some(({ stored: there }) => there)).toBe(false);
    state.pulsar.ledgers[7]!.ackQuorum = 2;
    const sure = ledgersScene(state).ledgers[0]!.stripes['bookie-3']!.cells;
    expect(sure.every(({ belongs, stored: there }) => there === belongs), 'with both acknowledging, what is confirmed is on both').toBe(true);
  });
});

describe('Pulsar-mode', () => {
  it('reads hash ranges, the last one up to the end of the space', () => {
    expect(hashRange('0x40000000_0x80000000')).toEqual([0.25, 0.5]);
    expect(hashRange('0xc0000000_0xffffffff')).toEqual([0.75, 1]);
    expect(hashRange('nonsense')).toEqual([0, 1]);
  });

  it('calls a topic by its last name', () => expect(topicLabel('persistent://public/default/orders-partition-0')).toBe('orders-partition-0'));

  it('puts bundles in the order of the space, with their owners’ places', () => {
    const state = emptyState();
    for (const id of [1, 2]) state.nodes[`pulsar-${id}`] = { role: 'pulsar', id, state: 'running', detail: '', addresses: {} };
    for (const [range, owner] of [['0x80000000_0xffffffff', 'pulsar-2'], ['0x00000000_0x80000000', '']] as const) {
      state.pulsar.bundles[`a/b/${range}`] = { namespace: 'a/b', range, owner };
    }
    expect(pulsarScene(state).namespaces[0]!.bundles.map(({ from, ownerIndex }) => [from, ownerIndex])).toEqual([[0, -1], [0.5, 1]]);
  });

  it('fills what has had no owner yet', () => {
    const state = emptyState();
    state.pulsar.bundles['a/b/x'] = { namespace: 'a/b', range: '0x40000000_0x80000000', owner: 'pulsar-1' };
    const ranges = pulsarScene(state).namespaces[0]!.bundles.map(({ range }) => range);
    expect(ranges).toEqual(['0x00000000_0x40000000', '0x40000000_0x80000000', '0x80000000_0xffffffff']);
  });
});

describe('the story', () => {
  const told = (records: WireRecord[]) => {
    const state = emptyState();
    const story = new Story();
    for (const record of records) {
      apply(state, typed(record));
      story.take(typed(record), state);
    }
    return story.all.map(({ text }) => text);
  };
  const base = { run: 'r', at: '2026-01-01T00:00:00Z' };

  it('does not tell again what a new controller only repeats', () => {
    const change = (n: number, leader: number, leaderEpoch: number, reason: string) =>
      ({ ...base, n, node: 'kafka-1', seq: n, kind: 'kafka.partitionStateChanged', data: { topic: 'orders', partition: 0, leader, leaderEpoch, isr: [1, 2], replicas: [1, 2], partitionEpoch: n, controllerEpoch: 1, reason } }) as WireRecord;
    const texts = told([change(1, 1, 0, 'created'), change(2, 1, 0, 'election-clean'), change(3, 2, 1, 'election-clean'), change(4, 2, 1, 'election-clean')]);
    expect(texts).toEqual([{ key: 'story.leaderChanged', params: { partition: 'orders-0', leader: 'kafka-2', epoch: '1' } }]);
  });

  it('tells a topic once, and again when it is another one of the same name', () => {
    const created = (n: number, topicID: string) =>
      ({ ...base, n, node: 'kafka-1', seq: n, kind: 'kafka.topicCreated', data: { topic: 'orders', topicID, replicas: [[1]] } }) as WireRecord;
    expect(told([created(1, 'a'), created(2, 'a'), created(3, 'b')]).length).toBe(2);
  });

  it('says whose session expired', () => {
    const texts = told([
      { ...base, n: 1, node: 'ensemble-1', seq: 1, kind: 'ensemble.sessionCreated', data: { session: '0x1', timeoutMS: 1000, zxid: 1 } },
      { ...base, n: 2, node: 'ensemble-1', seq: 2, kind: 'ensemble.sessionConnected', data: { session: '0x1', client: 'kafka-2', address: '' } },
      { ...base, n: 3, node: 'ensemble-1', seq: 3, kind: 'ensemble.sessionEnded', data: { session: '0x1', expired: true, zxid: 2 } },
      { ...base, n: 4, node: 'ensemble-2', seq: 1, kind: 'ensemble.sessionEnded', data: { session: '0x1', expired: true, zxid: 2 } },
    ]);
    expect(texts).toEqual([{ key: 'story.sessionExpiredOf', params: { session: '0x1', client: 'kafka-2' } }]);
  });
});

describe('the crafted run', () => {
  it('gives a scene, tables and sentences at every instant, and a story', () => {
    const state = emptyState();
    const story = new Story();
    for (const record of craftedRecords()) {
      apply(state, typed(record));
      story.take(typed(record), state);
      const scene = sceneOf(state);
      expect(sentencesOf(scene).length).toBeGreaterThan(4);
      for (const table of tablesOf(scene, { internal: true })) for (const row of table.rows) expect(row.length).toBe(table.columns.length);
    }
    const told = story.all.map(({ text }) => text.key);
    for (const key of ['story.ensembleLeader', 'story.controllerElected', 'story.nodeKilled', 'story.bundleOwned', 'story.ledgerOpened']) expect(told).toContain(key);
    const expired = story.all.filter(({ text }) => text.key.startsWith('story.sessionExpired')).map(({ text }) => text.params!.session);
    expect(new Set(expired).size, 'a session ends once, though every server reports it').toBe(expired.length);
  });
});

describe('what a strip shows of a log', () => {
  const segments = [{ base: 0, bytes: 9 }, { base: 20, bytes: 9 }, { base: 60, bytes: 9 }, { base: 75, bytes: 9 }];
  const shape = (change: Partial<KafkaLog>) => logShape(log({ leo: 90, segments, segmentCount: 6, epochs: [{ epoch: 0, start: 0 }, { epoch: 3, start: 70 }], ...change }), { from: 60, to: 100 });

  it('puts segments that end before it on the shelf, and marks epochs that begin in it', () => {
    const { shelf, segments: shown, segmentCount, epochs } = shape({});
    expect(shelf.map(({ base, end }) => [base, end])).toEqual([[0, 20], [20, 60]]);
    expect(shown.map(({ base, end, active }) => [base, end, active])).toEqual([[60, 75, false], [75, 90, true]]);
    expect(segmentCount).toBe(6);
    expect(epochs).toEqual([{ epoch: 3, start: 70 }]);
  });

  it('labels where the log starts before where segments do, and leaves out what has no room', () => {
    expect(shape({}).ruler).toEqual([{ offset: 60, what: 'base' }, { offset: 75, what: 'base' }]);
    expect(shape({ logStart: 72 }).ruler).toEqual([{ offset: 60, what: 'edge' }, { offset: 72, what: 'start' }]);
  });
});

describe('a broker’s reactor and its groups', () => {
  it('tells what waits for what, and which waits are long', () => {
    const state = threeBrokers();
    const waits = [
      { api: 'Produce', client: 'p', partition: 'orders-0', partitions: 2, offset: 13, minBytes: 0, since: '2026-01-01T00:00:01Z', timeoutMS: 30_000 },
      { api: 'Fetch', client: 'kafka-2', partition: 'orders-0', partitions: 1, offset: 12, minBytes: 1, since: '', timeoutMS: 500 },
      { api: 'Fetch', client: 'reader', partition: 'orders-0', partitions: 1, offset: 10, minBytes: 1, since: '', timeoutMS: 500 },
    ];
    state.kafka.reactors['kafka-1'] = { connections: 3, queued: 0, queueLimit: 500, busy: 1, handlers: 8, produces: 1, fetches: 1, replicaFetch: 1, others: 0, waits };
    const { reactor } = kafkaScene(state).brokers[0]!;
    expect(reactor!.waits.map(({ waitsFor }) => waitsFor)).toEqual(['replicas', 'copy', 'records']);
    expect(reactor!.stuck.map(({ since, more }) => [since, more])).toEqual([[Date.parse('2026-01-01T00:00:01Z'), 1]]);
    expect(reactor!.inPurgatory).toBe(3);
    expect(sentencesOf(sceneOf(state)).map(({ key }) => key)).toContain('sentence.stuck');
    state.nodes['kafka-1']!.state = 'killed';
    expect(kafkaScene(state).brokers[0]!.reactor).toBeUndefined();
  });

  it('gives each member a letter of its own and puts it on the leader’s strip', () => {
    const state = threeBrokers();
    const group = (id: string) => ({ coordinator: 1, state: 'Stable', generation: 1, strategy: 'range', leader: id, members: { [id]: { instanceID: '', clientID: id, joined: false, assigned: ['orders-0'] } }, pending: 0, offsets: {} });
    state.kafka.groups = { a: group('m'), b: group('n') };
    const strips = kafkaScene(state).brokers.map(({ topics }) => topics[0]!.strips[0]!.readers.map(({ member }) => member.letter));
    expect(strips).toEqual([['A', 'B'], [], []]);
    expect([0, 25, 26].map(memberLetter)).toEqual(['A', 'Z', 'A2']);
  });

  it('tells a refused producer once, however often it tries', () => {
    const story = new Story();
    const state = threeBrokers();
    const refused = (n: number, seconds: number) =>
      typed({ run: 'r', n, node: 'kafka-1', seq: n, at: `2026-01-01T00:00:${String(seconds).padStart(2, '0')}Z`, kind: 'kafka.produceRefused', data: { topic: 'orders', partition: 0, error: 'NOT_ENOUGH_REPLICAS', acks: -1, isr: 1, minISR: 2 } } as WireRecord);
    for (const [n, seconds] of [[1, 0], [2, 1], [3, 9], [4, 20]] as const) story.take(refused(n, seconds), state);
    expect(story.all.map(({ n, text }) => [n, text.key])).toEqual([[1, 'story.refusedForReplicas'], [4, 'story.refusedForReplicas']]);
  });
});
