import type { Light, Verdict } from '../scene/invariants';

/** Each verdict has a shape besides its colour. */
export const LAMPS = { holds: 'check', broken: 'cross', unknown: 'warn', idle: 'ring' } as const satisfies Record<Verdict, string>;

/** Of many lights the one that the reader has to know of. */
export function worst(lights: readonly Light[]): Verdict {
  const order: readonly Verdict[] = ['broken', 'unknown', 'holds'];
  return order.find((verdict) => lights.some((light) => light.verdict === verdict)) ?? 'idle';
}
