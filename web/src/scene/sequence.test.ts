import { describe, expect, it } from 'vitest';
import { TraceStore } from '../trace/store';
import { emptyState } from '../trace/reducer';
import type { WireRecord } from '../trace/types';
import { BEFORE, marksInParts, marksOf } from './marks';
import { sequenceOf, SEQUENCE_WINDOW, type SequenceWish } from './sequence';
import { Story, type Moment, type Sentence } from './story';

const AT = Date.parse('2026-03-09T08:00:00Z');

/** A store of records that are given by node, kind, data and the index of the one that led to each. */
function told(...lines: [node: string, kind: string, data: object, cause?: number][]) {
  const store = new TraceStore();
  const story = new Story();
  store.reset({ type: 'snapshot', n: 0, at: '', state: emptyState(), window: { firstN: 1, lastN: 0 }, resynchronised: 0 });
  const seqs = new Map<string, number>();
  const records: WireRecord[] = [];
  lines.forEach(([node, kind, data, cause], index) => {
    const seq = (seqs.get(node) ?? 0) + 1;
    seqs.set(node, seq);
    const from = cause === undefined ? undefined : records[cause]!;
    const at = new Date(AT + index).toISOString();
    records.push({ n: index + 1, run: 'r', node, seq, at, kind, data, ...(from ? { cause: { node: from.node, seq: from.seq } } : {}) } as unknown as WireRecord);
  });
  store.append(records, (record, state) => story.take(record, state));
  return { store, story: story.all };
}

const message = (from: string, to: string, name: string, correlation: number, response = false) => ({
  from, to, name, protocol: 'zookeeper', bytes: 10, subject: '/controller', offset: -1, count: 1, exchange: { connection: 'c', correlation, response },
});

const election = () =>
  told(
    ['kafka-1', 'node.started', { role: 'kafka', id: 1, addresses: {} }],
    ['kafka-2', 'node.started', { role: 'kafka', id: 2, addresses: {} }],
    ['kafka-2', 'node.stopped', { reason: 'killed' }],
    ['ensemble-3', 'ensemble.watchFired', { session: '0x3', path: '/controller', event: 'deleted', zxid: 7 }, 2],
    ['kafka-1', 'message.sent', message('kafka-1', 'ensemble-3', 'multi', 5), 3],
    ['ensemble-3', 'message.received', message('kafka-1', 'ensemble-3', 'multi', 5), 4],
    ['ensemble-3', 'message.sent', message('ensemble-3', 'kafka-1', 'multi', 5, true), 5],
    ['kafka-1', 'message.received', message('ensemble-3', 'kafka-1', 'multi', 5, true), 6],
    ['kafka-1', 'kafka.controllerElected', { broker: 1, epoch: 2 }, 7],
  );

const everything: SequenceWish = { nodes: new Set(), topics: new Set(), moments: new Set(), end: undefined, chosen: undefined };

