import type { Forms } from '../message';

export const actions = {} as const satisfies Record<string, string | Forms>;
