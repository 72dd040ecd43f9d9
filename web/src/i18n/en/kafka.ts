import type { Forms } from '../message';

export const kafka = {} as const satisfies Record<string, string | Forms>;
