import { describe, expect, it, vi } from 'vitest';
import { typed } from './decode';
import { KeptState } from './kept-state';
import { apply, emptyState } from './reducer';
import { craftedRecords, snapshotAt } from './run.fixture';
import { TraceStore } from './store';
import type { State } from './types';

const records = craftedRecords();

/** The states after 0, 1, 2, … records, each folded from the beginning. */
const states: State[] = (() => {
  const state = emptyState();
  const all = [structuredClone(state)];
  for (const record of records) {
    apply(state, typed(record));
    all.push(structuredClone(state));
  }
  return all;
})();

function filled(limits = { records: 1000, checkpointEvery: 16 }): TraceStore {
  const store = new TraceStore(limits);
  store.reset(snapshotAt(0));
  for (let from = 0; from < records.length; from += 7) store.append(records.slice(from, from + 7));
  return store;
}

describe('seek', () => {
  it('reaches the state after every record, forward, backward and at random', () => {
    const store = filled();
    const forward = records.map((_, index) => index + 1);
    const shuffled = forward.map((n) => (n * 89) % (records.length + 1));
    for (const n of [...forward, ...forward.toReversed(), ...shuffled]) expect(store.seek(n), `n ${n}`).toEqual(states[n]);
    expect(store.state, 'the state now is untouched by seeking').toEqual(states.at(-1));
  });

  it('copies no state while it goes forward, however many checkpoints it passes', () => {
    const store = filled();
    store.seek(1);
    const clone = vi.spyOn(KeptState.prototype, 'copy');
    for (let n = 2; n <= records.length; n += 5) expect(store.seek(n), `n ${n}`).toEqual(states[n]);
    expect(clone).not.toHaveBeenCalled();
    store.seek(1);
    store.seek(records.length - 1);
    expect(clone).toHaveBeenCalledTimes(2);
    clone.mockRestore();
  });

  it('keeps to the window when records were forgotten', () => {
    const store = filled({ records: 100, checkpointEvery: 10 });
    expect(store.firstN).toBeGreaterThan(0);
    const kept = records.length - store.firstN;
    expect(kept).toBeLessThanOrEqual(100);
    expect(kept).toBeGreaterThan(100 - 10 - 7);
    for (let n = store.firstN; n <= records.length; n++) expect(store.seek(n), `n ${n}`).toEqual(states[n]);
    expect(store.seek(0)).toEqual(states[store.firstN]);
    expect(store.record(store.firstN)).toBeUndefined();
    expect(store.record(store.firstN + 1)?.n).toBe(store.firstN + 1);
  });
});

describe('append', () => {
  it('takes no record twice and refuses a gap', () => {
    const store = new TraceStore();
    store.reset(snapshotAt(0));
    store.append(records.slice(0, 10));
    expect(store.append(records.slice(5, 12))).toBe(2);
    expect([store.lastN, store.record(11)?.n, store.record(13)]).toEqual([12, 11, undefined]);
    expect(store.state).toEqual(states[12]);
    expect(() => store.append(records.slice(20, 21))).toThrow('record 13 is missing');
  });

  it('tells each record with the state after it', () => {
    const store = new TraceStore();
    store.reset(snapshotAt(0));
    const told: number[] = [];
    store.append(records, (record, state) => {
      told.push(record.n);
      if (record.n % 25 === 0) expect(state).toEqual(states[record.n]);
    });
    expect(told).toEqual(records.map(({ n }) => n));
  });
});

describe('prepend', () => {
  it('makes a page that was opened late equal to one that was there from the start', () => {
    const late = new TraceStore({ records: 1000, checkpointEvery: 16 });
    late.reset(snapshotAt(120, structuredClone(states[120]!)));
    late.append(records.slice(120));
    expect(late.firstN).toBe(120);
    expect(late.prepend(records.slice(0, 120))).toBe(true);
    const early = filled();
    expect(late.firstN).toBe(0);
    expect(late.span).toEqual(early.span);
    expect(late.flights.all).toEqual(early.flights.all);
    for (const n of [0, 1, 60, 119, 120, 121, 200]) expect(late.seek(n), `n ${n}`).toEqual(states[n]);
  });

  it('refuses what does not lead up to the snapshot', () => {
    const store = new TraceStore();
    store.reset(snapshotAt(120, structuredClone(states[120]!)));
    expect(store.prepend(records.slice(0, 119))).toBe(false);
    expect(store.prepend(records.slice(1, 121))).toBe(false);
  });
});

describe('the clock', () => {
  it('never goes back, and finds the record that is shown at a time', () => {
    const store = filled();
    let before = -Infinity;
    for (const { n } of records) {
      const time = store.timeOf(n)!;
      expect(time).toBeGreaterThanOrEqual(before);
      expect(store.nAt(time)).toBeGreaterThanOrEqual(n);
      before = time;
    }
    expect(store.nAt(-Infinity)).toBe(0);
    expect(store.nAt(Infinity)).toBe(records.length);
  });
});

describe('history', () => {
  it('can begin at a state in the middle of the run', () => {
    const store = new TraceStore({ records: 1000, checkpointEvery: 16 });
    const half = Math.floor(records.length / 2);
    store.reset(snapshotAt(half, structuredClone(states[half]!)));
    store.append(records.slice(half));
    const base = { n: 20, state: structuredClone(states[20]!) };
    expect(store.prepend(records.slice(0, half), undefined, base)).toBe(false);
    expect(store.prepend(records.slice(20, half), undefined, base)).toBe(true);
    expect(store.firstN).toBe(20);
    for (const n of [20, 21, half - 1, half, half + 1, records.length]) expect(store.seek(n), `n ${n}`).toEqual(states[n]);
  });
});

describe('causes', () => {
  it('are found by the node and its own number, also when the node began anew and after records were forgotten', () => {
    const at = new Date(0).toISOString();
    const one = (n: number, node: string, seq: number, cause?: { node: string; seq: number }) => ({ n, run: 'r', node, seq, at, kind: 'node.ready', data: {}, ...(cause ? { cause } : {}) }) as never;
    const store = new TraceStore({ records: 12, checkpointEvery: 2 });
    store.reset(snapshotAt(0));
    store.append([one(1, 'a', 1), one(2, 'a', 2), one(3, 'b', 7, { node: 'a', seq: 1 }), one(4, 'a', 1), one(5, 'b', 8, { node: 'a', seq: 1 }), one(6, 'b', 9, { node: 'a', seq: 5 })]);
    const causes = () => [3, 5, 6].map((n) => store.record(n) && store.causeOf(store.record(n)!)?.n);
    expect(causes()).toEqual([1, 4, undefined]);
    expect(store.firstEffectOf(store.record(4)!)?.n).toBe(5);
    store.append(Array.from({ length: 9 }, (_, index) => one(7 + index, 'c', index + 1)));
    expect(store.firstN).toBe(4);
    expect(causes()).toEqual([undefined, undefined, undefined]); // what led to them is no longer at hand
  });
});
