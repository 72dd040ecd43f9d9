import { getContext, setContext } from 'svelte';

/** The clock as far as a component deep in the picture needs it. */
export interface Presence {
  /** An action takes place now, whatever instant is shown. */
  goLive(): void;
  /** Shows what came of a span of time, both ends in ms: the last thing that the clusters did in it, or else its end. */
  showSpan(from: number, to: number): void;
  /** Plays what has happened since a time. */
  playFrom(time: number, speed: number): void;
}

const KEY = Symbol('presence');

export function providePresence(presence: Presence): void {
  setContext(KEY, presence);
}

export function presence(): Presence {
  return getContext<Presence>(KEY);
}
