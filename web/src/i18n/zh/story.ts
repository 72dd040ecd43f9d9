import type { story as en } from '../en/story';
import type { Translation } from '../message';

export const story: Translation<typeof en> = {};
