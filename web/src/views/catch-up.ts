import type { Records, SnapshotFrame, WireRecord } from '../trace/types';
import type { Telling } from './telling';

/** Records that are fetched to fill the gap of a page that slept; after a longer one it begins anew. */
const GAP_LIMIT = 40_000;
/** Records that may arrive meanwhile. */
const HELD_LIMIT = 40_000;

type Fetch = (after: number, upTo: number) => Promise<Records | undefined>;

/**
 * What a snapshot in the middle of a stream leaves out is fetched, so that the trace at hand stays whole and the clock where it is. While
 * that goes on, what the stream brings is held back.
 */
export class CatchUp {
  private held: WireRecord[] = [];
  private wanted: SnapshotFrame | undefined;

  constructor(
    private readonly telling: Telling,
    private readonly fetch: Fetch,
    /** Told at the end: whether the gap could be filled. If not, the trace began anew from the snapshot. */
    private readonly ended: (whole: boolean, frame: SnapshotFrame) => void,
  ) {}

  get busy(): boolean {
    return this.wanted !== undefined;
  }

  /** Takes a later snapshot; false when there is no gap that could be filled. Either way what an earlier one waited for is not wanted any more. */
  begin(frame: SnapshotFrame): boolean {
    const { store } = this.telling;
    this.held = [];
    this.wanted = undefined;
    if (!store.ready || frame.n < store.lastN || frame.n - store.lastN > GAP_LIMIT || frame.window.firstN > store.lastN) return false;
    this.wanted = frame;
    void this.fill(frame);
    return true;
  }

  /** Holds records back while the gap is being filled. */
  hold(records: Iterable<WireRecord>): void {
    for (const record of records) this.held.push(record);
    if (this.held.length > HELD_LIMIT) this.giveUp();
  }

  private async fill(frame: SnapshotFrame): Promise<void> {
    const { store } = this.telling;
    const last = store.record(store.lastN);
    let records: Records | undefined;
    try {
      // From the last one that is at hand, to see that it is the same: twinlog may have been started anew.
      records = await this.fetch(last ? last.n - 1 : store.lastN, frame.n);
    } catch {
      records = undefined;
    }
    if (this.wanted !== frame) return;
    const [first] = records ?? [];
    const same = !last || (first?.n === last.n && first.node === last.node && first.seq === last.seq);
    if (!records || !same) return this.giveUp();
    this.telling.append(records);
    this.telling.store.resynchronised = frame.resynchronised;
    this.end(true, frame);
  }

  private giveUp(): void {
    const frame = this.wanted;
    if (!frame) return;
    this.telling.begin(frame);
    this.end(false, frame);
  }

  private end(whole: boolean, frame: SnapshotFrame): void {
    const held = this.held;
    this.held = [];
    this.wanted = undefined;
    this.telling.append(held);
    this.ended(whole, frame);
  }
}
