import type { labs as en } from '../en/labs';
import type { Translation } from '../message';

export const labs: Translation<typeof en> = {};
