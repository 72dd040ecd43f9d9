import type { SnapshotFrame } from '../trace/types';
import { notableUpTo, recordsBetween, stateFrom } from './api';
import type { Telling } from './telling';

/** Records before the snapshot that are asked for. A record is some 300 bytes on the wire. */
const HISTORY_LIMIT = 40_000;

export type HistoryState = 'none' | 'fetching' | 'fetched' | 'failed';

/**
 * What happened before a snapshot is put in front of the trace that began with it, so that the clock can go back there: to the run's
 * beginning, or of a long run to where its last part begins. Of what was before that part, only what mattered is told.
 */
export class History {
  state = $state<HistoryState>('none');
  /** How much has been fetched, from 0 to 1. */
  progress = $state(0);
  private wanted: SnapshotFrame | undefined;

  constructor(
    private readonly telling: Telling,
    /** Told when there is more in front of the trace. */
    private readonly grown: () => void,
  ) {}

  /** Fetches what was before a snapshot. What an earlier one waited for is not wanted any more. */
  async fetch(frame: SnapshotFrame): Promise<void> {
    this.wanted = frame;
    this.progress = 0;
    this.state = frame.n > 0 ? 'fetching' : 'fetched';
    if (frame.n === 0) return;
    let fits = false;
    try {
      fits = await this.put(frame);
    } catch (error) {
      console.warn('what happened before this page was opened cannot be fetched:', error);
    }
    if (this.wanted !== frame) return;
    this.state = fits ? 'fetched' : 'failed';
    if (fits) this.grown();
    await this.tellEarlier(frame);
  }

  /** What mattered before the part that is at hand is told all the same: after the part, so that this is not waited for. */
  private async tellEarlier(frame: SnapshotFrame): Promise<void> {
    if (this.telling.toldFrom === 0) return;
    try {
      const notable = await notableUpTo(this.telling.toldFrom);
      if (this.wanted !== frame) return;
      this.telling.tellEarlier(notable);
      this.grown();
    } catch (error) {
      console.warn('the notable records of the run cannot be fetched:', error);
    }
  }

  /** Tries once more; what came meanwhile stays. */
  again(): void {
    if (this.wanted && this.state === 'failed') void this.fetch(this.wanted);
  }

  /** False: the trace has begun anew meanwhile, or holds so much that no more fits. */
  private async put(frame: SnapshotFrame): Promise<boolean> {
    const { n } = frame;
    const base = await stateFrom(Math.max(0, n - HISTORY_LIMIT));
    if (base.n >= n) return true; // nothing before it is at hand: the trace begins where it is
    const records = await recordsBetween(base.n, n, (fetched) => {
      if (this.wanted === frame) this.progress = fetched / (n - base.n);
    });
    return !!records && this.wanted === frame && this.telling.store.firstN === n && this.telling.prepend(records, base);
  }
}
