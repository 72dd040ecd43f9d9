import type { Packet } from '../scene/packets';
import type { Box, Point, Points } from './anchors';
import type { Pixels } from './pixels';
import type { Sprites } from './sprites';

export interface DrawOptions {
  /** Motion becomes steps: a message is an arrow along its way. */
  still: boolean;
  /** Where nothing is drawn: what moves goes behind names. */
  keeps?: readonly Box[];
}

/** How far behind itself a packet's tail begins, as a part of the way. */
const TAIL = 0.09;
/** Where on its way a packet is drawn while nothing moves. */
const STANDS_AT = 0.6;
/** Tails that are drawn at once: among more they tell nothing. */
const TAILS = 600;
/** A message that nobody has received gets its ring from here on. */
const RING_FROM = 0.35;

/** Paints the packets anew: tails below, shapes above, rings around what does not arrive. */
export function drawPackets(pixels: Pixels, packets: readonly Packet[], points: Points, sprites: Sprites, options: DrawOptions): void {
  const { still, keeps = [] } = options;
  const { ratio } = sprites;
  pixels.wipe();
  let count = 0;
  for (const packet of packets) if (place((placed[count] ??= nowhere(packet)), packet, points, ratio, still)) count++;
  const sparse = Math.ceil(count / TAILS);
  const wide = (still ? 1.5 : 2) * ratio;
  for (let index = 0; index < count; index++) {
    const { packet, way, at } = placed[index]!;
    if (packet.n % sparse !== 0) continue;
    const tail = still ? way.from : on(way, Math.max(0, packet.progress - TAIL), tailEnd);
    pixels.line(tail, at, wide, sprites.colour(packet.flow), still ? 0.55 : 0.35);
  }
  for (let index = 0; index < count; index++) {
    const { packet, at } = placed[index]!;
    const { x, y } = at;
    pixels.stamp(sprites.packet(packet.flow, packet.response, size(packet), x, y), Math.floor(x), Math.floor(y));
    if (packet.stalled && packet.progress >= RING_FROM) pixels.stamp(sprites.ring(x, y), Math.floor(x), Math.floor(y));
  }
  for (const box of keeps) pixels.erase(box, ratio);
}

/** A packet's way in device pixels. */
interface Way {
  from: Point;
  to: Point;
  /** To the side, at the middle. */
  bend: number;
}

/** CSS pixels that a way bends to one side, so that requests and responses do not meet; of a short way a part of its length. */
const BEND = 18;
const BEND_SHARE = 0.08;

interface Placed {
  packet: Packet;
  way: Way;
  at: Point;
}

/** Places of packets, used again with each picture: what thousands of points a frame are made of would else be most of the page's garbage. */
const placed: Placed[] = [];
const tailEnd: Point = { x: 0.5, y: 0.5 };

function nowhere(packet: Packet): Placed {
  return { packet, way: { from: { x: 0.5, y: 0.5 }, to: { x: 0.5, y: 0.5 }, bend: 0.5 }, at: { x: 0.5, y: 0.5 } };
}

/** Puts a packet at its place; false when the picture has none for one of its ends. */
function place(to: Placed, packet: Packet, points: Points, ratio: number, still: boolean): boolean {
  const a = points.of(packet.from);
  const b = points.of(packet.to);
  if (!a || !b) return false;
  const { way } = to;
  to.packet = packet;
  way.from.x = a.x * ratio;
  way.from.y = a.y * ratio;
  way.to.x = b.x * ratio;
  way.to.y = b.y * ratio;
  way.bend = Math.min(BEND, length(b.x - a.x, b.y - a.y) * BEND_SHARE) * (packet.response ? -ratio : ratio);
  on(way, still ? STANDS_AT : packet.progress, to.at);
  return true;
}

/** A point of the way: it starts and ends slowly. */
export function on({ from, to, bend }: Way, progress: number, point: Point = { x: 0, y: 0 }): Point {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const whole = length(dx, dy) || 1;
  const eased = progress * progress * (3 - 2 * progress);
  const side = Math.sin(Math.PI * eased) * bend;
  point.x = from.x + dx * eased + (-dy / whole) * side;
  point.y = from.y + dy * eased + (dx / whole) * side;
  return point;
}

/** What Math.hypot is, which is made for any number of sides, and makes things of them. */
function length(x: number, y: number): number {
  return Math.sqrt(x * x + y * y);
}

/** A packet that stands for many messages is larger, up to three times. */
function size(packet: Packet): number {
  return Math.min(3.4 * (1 + Math.log10(packet.weight) * 0.6), 9);
}
