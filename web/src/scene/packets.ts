import { isClient, LOST_AFTER_MS, recordsReceipt, type Flight, type Route } from '../trace/flights';
import type { Message } from '../trace/types';

/** What a message is for: picks the colour. */
export type Flow = 'write' | 'replicate' | 'read' | 'coordinate' | 'consensus';

export const FLOWS: readonly Flow[] = ['write', 'replicate', 'read', 'coordinate', 'consensus'];

/** Where a message starts or ends: the first of these places that the picture has. */
export type Place = readonly string[];

export interface Packet {
  n: number;
  from: Place;
  to: Place;
  flow: Flow;
  /** A response is drawn hollow. */
  response: boolean;
  /** Where it is between from (0) and to (1). */
  progress: number;
  /** On its way for longer than messages take: the receiver is paused, cut off or dead. */
  stalled: boolean;
  /** Messages that it stands for, from 1. */
  weight: number;
}

export interface PacketOptions {
  /** The least time, of the recorded clock, that a message is drawn on its way. */
  minFlight: number;
  /** At most so many packets; the rest is counted. */
  limit: number;
  hidden?: ReadonlySet<Flow>;
}

export interface PacketScene {
  packets: Packet[];
  /** Messages in flight by flow: all of them, drawn or not. */
  counts: Record<Flow, number>;
  /** Flights that are not drawn, because of the limit. */
  surplus: number;
}

/** Packets that are used again: thirty frames a second of two thousand of them would be most of what a page throws away. */
export class PacketPool {
  readonly packets: Packet[] = [];
  readonly drawn: Packet[] = [];

  /** One for the count-th packet of a frame. */
  at(count: number): Packet {
    return (this.packets[count] ??= { n: 0, from: NOWHERE, to: NOWHERE, flow: 'coordinate', response: false, progress: 0, stalled: false, weight: 1 });
  }
}

const NOWHERE: Place = [];

/**
 * The packets in flight at a time. A pure function of the flights and the time: pause, seek and replay need nothing else. Those that come
 * out of a pool are good until it is used again.
 */
export function packetsAt(flights: readonly Flight[], time: number, options: PacketOptions, pool = new PacketPool()): PacketScene {
  const counts = noFlow();
  let flying = 0;
  for (const flight of flights) {
    const progress = progressAt(flight, time, options.minFlight);
    if (progress === undefined) continue;
    const way = wayOf(flight.route);
    counts[way.flow] += flight.weight;
    if (!options.hidden?.has(way.flow)) fill(pool.at(flying++), flight, way, progress);
  }
  const share = options.limit / flying;
  const { packets, drawn } = pool;
  let count = 0;
  for (let index = 0; index < flying && count < options.limit; index++) if (share >= 1 || lot(packets[index]!.n) < share) drawn[count++] = packets[index]!;
  drawn.length = count;
  return { packets: drawn, counts, surplus: flying - count };
}

/** What of a packet depends on the route alone. */
type Way = Pick<Packet, 'from' | 'to' | 'flow'>;

function wayOf(route: Route): Way {
  return (route.seen ??= { from: placeOf(route.from, route), to: placeOf(route.to, route), flow: flowOf(route) }) as Way;
}

export function noFlow(): Record<Flow, number> {
  return { write: 0, replicate: 0, read: 0, coordinate: 0, consensus: 0 };
}

/** A number in [0, 1) that is a record's own: of too many flights the same ones are drawn from frame to frame, of every kind its share. */
function lot(n: number): number {
  return (Math.imul(n, 0x9e3779b1) >>> 0) / 0x1_0000_0000;
}

/**
 * Where a flight is at a time, or undefined when it is not on its way. It arrives exactly when it was received, and leaves when it was
 * sent or minFlight earlier than it arrived, whichever is first. While nobody has received it, it slows down before half way.
 */
export function progressAt(flight: Flight, time: number, minFlight: number): number | undefined {
  const { sent, received } = flight;
  if (received !== undefined) {
    const start = Math.min(sent ?? received, received - minFlight);
    return time < start || time >= received ? undefined : (time - start) / (received - start);
  }
  if (sent === undefined || time < sent) return undefined;
  if (!recordsReceipt(flight.route)) {
    return time >= sent + minFlight ? undefined : (time - sent) / minFlight;
  }
  if (time > sent + LOST_AFTER_MS) return undefined;
  return 0.5 * (1 - Math.exp(-(time - sent) / minFlight));
}

function fill(packet: Packet, { n, route, weight, received }: Flight, { from, to, flow }: Way, progress: number): void {
  packet.n = n;
  packet.from = from;
  packet.to = to;
  packet.flow = flow;
  packet.response = route.response;
  packet.progress = progress;
  packet.stalled = received === undefined && recordsReceipt(route);
  packet.weight = weight;
}

function placeOf(node: string, message: Route): Place {
  if (isClient(node)) return placeNamed(`${isConsumers(message) ? 'consumers' : 'producers'}/${message.protocol === 'pulsar' ? 'pulsar' : 'kafka'}`);
  if (message.protocol === 'zookeeper') return placeNamed(`session/${node}`, node); // where sessions are shown, what they ask comes from them
  return message.subject ? placeNamed(`${node}/${message.subject}`, node) : placeNamed(node);
}

/** A hundred thousand flights go between a few hundred places. */
const places = new Map<string, Place>();
const PLACES_LIMIT = 20_000;

function placeNamed(first: string, orElse?: string): Place {
  const known = places.get(first);
  if (known) return known;
  if (places.size >= PLACES_LIMIT) places.clear();
  const place = orElse === undefined ? [first] : [first, orElse];
  places.set(first, place);
  return place;
}

/** A client's message is one of its consumers' when it reads or belongs to a group or a subscription. */
function isConsumers(message: Route): boolean {
  return flowOf(message) === 'read' || /group|offset|coordinator|heartbeat|subscribe|consumer|unack|seek/i.test(message.name);
}

const READ_NAMES = new Set(['fetch', 'message', 'flow', 'ack', 'ack_response', 'redeliver_unacknowledged_messages', 'offsetcommit', 'offsetfetch']);
const WRITE_NAMES = new Set(['produce', 'send', 'send_receipt', 'send_error']);

export function flowOf(message: Pick<Message, 'from' | 'to' | 'protocol' | 'name'>): Flow {
  const name = message.name.toLowerCase();
  switch (message.protocol) {
    case 'raft':
      return 'consensus';
    case 'zookeeper':
      return 'coordinate';
    case 'bookkeeper':
      return name.includes('read') || name.includes('lac') ? 'read' : 'replicate';
    case 'kafka':
      if (name === 'fetch') return isClient(message.from) || isClient(message.to) ? 'read' : 'replicate';
      break;
  }
  if (WRITE_NAMES.has(name)) return 'write';
  if (READ_NAMES.has(name)) return 'read';
  return 'coordinate';
}
