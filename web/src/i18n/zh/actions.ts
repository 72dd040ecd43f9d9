import type { actions as en } from '../en/actions';
import type { Translation } from '../message';

export const actions: Translation<typeof en> = {};
