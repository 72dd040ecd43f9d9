import type { runs as en } from '../en/runs';
import type { Translation } from '../message';

export const runs: Translation<typeof en> = {};
