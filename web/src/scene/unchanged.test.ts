import { describe, expect, it } from 'vitest';
import { craftedRecords, readLines, snapshotAt } from '../trace/run.fixture';
import { TraceStore } from '../trace/store';
import type { WireRecord } from '../trace/types';
import { sceneOf } from './scene';
import { keepUnchanged } from './unchanged';

describe('what has not changed', () => {
  const before = () => ({ name: 'a', list: [{ n: 1 }, { n: 2 }], none: undefined as undefined | number, deep: { one: { x: [1, 2] }, two: 3 } });

  it('is the same object when nothing has', () => {
    const first = before();
    expect(keepUnchanged(first, before())).toBe(first);
    expect(keepUnchanged([1, 'a', null], [1, 'a', null])).toEqual([1, 'a', null]);
  });

  it('stays, part by part, beside what has', () => {
    const first = before();
    const now = { ...before(), list: [{ n: 1 }, { n: 5 }, { n: 2 }] };
    const kept = keepUnchanged(first, now);
    expect(kept).toEqual({ ...before(), list: [{ n: 1 }, { n: 5 }, { n: 2 }] });
    expect(kept).not.toBe(first);
    expect(kept.deep).toBe(first.deep);
    expect(kept.list[0]).toBe(first.list[0]);
    expect(first).toEqual(before());
  });

  it.each<[unknown, unknown]>([
    [{ a: 1, b: undefined }, { a: 1 }],
    [{ a: 1 }, { a: 1, b: undefined }],
    [{ a: undefined }, { b: undefined }],
    [[], {}],
    [{}, []],
    [[1, 2], [1]],
    [undefined, { a: 1 }],
    [null, { a: 1 }],
    [{ a: null }, { a: {} }],
    [{ a: 0 }, { a: -0 }],
    [1, 2],
  ])('is told from what has: %j, now %j', (was, is) => {
    const copy = structuredClone(is);
    expect(keepUnchanged(was, is)).toStrictEqual(copy);
  });

  it('leaves every scene of a run as it is told anew, and shares with the one before', () => {
    const records = craftedRecords();
    const store = new TraceStore();
    store.reset(snapshotAt(0));
    store.append(records);
    let shown = sceneOf(store.seek(0));
    let shared = 0;
    for (let n = 1; n <= records.length; n++) {
      const before = shown;
      shown = keepUnchanged(before, sceneOf(store.seek(n)));
      expect(shown, `n ${n}`).toStrictEqual(sceneOf(store.seek(n)));
      if (shown.pulsar === before.pulsar || shown.kafka === before.kafka) shared++;
    }
    expect(shared).toBeGreaterThan(records.length / 2);
  });

  it.each([
    ['crafted', craftedRecords()],
    ['classroom', (readLines('classroom.jsonl.gz') as WireRecord[]).map((record, index) => ({ ...record, n: index + 1 }))],
  ])('can be told in the %s run, because a scene shares nothing with the state, which goes on changing', (_, records) => {
    const store = new TraceStore({ records: 1_000_000, checkpointEvery: 1_000_000 });
    store.reset(snapshotAt(0));
    store.append(records);
    for (let n = 1; n <= records.length; n += Math.ceil(records.length / 100)) {
      const state = store.seek(n);
      const own = partsOf(state);
      const shared = [...partsOf(sceneOf(state))].filter(([part]) => own.has(part)).map(([, path]) => path);
      expect(shared, `n ${n}`).toEqual([]);
    }
  });
});

/** The objects that data is made of, and where each is. */
function partsOf(data: unknown, path = '', parts = new Map<object, string>()): Map<object, string> {
  if (typeof data !== 'object' || data === null || parts.has(data)) return parts;
  parts.set(data, path);
  for (const [key, value] of Object.entries(data)) partsOf(value, `${path}.${key}`, parts);
  return parts;
}
