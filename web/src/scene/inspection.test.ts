import { describe, expect, it } from 'vitest';
import { en } from '../i18n/en';
import { format } from '../i18n/message';
import { craftedRecords, readLines, snapshotAt } from '../trace/run.fixture';
import { TraceStore } from '../trace/store';
import type { TypedRecord, WireRecord } from '../trace/types';
import { factsOf } from './facts';
import { inspectionOf, overviewOf } from './inspection';
import { concerns, isEveryday, isMessage, recordText } from './records';
import { keyOf, nameOf, partitionNamed, thingsOf, topicNamed, type Thing } from './things';

function craftedStore(): TraceStore {
  const store = new TraceStore();
  store.reset(snapshotAt(0));
  store.append(craftedRecords());
  return store;
}

const store = craftedStore();
const all = store.following(0, () => true, Infinity, Infinity);
const told = (record: TypedRecord) => {
  const { key, params } = recordText(record, store.seek(record.n));
  return format(en, 'en', key, params);
};

describe('things', () => {
  it('are every named thing of the state, each with a name and facts of its own', () => {
    const seen = new Set<string>();
    for (let n = 0; n <= store.lastN; n += 5) {
      const state = store.seek(n);
      for (const { type, things } of thingsOf(state)) {
        for (const { name, thing } of things) {
          expect(name).toBe(nameOf(thing));
          expect(factsOf(thing, state), `${keyOf(thing)} at ${n}`).toBeTruthy();
          seen.add(type);
        }
      }
    }
    expect([...seen].sort()).toEqual(['bundle', 'group', 'ledger', 'node', 'replica', 'subscription', 'topic', 'znode']);
  });

  it('that are not there have no facts', () => {
    const state = store.seek(store.lastN);
    const gone: Thing[] = [
      { type: 'node', node: 'constructor' }, { type: 'replica', topic: '__proto__', partition: 0, broker: 1 }, { type: 'group', group: 'toString' },
      { type: 'topic', topic: 'x' }, { type: 'subscription', topic: 'x', subscription: 'y' }, { type: 'bundle', namespace: 'a/b', range: '0_1' },
      { type: 'ledger', ledger: 9999 }, { type: 'znode', path: '/none' },
    ];
    for (const thing of gone) expect(factsOf(thing, state), keyOf(thing)).toBeUndefined();
  });

  it('have names that are read back', () => {
    expect(partitionNamed('a-b-12')).toEqual({ topic: 'a-b', partition: 12 });
    for (const name of ['orders', 'orders-', '-1', 'orders-x']) expect(partitionNamed(name), name).toBeUndefined();
    expect(topicNamed('public/default/persistent/a%2Fb')).toBe('persistent://public/default/a/b');
    expect(topicNamed('')).toBeUndefined();
    expect(topicNamed('a/b/c/%E0%A4%A')).toBeUndefined();
  });
});

describe('records', () => {
  it('are told in whole sentences, whatever their kind', () => {
    for (const record of all) expect(told(record), record.kind).not.toMatch(/[{}]|undefined/);
  });

  it('concern a replica when they are its broker’s or the controller’s about its partition', () => {
    const state = store.seek(store.lastN);
    const replica = thingsOf(state).find(({ type }) => type === 'replica')!.things[0]!.thing as Extract<Thing, { type: 'replica' }>;
    const found = all.filter(concerns(replica));
    expect(found.length).toBeGreaterThan(2);
    const own = new Set(['kafka.appended', 'kafka.highWatermarkAdvanced', 'kafka.replicaRoleChanged', 'kafka.truncated']);
    for (const record of found) {
      if (isMessage(record)) continue;
      expect(record.data).toMatchObject({ topic: replica.topic });
      if (own.has(record.kind)) expect(record.node).toBe(`kafka-${replica.broker}`);
    }
  });
});