describe('the sequence', () => {
  it('shows the way from the cause to the effect, a message as one arrow', () => {
    const { store, story } = election();
    const { rows, lanes, idle } = sequenceOf(store, story, everything, 9);
    expect(rows.map(({ from, to, label }) => [from, to, label].filter(Boolean).join(' '))).toEqual([
      'kafka-2', 'ensemble-3', 'kafka-1 ensemble-3 multi', 'ensemble-3 kafka-1 multi', 'kafka-1',
    ]);
    expect(lanes).toEqual(['kafka-1', 'kafka-2', 'ensemble-3']);
    expect(idle).toEqual([]);
  });

  it('tells of what was before the part at hand by its sentence alone', () => {
    const store = new TraceStore();
    store.reset({ type: 'snapshot', n: 100, at: '', state: emptyState(), window: { firstN: 101, lastN: 100 }, resynchronised: 0 });
    const story = new Story();
    store.append([{ n: 101, run: 'r', node: 'kafka-1', seq: 1, at: new Date(AT).toISOString(), kind: 'node.ready', data: {} }] as unknown as WireRecord[], (record, state) => story.take(record, state));
    const before: Sentence = { n: 40, time: AT - 1000, node: 'bookie-2', side: 'pulsar', moment: 'fault', text: { key: 'story.nodeKilled', params: { node: 'bookie-2' } } };
    const { rows, lanes } = sequenceOf(store, [before, ...story.all], everything, 101);
    expect(rows.map(({ n, from, to, apart, later }) => [n, from, to, apart, later])).toEqual([[40, 'bookie-2', undefined, true, false], [101, 'kafka-1', undefined, false, false]]);
    expect(lanes).toEqual(['kafka-1', 'bookie-2']);
  });

  it('lights up what led to the chosen row, and what it led to', () => {
    const { store, story } = election();
    const lit = (chosen: number) => sequenceOf(store, story, { ...everything, chosen }, 9).rows.map((row) => row.lit);
    expect(lit(9)).toEqual(['cause', 'cause', 'cause', 'cause', 'chosen']);
    expect(lit(3)).toEqual(['chosen', 'effect', 'effect', 'effect', 'effect']);
  });

  it('tells what is still to come at the instant shown', () => {
    const { store, story } = election();
    expect(sequenceOf(store, story, everything, 4).rows.map(({ later }) => later)).toEqual([false, false, true, true, true]);
  });

  it.each([
    [{ nodes: new Set(['kafka-2']) }, ['node.stopped']],
    [{ moments: new Set<Moment>(['election']) }, ['ensemble.watchFired', 'kafka.controllerElected']],
    [{ topics: new Set(['orders']) }, []],
  ])('tells only of %o', (filter, kinds) => {
    const { store, story } = election();
    const { rows } = sequenceOf(store, story, { ...everything, ...filter }, 9);
    const notable = rows.filter(({ moment }) => moment).map(({ n }) => store.record(n)!.kind);
    for (const kind of kinds) expect(notable).toContain(kind);
    if (kinds.length === 0) expect(rows).toEqual([]);
  });

  it('shows a window of a long story, and how much is before and after it', () => {
    const lines = Array.from({ length: 300 }, (): [string, string, object] => ['kafka-1', 'node.ready', {}]);
    const { store, story } = told(...lines);
    const { rows, before, after } = sequenceOf(store, story, { ...everything, end: 100 }, 300);
    expect([rows.length, before, after]).toEqual([SEQUENCE_WINDOW, 100 - SEQUENCE_WINDOW, 200]);
    const live = sequenceOf(store, story, everything, 300);
    expect([live.rows.at(-1)!.n, live.after]).toEqual([300, 0]);
  });

  it('stays quick among 40,000 records', () => {
    const lines = Array.from({ length: 40_000 }, (_, index): [string, string, object, number?] =>
      index % 20 === 0 ? ['kafka-1', 'node.ready', {}, Math.max(0, index - 1)] : ['kafka-2', 'kafka.followerFetched', { topic: 't', partition: 0, replica: 1, leo: index }, Math.max(0, index - 1)],
    );
    const { store, story } = told(...lines);
    const before = process.cpuUsage(); // not by the clock, which other processes use up
    for (let i = 0; i < 10; i++) sequenceOf(store, story, { ...everything, end: 500 + i * 100 }, 40_000);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000 / 10).toBeLessThan(50); // some milliseconds; it is made anew twice a second
  });
});

describe('the marks of the timeline', () => {
  const sentence = (n: number, time: number, moment: Moment): Sentence => ({ n, time, node: 'kafka-1', side: 'kafka', moment, text: { key: 'story.nodeReady', params: { node: 'kafka-1' } } });

  it('join where they would lie over each other, and the gravest tells for all', () => {
    const marks = marksOf([sentence(1, 0, 'node'), sentence(2, 5, 'fault'), sentence(3, 9, 'client'), sentence(4, 95, 'ledger')], 0, 100, 10);
    expect(marks.map(({ sentence: { n }, more, left }) => [n, more, left])).toEqual([[2, 2, 5], [4, 0, 95]]);
  });

  it('are never more than there is room for', () => {
    const many = Array.from({ length: 2000 }, (_, index) => sentence(index, index, 'partition'));
    expect(marksOf(many, 0, 2000, 24.7)).toHaveLength(24);
    expect(marksOf(many, 0, 2000, 0)).toHaveLength(1);
    expect(marksOf(many, 3000, 4000, 20)).toEqual([]);
  });

  it('of what was before the part at hand stand in a stretch of their own, however long ago that was', () => {
    const marks = marksInParts([sentence(1, 0, 'fault'), sentence(2, 900_000, 'node'), sentence(101, 1_000_000, 'fault'), sentence(102, 1_000_090, 'client')], 100, 1_000_000, 1_000_100, 100);
    expect(marks.map(({ sentence: { n }, apart }) => [n, apart])).toEqual([[1, true], [2, true], [101, undefined], [102, undefined]]);
    const [oldest, older, first, last] = marks.map(({ left }) => left);
    expect(oldest).toBeLessThan(1);
    expect(older).toBeLessThan(BEFORE);
    expect(first).toBeGreaterThanOrEqual(BEFORE);
    expect(last).toBeGreaterThan(90);
    expect(marksInParts([sentence(101, 50, 'fault')], 100, 0, 100, 10)).toEqual(marksOf([sentence(101, 50, 'fault')], 0, 100, 10));
    expect(marksInParts([sentence(1, 50, 'fault')], 100, 60, 100, 10).map(({ apart }) => apart)).toEqual([true]);
  });
});
