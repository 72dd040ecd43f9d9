import type { Forms } from '../message';

export const inspector = {} as const satisfies Record<string, string | Forms>;
