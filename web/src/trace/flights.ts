import type { Message, TypedRecord } from './types';

/** What messages have in common that go the same way for the same thing: there are some hundreds of them, and a hundred thousand messages. */
export interface Route extends Pick<Message, 'from' | 'to' | 'protocol' | 'name'> {
  readonly subject: string | undefined;
  readonly response: boolean;
  /** What the picture has made of it. */
  seen?: unknown;
}

/**
 * One message between two nodes, joined from the record of its sending and the record of its receipt. Either may be missing: a client
 * outside records nothing, and a lost message is never received.
 */
export interface Flight {
  n: number;
  route: Route;
  /** Messages that it stands for, from 1. */
  weight: number;
  /** The time of the first of the two records: what the list is sorted by, up to the little disorder between nodes. */
  time: number;
  sent: number | undefined;
  received: number | undefined;
}

/** A sending that nobody has received yet: its place among all flights that were taken. */
interface Waiting {
  place: number;
  correlation: number;
}

/** How long a sending waits for its receipt before it is given up for lost. */
export const LOST_AFTER_MS = 4000;

/** By so much the list may be out of order. */
const SLACK_MS = 50;

/** Sendings of one stream that may wait for their receipt; the oldest go first. */
const WAITING_LIMIT = 500;

/**
 * All flights of the records that the store holds, oldest first. Records may be taken away from the front (see forget); what is in
 * the list is bounded by what the store holds. It is kept as columns of numbers: objects, ten thousand a second that live for a minute,
 * are what a collector of garbage does worst with.
 *
 * A connection delivers in order, so a receipt also tells that what was sent before it on the same stream has arrived. That matters
 * under load: both ends fold many messages into one record, each in its own way, and no longer name the same ones.
 */
export class Flights {
  length = 0;
  private readonly routes: Route[] = [];
  private n = new Float64Array(1024);
  private time = new Float64Array(1024);
  /** NaN: nobody recorded the sending, or the receipt. */
  private sentAt = new Float64Array(1024);
  private receivedAt = new Float64Array(1024);
  /** When it is over at the latest. Each frame looks at those of four seconds. */
  private over = new Float64Array(1024);
  private weight = new Float64Array(1024);
  /** Flights that were forgotten. */
  private gone = 0;
  /** Messages of one kind and direction on one connection are a stream: requests, and responses, by connection and name. Of each the sendings that wait, in order. */
  private readonly waiting = [new Map<string, Map<string, Waiting[]>>(), new Map<string, Map<string, Waiting[]>>()] as const;
  private readonly known = new Routes();
  /** Flights to tell of, used again, and those told of last. */
  private readonly pool: Flight[] = [];
  private readonly told: Flight[] = [];

  get all(): Flight[] {
    return Array.from({ length: this.length }, (_, index) => this.put({} as Flight, index));
  }

  take(record: TypedRecord): void {
    if (record.kind === 'message.sent') this.sent(record.n, record.time, record.data);
    else if (record.kind === 'message.received') this.received(record.n, record.time, record.data);
  }

  private sent(n: number, time: number, message: Message): void {
    const place = this.add(n, message, time, time, NaN, time + LOST_AFTER_MS);
    if (!recordsReceipt(message)) return;
    if (this.queueOf(message).push({ place, correlation: message.exchange.correlation }) > WAITING_LIMIT) this.queueOf(message).shift();
  }

  private received(n: number, time: number, message: Message): void {
    const queue = this.queueOf(message);
    let left = 0;
    for (const one of queue) {
      if (one.correlation > message.exchange.correlation) queue[left++] = one;
      else this.receivedAt[one.place - this.gone] = this.over[one.place - this.gone] = Math.max(time, this.time[one.place - this.gone]!);
    }
    const known = left < queue.length || (recordsSending(message) && (message.folded ?? 1) > 1);
    queue.length = left;
    if (!known) this.add(n, message, time, NaN, time, time);
  }

  private queueOf({ exchange, name }: Message): Waiting[] {
    const connections = this.waiting[exchange.response ? 1 : 0];
    let names = connections.get(exchange.connection);
    if (!names) connections.set(exchange.connection, (names = new Map()));
    let queue = names.get(name);
    if (!queue) names.set(name, (queue = []));
    return queue;
  }