describe('an inspection', () => {
  it('goes back from the clock’s instant, newest first, and leaves out what comes by the thousand unless asked', () => {
    const node: Thing = { type: 'node', node: 'kafka-1' };
    const calm = inspectionOf({ thing: node, everything: false }, store, store.lastN);
    const whole = inspectionOf({ thing: node, everything: true }, store, store.lastN);
    expect(whole.history.length).toBeGreaterThan(calm.history.length);
    const order = whole.history.map(({ n }) => n);
    expect(order).toEqual([...order].sort((a, b) => b - a));
    const middle = order[Math.floor(order.length / 2)]!;
    expect(inspectionOf({ thing: node, everything: true }, store, middle).history[0]!.n).toBe(middle);
  });

  it('of a record tells its cause and its effects', () => {
    const message = (response: boolean) => ({
      exchange: { connection: 'c', correlation: 3, response }, from: response ? 'kafka-1' : 'kafka-2', to: response ? 'kafka-2' : 'kafka-1',
      protocol: 'kafka', name: 'Fetch', bytes: 10, offset: -1, count: 1,
    });
    const at = '2026-03-02T09:00:00Z';
    const fetch = new TraceStore();
    fetch.reset(snapshotAt(0));
    fetch.append([
      { n: 1, run: 'r', node: 'kafka-2', seq: 7, at, kind: 'message.sent', data: message(false) },
      { n: 2, run: 'r', node: 'kafka-1', seq: 7, at, kind: 'message.received', data: message(false), cause: { node: 'kafka-2', seq: 7 } },
      { n: 3, run: 'r', node: 'kafka-1', seq: 8, at, kind: 'kafka.requestDelayed', data: { api: 'Fetch', subject: 'o-0', exchange: message(false).exchange, waiting: 1 }, cause: { node: 'kafka-1', seq: 7 } },
      { n: 4, run: 'r', node: 'kafka-1', seq: 9, at, kind: 'message.sent', data: message(true) },
    ] as WireRecord[]);
    const of = (n: number) => inspectionOf({ thing: { type: 'record', n }, everything: false }, fetch, 4);
    expect(of(3).causes.map(({ n }) => n)).toEqual([2, 1]);
    expect(of(1).history.map(({ n }) => n)).toEqual([2, 4]);
    expect(of(2).history.map(({ n }) => n)).toEqual([3, 4]);
    expect(of(4).facts).toBeTruthy();
  });

  it('of a record that has left the window has nothing', () => {
    const gone = inspectionOf({ thing: { type: 'record', n: 1_000_000 }, everything: false }, store, 5);
    expect([gone.facts, gone.history, gone.causes]).toEqual([undefined, [], []]);
  });

  it('begins with an overview of what can be inspected', () => {
    expect(overviewOf(store, store.lastN, []).lists.length).toBe(8);
  });
});

describe('what a new controller found', () => {
  const of = (kind: string, data: object) => ({ n: 1, time: 0, node: 'kafka-2', seq: 1, kind, data }) as unknown as TypedRecord;
  const state = { topic: 'orders', partition: 0, leader: 1, leaderEpoch: 4, isr: [1], replicas: [1], partitionEpoch: 2, controllerEpoch: 3, reason: 'taken-over' };

  it('is not told as if it happened again', () => {
    expect(told(of('kafka.topicCreated', { topic: 'orders', topicID: 'a', replicas: [[1]], found: true }))).toBe('kafka-2 became controller and found topic orders.');
    expect(told(of('kafka.partitionStateChanged', state))).toBe('kafka-2 became controller and found orders-0 led by kafka-1, leader epoch 4.');
    expect(told(of('kafka.partitionStateChanged', { ...state, leader: -1 }))).toContain('found orders-0 without a leader');
  });

  it('is told apart from what did happen', () => {
    expect(told(of('kafka.topicCreated', { topic: 'orders', topicID: 'a', replicas: [[1]] }))).toContain('was created');
    expect(told(of('kafka.partitionStateChanged', { ...state, reason: 'election-clean' }))).toContain('now leads');
  });

  it.each(['created', 'replica-offline', 'isr-changed'])('%s is told in words', (reason) => {
    expect(told(of('kafka.partitionStateChanged', { ...state, reason }))).not.toMatch(new RegExp(`-[a-z]|${reason}`));
  });
});

it('the shape of a log is told in words, among what is routine', () => {
  const record = { n: 1, time: 0, node: 'kafka-2', seq: 1, kind: 'kafka.logShapeChanged', data: { topic: 'orders', partition: 0, segments: [], segmentCount: 2, epochs: [{ epoch: 5, start: 9 }] } } as unknown as TypedRecord;
  expect(told(record)).toBe('the log of orders-0 on kafka-2 has 2 segments; its newest leader epoch is 5');
  expect(isEveryday(record)).toBe(true);
});

it('every kind of record that the recorded runs hold is told in words, not by the name of its kind', { timeout: 30_000 }, () => {
  const looked = new Map<string, number>();
  const untold = new Set<string>();
  const walk = new TraceStore({ records: 1_000_000, checkpointEvery: 1_000_000 });
  for (const lines of [craftedRecords(), (readLines('classroom.jsonl.gz') as WireRecord[]).map((record, index) => ({ ...record, n: index + 1 }))]) {
    walk.reset(snapshotAt(0));
    walk.append(lines, (record, state) => {
      const times = (looked.get(record.kind) ?? 0) + 1;
      looked.set(record.kind, times);
      if (times > 100) return; // what comes by the thousand is told in one way
      const { key, params } = recordText(record, state);
      if (key === 'record.other' || /\{\w+\}|undefined|NaN/.test(format(en, 'en', key, params))) untold.add(`${record.kind}: ${JSON.stringify(params)}`);
    });
  }
  expect([...untold]).toEqual([]);
  expect(looked.size).toBeGreaterThan(70);
});
