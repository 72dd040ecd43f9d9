import type { ensemble as en } from '../en/ensemble';
import type { Translation } from '../message';

export const ensemble: Translation<typeof en> = {};
