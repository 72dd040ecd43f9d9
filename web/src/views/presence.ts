import { getContext, setContext } from 'svelte';

/** The clock as far as a component deep in the picture needs it: an action takes place now, whatever instant is shown. */
export interface Presence {
  goLive(): void;
}

const KEY = Symbol('presence');

export function providePresence(presence: Presence): void {
  setContext(KEY, presence);
}

export function presence(): Presence {
  return getContext<Presence>(KEY);
}
