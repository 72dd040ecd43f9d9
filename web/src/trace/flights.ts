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
  /** What the picture has made of the message: it asks for the same one in thirty frames. */
  seen?: unknown;
}

/** How many flights were taken before one: its place among all of them. */
interface Waiting {
  flight: Flight;
  place: number;
}

/** How long a sending waits for its receipt before it is given up for lost. */
export const LOST_AFTER_MS = 4000;

/** By so much the list may be out of order. */
const SLACK_MS = 50;

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
  /** Of each flight in the list: when it is over at the latest. Each frame looks at those of four seconds, so that they lie side by side. */
  private over = new Float64Array(1024);
  /** Flights that were forgotten. */
  private gone = 0;
  /** By stream: the sendings that nobody has received yet, in order. */
  private waiting = new Map<string, Waiting[]>();

  get all(): readonly Flight[] {
    return this.list;
  }

  take(record: TypedRecord): void {
    if (record.kind === 'message.sent') this.sent(record.n, record.time, record.data);
    else if (record.kind === 'message.received') this.received(record.n, record.time, record.data);
  }

  private sent(n: number, time: number, message: Message): void {
    const flight: Flight = { n, message, time, sent: time, received: undefined, seen: undefined };
    const place = this.add(flight, time + LOST_AFTER_MS);
    if (!recordsReceipt(message)) return;
    const key = streamOf(message);
    const queue = this.waiting.get(key);
    if (!queue) this.waiting.set(key, [{ flight, place }]);
    else if (queue.push({ flight, place }) > WAITING_LIMIT) queue.shift();
  }

  private received(n: number, time: number, message: Message): void {
    const key = streamOf(message);
    const queue = this.waiting.get(key) ?? [];
    const left = queue.filter(({ flight, place }) => {
      if (flight.message.exchange.correlation > message.exchange.correlation) return true;
      flight.received = this.over[place - this.gone] = Math.max(time, flight.time);
      return false;
    });
    if (left.length === 0) this.waiting.delete(key);
    else this.waiting.set(key, left);
    const known = left.length < queue.length || (recordsSending(message) && (message.folded ?? 1) > 1);
    if (!known) this.add({ n, message, time, sent: undefined, received: time, seen: undefined }, time);
  }

  private add(flight: Flight, over: number): number {
    const index = this.list.push(flight) - 1;
    if (index === this.over.length) {
      const larger = new Float64Array(index * 2);
      larger.set(this.over);
      this.over = larger;
    }
    this.over[index] = over;
    return this.gone + index;
  }

  /** Forgets flights whose first record is before n. */
  forget(n: number): void {
    const found = this.list.findIndex((flight) => flight.n >= n);
    const dropped = found < 0 ? this.list.length : found;
    this.over.copyWithin(0, dropped, this.list.length);
    this.list.splice(0, dropped);
    this.gone += dropped;
    for (const [key, queue] of this.waiting) {
      const left = queue.filter(({ flight }) => flight.n >= n);
      if (left.length === 0) this.waiting.delete(key);
      else this.waiting.set(key, left);
    }
  }

  clear(): void {
    this.list = [];
    this.gone = 0;
    this.waiting.clear();
  }

  /**
   * Flights that may be on their way at a time when none takes less than minFlight or more than LOST_AFTER_MS, and some more: clocks of
   * nodes differ a little.
   */
  around(time: number, minFlight: number): Flight[] {
    const found: Flight[] = [];
    const first = this.firstAtOrAfter(time - LOST_AFTER_MS - SLACK_MS);
    const end = this.firstAtOrAfter(time + minFlight + SLACK_MS);
    for (let index = first; index < end; index++) if (this.over[index]! > time) found.push(this.list[index]!);
    return found;
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
