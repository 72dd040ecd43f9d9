import type { kafka as en } from '../en/kafka';
import type { Translation } from '../message';

export const kafka: Translation<typeof en> = {};
