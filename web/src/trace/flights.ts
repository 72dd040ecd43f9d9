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

/**
 * All flights of the records that the store holds, oldest first. Records may be taken away from the front (see forget); what is in
 * the list is bounded by what the store holds.
 */
export class Flights {
  private list: Flight[] = [];
  private waiting = new Map<string, Flight>();

  get length(): number {
    return this.list.length;
  }

  take(record: TypedRecord): void {
    if (record.kind !== 'message.sent' && record.kind !== 'message.received') return;
    const message = record.data;
    const key = exchangeKey(message);
    if (record.kind === 'message.received') {
      const flight = this.waiting.get(key);
      if (flight) {
        flight.received = record.time;
        this.waiting.delete(key);
        return;
      }
      this.list.push({ n: record.n, message, time: record.time, sent: undefined, received: record.time });
      return;
    }
    const flight: Flight = { n: record.n, message, time: record.time, sent: record.time, received: undefined };
    this.list.push(flight);
    if (recordsReceipt(message)) this.waiting.set(key, flight);
    if (this.waiting.size > 20_000) this.dropOldWaiting(record.time);
  }

  /** Forgets flights whose first record is before n. */
  forget(n: number): void {
    const keep = this.list.findIndex((flight) => flight.n >= n);
    this.list = keep < 0 ? [] : this.list.slice(keep);
    for (const [key, flight] of this.waiting) if (flight.n < n) this.waiting.delete(key);
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

  private dropOldWaiting(now: number): void {
    for (const [key, flight] of this.waiting) if (now - flight.time > LOST_AFTER_MS) this.waiting.delete(key);
    if (this.waiting.size > 20_000) this.waiting.clear();
  }
}

export function isClient(node: string): boolean {
  return node === 'client' || node === '';
}

/**
 * Whether the receiver records what it receives. A client outside does not; nor does the ZooKeeper client inside a node, a library that
 * knows nothing of traces.
 */
export function recordsReceipt(message: Message): boolean {
  return !isClient(message.to) && !(message.protocol === 'zookeeper' && !message.to.startsWith('ensemble-'));
}

function exchangeKey(message: Message): string {
  const { connection, correlation, response } = message.exchange;
  return `${connection}#${correlation}#${response}#${message.name}`;
}