  private add(n: number, message: Message, time: number, sent: number, received: number, over: number): number {
    const index = this.length++;
    if (index === this.n.length) this.grow();
    this.routes[index] = this.known.of(message);
    this.n[index] = n;
    this.time[index] = time;
    this.sentAt[index] = sent;
    this.receivedAt[index] = received;
    this.over[index] = over;
    this.weight[index] = Math.max(1, message.folded ?? 1);
    return this.gone + index;
  }

  private grow(): void {
    const larger = (column: Float64Array): Float64Array<ArrayBuffer> => {
      const copy = new Float64Array(column.length * 2);
      copy.set(column);
      return copy;
    };
    this.n = larger(this.n);
    this.time = larger(this.time);
    this.sentAt = larger(this.sentAt);
    this.receivedAt = larger(this.receivedAt);
    this.over = larger(this.over);
    this.weight = larger(this.weight);
  }

  /** Forgets flights whose first record is before n. */
  forget(n: number): void {
    let dropped = 0;
    while (dropped < this.length && this.n[dropped]! < n) dropped++;
    for (const column of [this.n, this.time, this.sentAt, this.receivedAt, this.over, this.weight]) column.copyWithin(0, dropped, this.length);
    this.routes.splice(0, dropped);
    this.length -= dropped;
    this.gone += dropped;
    for (const connections of this.waiting) {
      for (const [connection, names] of connections) {
        for (const [name, queue] of names) {
          const gone = queue.findIndex(({ place }) => place >= this.gone);
          queue.splice(0, gone < 0 ? queue.length : gone);
          if (queue.length === 0) names.delete(name);
        }
        if (names.size === 0) connections.delete(connection);
      }
    }
  }

  clear(): void {
    this.routes.length = 0;
    this.length = 0;
    this.gone = 0;
    for (const connections of this.waiting) connections.clear();
  }

  /**
   * Flights that may be on their way at a time when none takes less than minFlight or more than LOST_AFTER_MS, and some more: clocks of
   * nodes differ a little. They are good until the next call, which uses them again.
   */
  around(time: number, minFlight: number): readonly Flight[] {
    const { pool, told } = this;
    let count = 0;
    const first = this.firstAtOrAfter(time - LOST_AFTER_MS - SLACK_MS);
    const end = this.firstAtOrAfter(time + minFlight + SLACK_MS);
    for (let index = first; index < end; index++) {
      if (this.over[index]! <= time) continue;
      const flight = (pool[count] ??= { n: 0, route: this.routes[index]!, weight: 1, time: 0, sent: undefined, received: undefined });
      told[count++] = this.put(flight, index);
    }
    told.length = count;
    return told;
  }

  private put(flight: Flight, index: number): Flight {
    const sent = this.sentAt[index]!;
    const received = this.receivedAt[index]!;
    flight.n = this.n[index]!;
    flight.route = this.routes[index]!;
    flight.weight = this.weight[index]!;
    flight.time = this.time[index]!;
    flight.sent = Number.isNaN(sent) ? undefined : sent;
    flight.received = Number.isNaN(received) ? undefined : received;
    return flight;
  }

  private firstAtOrAfter(time: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.time[middle]! < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const ROUTES_LIMIT = 20_000;

/** The routes, each made once: a tree whose branches are the parts of their names, so that to find one makes nothing. */
class Routes {
  private root = new Branch();
  private count = 0;

  of({ from, to, protocol, name, subject, exchange: { response } }: Message): Route {
    const branch = this.root.on(from).on(to).on(protocol).on(name).on(subject);
    let route = response ? branch.response : branch.request;
    if (route) return route;
    if (++this.count > ROUTES_LIMIT) {
      this.root = new Branch();
      this.count = 0;
    }
    route = { from, to, protocol, name, subject, response };
    if (response) branch.response = route;
    else branch.request = route;
    return route;
  }
}

class Branch {
  request: Route | undefined;
  response: Route | undefined;
  private readonly branches = new Map<string | undefined, Branch>();

  on(part: string | undefined): Branch {
    let branch = this.branches.get(part);
    if (!branch) this.branches.set(part, (branch = new Branch()));
    return branch;
  }
}

export function isClient(node: string): boolean {
  return node === 'client' || node === '';
}

/** Whether the receiver records what it receives. A client outside does not. */
export function recordsReceipt({ to }: Pick<Message, 'to'>): boolean {
  return !isClient(to);
}

function recordsSending({ from }: Pick<Message, 'from'>): boolean {
  return !isClient(from);
}
