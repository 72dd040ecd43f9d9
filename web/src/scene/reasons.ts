import type { Key, Text } from '../i18n/message';
import { saidText } from '../i18n/said';
import type { Reason } from '../trace/events.gen';
import type { TypedRecord } from '../trace/types';

/** Each word with which the trace says why: a new one without words of ours does not compile. */
const REASONS: Readonly<Record<Reason, Key>> = {
  created: 'reason.created',
  'election-clean': 'reason.electionClean',
  'election-unclean': 'reason.electionUnclean',
  'election-preferred': 'reason.electionPreferred',
  'controlled-shutdown': 'reason.controlledShutdown',
  'replica-offline': 'reason.replicaOffline',
  'isr-changed': 'reason.isrChanged',
  reassigned: 'reason.reassigned',
  'taken-over': 'reason.takenOver',
  unload: 'reason.unload',
  split: 'reason.split',
  shutdown: 'reason.shutdown',
  sessionLost: 'reason.sessionLost',
  deleted: 'reason.deleted',
  policies: 'reason.policies',
  fenced: 'reason.fenced',
  diskFull: 'reason.diskFull',
  diskHasRoom: 'reason.diskHasRoom',
};

/** A reason in words; one of a run that another twinlog recorded may not be known, and is quoted. */
export function reasonText(reason: Reason): Text | string {
  const key = Object.hasOwn(REASONS, reason) ? REASONS[reason] : undefined;
  return key ? { key } : reason;
}

/** Why it happened, where the record says so and its sentence may not. */
export function whyOf({ data }: TypedRecord): Text | string | undefined {
  if ('why' in data && data.why) return saidText(data.why, data.reason);
  return 'reason' in data && typeof data.reason === 'string' && Object.hasOwn(REASONS, data.reason) ? reasonText(data.reason as Reason) : undefined;
}
