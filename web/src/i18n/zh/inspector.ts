import type { inspector as en } from '../en/inspector';
import type { Translation } from '../message';

export const inspector: Translation<typeof en> = {};
