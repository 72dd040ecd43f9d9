import type { Frame, TypedRecord, WireRecord } from './types';

/** Milliseconds since the epoch with the microseconds as a fraction; Date.parse alone would drop them, and messages inside one machine take less than a millisecond. */
export function parseTime(at: string): number {
  const fraction = /\.(\d+)/.exec(at);
  if (!fraction) return Date.parse(at);
  const whole = at.slice(0, fraction.index) + at.slice(fraction.index + fraction[0].length);
  return Date.parse(whole) + Number('0.' + fraction[1]) * 1000;
}

/** Adds the parsed time. A kind that this page does not know stays in: the store keeps it, and each reader has a default case. */
export function typed(record: WireRecord): TypedRecord {
  return { ...record, time: parseTime(record.at) } as TypedRecord;
}

/** Reads one frame of the stream; what is not one gives an error that says so. */
export function decodeFrame(text: string): Frame {
  const frame: unknown = JSON.parse(text);
  if (typeof frame === 'object' && frame !== null && 'type' in frame) {
    if (frame.type === 'snapshot' && 'state' in frame && 'n' in frame) return frame as Frame;
    if (frame.type === 'records' && 'records' in frame && Array.isArray(frame.records)) return frame as Frame;
  }
  throw new Error('the stream sent a frame that is neither a snapshot nor records');
}
