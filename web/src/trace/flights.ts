import type { Message, TypedRecord } from './types';

/**
 * One message between two nodes, joined from the record of its sending and the record of its receipt. Either may be missing: a client
 * outside records nothing, and a lost message is never received.
 */
export interface Flight {
  n: number;
  message: Message;
  /** The time of the first of the two records: what the list is sorted by, up to the little disorder between nodes. */
  time: number;
  sent: number | undefined;
  received: number | undefined;
}

/** How long a sending waits for its receipt before it is given up for lost. */
export const LOST_AFTER_MS = 4000;

/** Sendings of one stream that may wait for their receipt; the oldest go first. */
const WAITING_LIMIT = 500;

/**
 * All flights of the records that the store holds, oldest first. Records may be taken away from the front (see forget); what is in
 * the list is bounded by what the store holds.
 *
 * A connection delivers in order, so a receipt also tells that what was sent before it on the same stream has arrived. That matters
 * under load: both ends fold many messages into one record, each in its own way, and no longer name the same ones.
 */
export class Flights {
  private list: Flight[] = [];
  /** By stream: the sendings that nobody has received yet, in order. */
  private waiting = new Map<string, Flight[]>();

  get length(): number {
    return this.list.length;
  }

  take(record: TypedRecord): void {
    if (record.kind === 'message.sent') this.sent(record.n, record.time, record.data);
    else if (record.kind === 'message.received') this.received(record.n, record.time, record.data);
  }

  private sent(n: number, time: number, message: Message): void {
    const flight: Flight = { n, message, time, sent: time, received: undefined };
    this.list.push(flight);
    if (!recordsReceipt(message)) return;
    const key = streamOf(message);
    const queue = this.waiting.get(key);
    if (!queue) this.waiting.set(key, [flight]);
    else if (queue.push(flight) > WAITING_LIMIT) queue.shift();
  }

  private received(n: number, time: number, message: Message): void {
    const key = streamOf(message);
    const queue = this.waiting.get(key) ?? [];
    const left = queue.filter((flight) => {
      if (flight.message.exchange.correlation > message.exchange.correlation) return true;
      flight.received = Math.max(time, flight.time);
      return false;
    });
    if (left.length === 0) this.waiting.delete(key);
    else this.waiting.set(key, left);
    const known = left.length < queue.length || (recordsSending(message) && (message.folded ?? 1) > 1);
    if (!known) this.list.push({ n, message, time, sent: undefined, received: time });
  }

  /** Forgets flights whose first record is before n. */
  forget(n: number): void {
    const keep = this.list.findIndex((flight) => flight.n >= n);
    this.list = keep < 0 ? [] : this.list.slice(keep);
    for (const [key, queue] of this.waiting) {
      const left = queue.filter((flight) => flight.n >= n);
      if (left.length === 0) this.waiting.delete(key);
      else this.waiting.set(key, left);
    }
  }

  clear(): void {
    this.list = [];
    this.waiting.clear();
  }

  /** Flights whose first record lies in [from, to], with some more on both sides: clocks of nodes differ a little. */
  between(from: number, to: number): Flight[] {
    const slack = 50;
    const first = this.firstAtOrAfter(from - slack);
    let last = first;
    while (last < this.list.length && this.list[last]!.time <= to + slack) last++;
    return this.list.slice(first, last);
  }

  private firstAtOrAfter(time: number): number {
    let low = 0;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.list[middle]!.time < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function isClient(node: string): boolean {
  return node === 'client' || node === '';
}

/** Whether the receiver records what it receives. A client outside does not. */
export function recordsReceipt(message: Message): boolean {
  return !isClient(message.to);
}

function recordsSending(message: Message): boolean {
  return !isClient(message.from);
}

/** Messages of one kind and direction on one connection. */
function streamOf({ exchange, name }: Message): string {
  return `${exchange.connection}#${exchange.response}#${name}`;
}
