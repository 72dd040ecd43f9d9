import { describe, expect, it } from 'vitest';
import { emptyState } from '../trace/reducer';
import type { SnapshotFrame, WireRecord } from '../trace/types';
import { CatchUp } from './catch-up';
import { Telling } from './telling';

const record = (n: number, run = 'kafka-1'): WireRecord =>
  ({ n, run: 'r', node: run, seq: n, at: new Date(1_770_000_000_000 + n).toISOString(), kind: 'node.ready', data: {} }) as unknown as WireRecord;
const records = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => record(from + index));
const snapshot = (n: number, firstN = 1): SnapshotFrame => ({ type: 'snapshot', n, at: '', state: emptyState(), window: { firstN, lastN: n }, resynchronised: 1 });

function page(server: (after: number, upTo: number) => WireRecord[] | undefined) {
  const telling = new Telling();
  telling.begin(snapshot(0));
  telling.append(records(1, 10));
  let answer = () => {};
  const ended: boolean[] = [];
  const catchUp = new CatchUp(
    telling,
    (after, upTo) => new Promise((resolve) => (answer = () => resolve(server(after, upTo)))),
    (whole) => ended.push(whole),
  );
  return { telling, catchUp, ended, answer: async () => { answer(); await new Promise((resolve) => setTimeout(resolve)); } };
}

describe('a page that slept', () => {
  it('fills its gap and keeps what it had', async () => {
    const { telling, catchUp, ended, answer } = page((after, upTo) => records(after + 1, upTo));
    expect(catchUp.begin(snapshot(25))).toBe(true);
    catchUp.hold(records(26, 30));
    await answer();
    expect(ended).toEqual([true]);
    expect([telling.store.firstN, telling.store.lastN]).toEqual([0, 30]);
    expect(telling.store.record(17)!.n).toBe(17);
    expect(telling.store.resynchronised).toBe(1);
  });

  it.each([
    ['twinlog was started anew', (after: number, upTo: number) => records(after + 1, upTo).map((one) => ({ ...one, node: 'kafka-2' }) as WireRecord)],
    ['the records are gone', () => undefined],
  ])('begins anew when %s', async (_, server) => {
    const { telling, catchUp, ended, answer } = page(server);
    expect(catchUp.begin(snapshot(25))).toBe(true);
    catchUp.hold(records(26, 28));
    await answer();
    expect(ended).toEqual([false]);
    expect([telling.store.firstN, telling.store.lastN]).toEqual([25, 28]);
  });

  it.each([
    ['a snapshot of before', snapshot(5)],
    ['too long a gap', snapshot(90_000)],
    ['a gap that has left the window', snapshot(25, 20)],
  ])('does not try with %s', (_, frame) => {
    const { catchUp } = page(() => undefined);
    expect(catchUp.begin(frame)).toBe(false);
  });

  it('takes the newest of two snapshots', async () => {
    const { telling, catchUp, answer } = page((after, upTo) => records(after + 1, upTo));
    catchUp.begin(snapshot(20));
    catchUp.begin(snapshot(30));
    await answer();
    expect(telling.store.lastN).toBe(30);
  });

  it('forgets the gap it was filling when a later snapshot begins anew', async () => {
    const { telling, catchUp, ended, answer } = page((after, upTo) => records(after + 1, upTo));
    catchUp.begin(snapshot(20));
    catchUp.hold(records(21, 22));
    expect(catchUp.begin(snapshot(90_000))).toBe(false);
    telling.begin(snapshot(90_000));
    expect(catchUp.busy).toBe(false);
    await answer();
    expect(ended).toEqual([]);
    expect([telling.store.firstN, telling.store.lastN]).toEqual([90_000, 90_000]);
  });
});
