import type { Frame, Message, TypedRecord, WireRecord } from './types';

/** Milliseconds since the epoch with the microseconds as a fraction; Date.parse alone would drop them, and messages inside one machine take less than a millisecond. */
export function parseTime(at: string): number {
  const fraction = /\.(\d+)/.exec(at);
  if (!fraction) return Date.parse(at);
  const whole = at.slice(0, fraction.index) + at.slice(fraction.index + fraction[0].length);
  return Date.parse(whole) + Number('0.' + fraction[1]) * 1000;
}

/** A record as the store keeps it. A kind that this page does not know stays in: each reader has a default case. */
export function typed(record: WireRecord): TypedRecord {
  const { n, seq, at, cause, kind, data } = record;
  const kept = { n, node: shared(record.node), seq, cause, kind: shared(kind), data, time: parseTime(at) } as TypedRecord;
  if (kept.kind === 'message.sent' || kept.kind === 'message.received') shareNames(kept.data);
  return kept;
}

/** JSON gives each record its own copy of each name; the same few come a hundred thousand times. */
const names = new Map<string, string>();
const NAMES_LIMIT = 20_000;

function shared<T extends string>(name: T): T {
  const known = names.get(name);
  if (known !== undefined) return known as T;
  if (names.size >= NAMES_LIMIT) names.clear();
  names.set(name, name);
  return name;
}

function shareNames(message: Message): void {
  message.from = shared(message.from);
  message.to = shared(message.to);
  message.protocol = shared(message.protocol);
  message.name = shared(message.name);
  if (message.subject !== undefined) message.subject = shared(message.subject);
  message.exchange.connection = shared(message.exchange.connection);
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
