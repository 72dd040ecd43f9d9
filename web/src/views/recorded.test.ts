import { afterEach, describe, expect, it, vi } from 'vitest';
import { emptyState } from '../trace/reducer';
import type { Classroom, ShownRun } from './classroom.svelte';
import { RecordedRuns, type Opening } from './recorded.svelte';

const record = (n: number) => ({ n, run: 'r', node: 'kafka-1', seq: n, at: new Date(1_770_000_000_000 + n).toISOString(), kind: 'node.ready', data: {} });

/** A server with one run, which sends so many records at a time, however many are asked for, and may know of more with each request. */
function serve(has: (n: number) => boolean, lastN: number, atATime: number, growth = 0): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (path: string) => {
    asked.push(path);
    const url = new URL(path, 'http://localhost');
    const answer = () => {
      if (url.pathname.endsWith('/state')) return { n: 0, state: emptyState() };
      if (!url.pathname.endsWith('/events')) return { runs: [{ name: 'kept', title: 'Election', startedAt: '', firstN: 1, lastN }], present: '' };
      const after = Number(url.searchParams.get('after'));
      lastN += growth;
      const records = Array.from({ length: lastN - after }, (_, index) => record(after + 1 + index)).filter(({ n }) => has(n)).slice(0, atATime);
      return { window: { firstN: after + 1, lastN: records.at(-1)?.n ?? after }, records };
    };
    return Promise.resolve(new Response(JSON.stringify(answer()), { status: 200 }));
  });
  return asked;
}

interface Opened extends ShownRun {
  at: number;
  /** How far it was told to be with each request. */
  told: (Opening | undefined)[];
}

async function opened(wanted?: number): Promise<Opened | undefined> {
  let shown: Opened | undefined;
  const told: (Opening | undefined)[] = [];
  const classroom = { showRun: (run: ShownRun, _: unknown, at: number) => (shown = { ...run, at, told }) } as unknown as Classroom;
  const runs = new RecordedRuns(classroom, (text) => expect.unreachable(JSON.stringify(text)));
  const served = fetch;
  vi.stubGlobal('fetch', (path: string) => {
    told.push(runs.opening);
    return served(path);
  });
  await runs.open('kept', wanted);
  expect(runs.opening).toBeUndefined();
  return shown;
}

afterEach(() => void vi.unstubAllGlobals());

describe('a recorded run', () => {
  it('is fetched to its end, however short the parts are that the server sends', async () => {
    const asked = serve(() => true, 95, 30);
    expect(await opened()).toMatchObject({ name: 'kept', from: 0, to: 95 });
    expect(asked.filter((path) => path.includes('/events'))).toHaveLength(4);
  });

  it('is fetched up to where it was, while it goes on', async () => {
    const asked = serve(() => true, 95, 30, 1);
    expect(await opened()).toMatchObject({ from: 0, to: 99 });
    expect(asked.filter((path) => path.includes('/events'))).toHaveLength(4);
  });

  it('begins behind a hole that is right where it begins', async () => {
    serve((n) => n > 12, 95, 30);
    expect(await opened()).toMatchObject({ from: 12, to: 95 });
  });

  it('is fetched up to a hole in it', async () => {
    serve((n) => n !== 50, 95, 30);
    expect(await opened()).toMatchObject({ from: 0, to: 49 });
  });

  it('stands at its start, or where a link leads', async () => {
    serve(() => true, 95, 30);
    expect(await opened()).toMatchObject({ at: 1 });
    serve(() => true, 95, 30);
    expect(await opened(77)).toMatchObject({ at: 77 });
  });

  it('tells what is being done, and how far it is', async () => {
    serve(() => true, 95, 30);
    const named = { name: 'Election', of: 95 };
    expect((await opened())?.told).toEqual([
      { name: undefined, step: 'state', done: 0, of: 0 },
      { name: 'Election', step: 'state', done: 0, of: 0 },
      { name: 'Election', step: 'state', done: 0, of: 0 },
      ...[30, 60, 90].map((done) => ({ ...named, step: 'records', done })),
    ]);
  });
});

describe('a record that a lab names', () => {
  const shown = (has: number[], recorded: boolean) => {
    const calls: string[] = [];
    const classroom = {
      recorded: recorded ? { name: 'kept' } : undefined,
      goLive: () => calls.push('live'),
      moveToRecord: (n: number) => calls.push(`to ${n}`) > 0 && has.includes(n),
      reach: (n: number) => Promise.resolve(calls.push(`reach ${n}`) < 0),
      showRun: (_: ShownRun, __: unknown, at: number) => calls.push(`run at ${at}`),
    } as unknown as Classroom;
    return { calls, classroom };
  };

  it('is shown in the present run, even while a recorded one is shown', async () => {
    const { calls, classroom } = shown([7], true);
    await new RecordedRuns(classroom, () => {}).showPresent(7);
    expect(calls).toEqual(['live', 'to 7']);
  });

  it('is shown in a part of the recorded run when the page does not have it', async () => {
    serve(() => true, 95, 30);
    const { calls, classroom } = shown([], false);
    const runs = new RecordedRuns(classroom, (text) => expect.unreachable(JSON.stringify(text)));
    runs.present = 'kept';
    await runs.showPresent(40);
    expect(calls).toEqual(['to 40', 'reach 40', 'run at 40']);
  });

  it('is told to be gone where nothing is recorded', async () => {
    serve(() => true, 95, 30);
    const told: unknown[] = [];
    await new RecordedRuns(shown([], false).classroom, (text) => told.push(text)).showPresent(40);
    expect(told).toEqual([{ key: 'time.gone' }]);
  });
});
