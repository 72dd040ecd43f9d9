import type { Forms } from '../message';

export const labs = {} as const satisfies Record<string, string | Forms>;
