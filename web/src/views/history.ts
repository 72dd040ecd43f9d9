import type { SnapshotFrame } from '../trace/types';
import { recordsBetween } from './api';
import { stateOfPresent } from './runs-api';
import type { Telling } from './telling';

/** Records before the snapshot that are asked for. A record is some 300 bytes on the wire. */
const HISTORY_LIMIT = 40_000;
/** For an earlier state the server has to fold the run from its beginning: of a run that is longer than this it is not asked to. */
const LONG_RUN = 400_000;

/**
 * Puts what happened before a snapshot in front of the trace that began with it, so that the clock can go back to the beginning. False:
 * it cannot be had, or the trace has begun anew meanwhile; then the window starts where it started.
 */
export async function prependHistory(telling: Telling, { n, window }: SnapshotFrame): Promise<boolean> {
  const after = Math.max(0, n - HISTORY_LIMIT);
  if (n === 0 || n > LONG_RUN || window.firstN > after + 1) return false;
  try {
    const base = after === 0 ? undefined : await stateOfPresent(after);
    const records = await recordsBetween(after, n);
    return !!records && telling.store.firstN === n && telling.prepend(records, base);
  } catch (error) {
    console.warn('what happened before this page was opened cannot be fetched:', error);
    return false;
  }
}
