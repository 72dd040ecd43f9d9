import type { Forms } from '../message';

export const pulsar = {} as const satisfies Record<string, string | Forms>;
