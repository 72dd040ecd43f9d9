import { getContext, setContext } from 'svelte';
import type { Thing } from '../scene/things';

/** Opens the inspector on a thing; any component of the picture may ask for it. */
export type Inspect = (thing: Thing) => void;

const KEY = Symbol('inspect');

export function provideInspect(inspect: Inspect): void {
  setContext(KEY, inspect);
}

export function useInspect(): Inspect {
  return getContext<Inspect | undefined>(KEY) ?? (() => {});
}
