import type { Forms } from '../message';

export const ensemble = {} as const satisfies Record<string, string | Forms>;
