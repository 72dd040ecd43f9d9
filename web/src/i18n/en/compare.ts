import type { Forms } from '../message';

export const compare = {} as const satisfies Record<string, string | Forms>;
