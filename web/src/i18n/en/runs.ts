import type { Forms } from '../message';

export const runs = {} as const satisfies Record<string, string | Forms>;
