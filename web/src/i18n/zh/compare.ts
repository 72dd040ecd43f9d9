import type { compare as en } from '../en/compare';
import type { Translation } from '../message';

export const compare: Translation<typeof en> = {};
