import type { Frame, TypedRecord, WireRecord } from './types';

/** The form that the server writes, with a fraction or without one, and with Z behind. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;
/** The last day that was asked for: a run is shorter than one, mostly. */
let dayText = '';
let dayTime = NaN;

/**
 * Milliseconds since the epoch with the microseconds as a fraction; Date.parse alone would drop them, and messages inside one machine take
 * less than a millisecond. Ten thousand times a second, so that nothing is made of the text but a number.
 */
export function parseTime(at: string): number {
  if (!at.endsWith('Z') || at.length < 20 || !TIME.test(at)) return Date.parse(at);
  if (!at.startsWith(dayText) || dayText === '') {
    dayText = at.slice(0, 10);
    dayTime = Date.parse(`${dayText}T00:00:00Z`);
  }
  const seconds = (digits(at, 11, 13) * 60 + digits(at, 14, 16)) * 60 + digits(at, 17, 19);
  const end = at.length - 1;
  const fraction = end > 20 ? digits(at, 20, end) / 10 ** (end - 20) : 0;
  return dayTime + seconds * 1000 + fraction * 1000;
}

function digits(text: string, from: number, to: number): number {
  let value = 0;
  for (let index = from; index < to; index++) value = value * 10 + text.charCodeAt(index) - 0x30;
  return value;
}

/** A record as the page reads it. A kind that this page does not know stays in: each reader has a default case. */
export function typed(record: WireRecord | TypedRecord): TypedRecord {
  if ('time' in record) return record;
  const { n, node, seq, at, cause, kind, data } = record;
  return { n, node, seq, cause, kind, data, time: parseTime(at) } as TypedRecord;
}

/** Says that a value is one frame of the stream; what is not one gives an error that says so. */
export function frameOf(frame: unknown): Frame {
  if (typeof frame === 'object' && frame !== null && 'type' in frame) {
    if (frame.type === 'snapshot' && 'state' in frame && 'n' in frame) return frame as Frame;
    if (frame.type === 'records' && 'records' in frame && typeof frame.records === 'object' && frame.records !== null && Symbol.iterator in frame.records) return frame as Frame;
  }
  throw new Error('the stream sent a frame that is neither a snapshot nor records');
}
