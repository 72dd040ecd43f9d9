import { afterEach, describe, expect, it, vi } from 'vitest';
import { emptyState } from '../trace/reducer';
import type { SnapshotFrame, WireRecord } from '../trace/types';
import { beginningOf } from './beginning';
import { History } from './history.svelte';
import { Telling } from './telling';

const notable = (n: number): WireRecord => ({ n, run: 'r', node: `kafka-${n}`, seq: n, at: new Date(1_770_000_000_000 + n).toISOString(), kind: 'node.ready', data: {} }) as WireRecord;
/** Of twenty, one is notable. */
const record = (n: number): WireRecord => (n % 20 === 0 ? notable(n) : ({ ...notable(n), kind: 'ensemble.commitAdvanced' } as WireRecord));
const state = () => ({ ...emptyState(), dropped: { earlier: 1 } }); // not the state of the beginning

/** A server that has a state after every ten thousandth record, and hands out as many records as are asked for. */
function serve(fails: (path: string) => boolean = () => false): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (path: string) => {
    asked.push(path);
    if (fails(path)) return Promise.resolve(new Response('{"error":{"code":"gone","message":"gone"}}', { status: 410 }));
    const url = new URL(path, 'http://localhost');
    if (url.pathname.endsWith('/notable')) {
      const upTo = Number(url.searchParams.get('upTo'));
      const answer = { records: [10, 20, upTo, upTo + 1].map((n) => ({ record: notable(n), names: { role: 'kafka' } })), dropped: 3 };
      return Promise.resolve(new Response(JSON.stringify(answer), { status: 200 }));
    }
    const from = Number(url.searchParams.get('from'));
    const [after, limit] = [Number(url.searchParams.get('after')), Number(url.searchParams.get('limit'))];
    const answer = url.pathname.endsWith('/cluster')
      ? { n: Math.ceil(from / 10_000) * 10_000, state: from === 0 ? emptyState() : state() }
      : { window: { firstN: 1, lastN: after + limit }, records: Array.from({ length: limit }, (_, index) => record(after + 1 + index)) };
    return Promise.resolve(new Response(JSON.stringify(answer), { status: 200 }));
  });
  return asked;
}

function late(n: number) {
  const telling = new Telling();
  const frame: SnapshotFrame = { type: 'snapshot', n, at: '', state: emptyState(), window: { firstN: 1, lastN: n }, resynchronised: 0 };
  telling.begin(frame);
  const grown = vi.fn();
  const history = new History(telling, grown);
  const beginning = () => beginningOf({ recorded: undefined, history, clock: { firstN: telling.store.firstN, from: telling.store.span?.from ?? 0 } });
  return { telling, frame, grown, history, beginning };
}

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('what happened before a page was opened', () => {
  it('is fetched from the beginning of a short run, and tells how far it is', async () => {
    serve();
    const { telling, frame, grown, history, beginning } = late(12_000);
    const seen: number[] = [];
    const put = telling.prepend.bind(telling);
    vi.spyOn(telling, 'prepend').mockImplementation((...all) => {
      seen.push(history.progress);
      return put(...all);
    });
    const fetching = history.fetch(frame);
    expect(beginning()).toEqual({ of: 'fetching', progress: 0 });
    await fetching;
    expect(seen).toEqual([1]);
    expect(telling.store.firstN).toBe(0);
    expect(telling.story.all.length).toBeGreaterThan(0);
    expect(grown).toHaveBeenCalledOnce();
    expect(beginning()).toEqual({ of: 'whole' });
  });

  it('is the last part of a run of two million records, which says where it begins', async () => {
    const asked = serve();
    const { telling, frame, history, beginning } = late(2_000_123);
    await history.fetch(frame);
    expect(asked[0]).toMatch(/cluster\?from=1960123$/);
    expect(telling.store.firstN).toBe(1_970_000);
    expect(telling.store.seek(1_970_000).dropped).toEqual({ earlier: 1 });
    expect(beginning()).toEqual({ of: 'part', n: 1_970_001, time: 1_770_001_970_001 });
  });

  it('is told, of a long run, from its beginning, though the part at hand begins later', async () => {
    const asked = serve();
    const { telling, frame, grown, history } = late(2_000_123);
    await history.fetch(frame);
    expect(asked.at(-1)).toMatch(/notable\?upTo=1970000$/);
    expect(telling.earlier.sentences.map(({ n, side }) => `${n} ${side}`)).toEqual(['10 kafka', '20 kafka', '1970000 kafka']);
    expect(telling.earlier.dropped).toBe(3);
    expect(telling.told.map(({ n }) => n).slice(0, 4)).toEqual([10, 20, 1_970_000, telling.story.all[0]!.n]);
    expect(telling.toldUpTo(15).sentences.map(({ n }) => n)).toEqual([10]);
    expect(grown).toHaveBeenCalledTimes(2);
  });

  it('is told without a gap: what the story keeps no longer, nobody tells of the time before that', async () => {
    serve();
    const { telling, frame, history } = late(2_000_123);
    await history.fetch(frame);
    expect(telling.earlier.sentences.length).toBe(3);
    const kept = telling.story.all.length;
    expect(telling.append(Array.from({ length: 1000 }, (_, index) => notable(2_000_124 + index)))).toBe(1000);
    expect(telling.story.dropped).toBeGreaterThan(0);
    expect(telling.earlier).toEqual({ sentences: [], dropped: 3 + 3 + telling.story.dropped });
    expect(telling.story.all.length + telling.story.dropped).toBe(kept + 1000);
    expect(telling.told[0]).toBe(telling.story.all[0]);
  });

  it('is told even where the part before the page could not be fetched, and not asked for where all is at hand', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    serve((path) => path.includes('events'));
    const failed = late(6000);
    await failed.history.fetch(failed.frame);
    expect(failed.history.state).toBe('failed');
    expect(failed.telling.earlier.sentences.at(-1)!.n).toBe(6000);
    const asked = serve();
    const whole = late(6000);
    await whole.history.fetch(whole.frame);
    expect(asked.filter((path) => path.includes('notable'))).toEqual([]);
    expect(whole.telling.earlier.sentences).toEqual([]);
  });

  it('can be asked for again after it could not be fetched', async () => {
    vi.spyOn(console, 'warn').mockImplementation(() => {});
    let broken = true;
    serve((path) => broken && path.includes('events'));
    const { telling, frame, history, beginning } = late(6000);
    await history.fetch(frame);
    expect(beginning()).toEqual({ of: 'failed' });
    broken = false;
    history.again();
    await vi.waitFor(() => expect(beginning()).toEqual({ of: 'whole' }));
    expect(telling.store.firstN).toBe(0);
  });

  it('is not put in front of a trace that began anew meanwhile', async () => {
    serve();
    const { telling, frame, history } = late(6000);
    const first = history.fetch(frame);
    const later = { ...frame, n: 9000 };
    telling.begin(later);
    const second = history.fetch(later);
    await first;
    await second;
    expect(telling.store.firstN).toBe(0);
    expect(history.state).toBe('fetched');
  });
});
