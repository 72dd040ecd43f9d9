import type { Forms } from '../message';

export const story = {} as const satisfies Record<string, string | Forms>;
