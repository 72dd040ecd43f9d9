import type { Clock, ShownRun } from './classroom.svelte';
import type { History } from './history.svelte';

/** Where what is at hand of the run begins: at the run's own beginning, or at a later record; or what came before is still on its way. */
export type Beginning =
  | { of: 'whole' }
  | { of: 'part'; n: number; time: number }
  | { of: 'fetching'; progress: number }
  | { of: 'failed' };

export interface Shown {
  recorded: ShownRun | undefined;
  history: Pick<History, 'state' | 'progress'>;
  clock: Pick<Clock, 'firstN' | 'from'>;
}

export function beginningOf({ recorded, history, clock }: Shown): Beginning {
  const { firstN, from } = clock;
  if (recorded) return firstN < recorded.firstN ? { of: 'whole' } : { of: 'part', n: firstN + 1, time: from };
  if (history.state === 'none' || history.state === 'fetching') return { of: 'fetching', progress: history.progress };
  if (firstN === 0) return { of: 'whole' };
  return history.state === 'failed' ? { of: 'failed' } : { of: 'part', n: firstN + 1, time: from };
}
