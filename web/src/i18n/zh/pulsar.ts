import type { pulsar as en } from '../en/pulsar';
import type { Translation } from '../message';

export const pulsar: Translation<typeof en> = {};
