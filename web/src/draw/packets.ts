import { FLOWS, type Flow, type Packet } from '../scene/packets';
import type { Box, Point, Points } from './anchors';

export interface Palette {
  flows: Record<Flow, string>;
  surface: string;
  bad: string;
  warn: string;
}

export interface DrawOptions {
  /** Motion becomes steps: a message is an arrow along its way. */
  still: boolean;
  /** Device pixels to a CSS pixel. */
  ratio: number;
  /** Where nothing is drawn: what moves goes behind names. */
  keeps?: readonly Box[];
}

interface Placed {
  packet: Packet;
  at: Point;
  tail: Point;
}

/**
 * Packets of one path. A rasterizer without a GPU sorts all edges of a path together: one path of 2,000 packets takes three times as long
 * as 2,000 of one, and a few in each are quickest of all.
 */
const IN_ONE_PATH = 16;
/** Tails that are drawn at once: among more they tell nothing, and cost as much as the packets. */
const TAILS = 600;
const HOLLOW_BORDER = 1.6;

/** Draws the packets, those of one colour and kind after each other, so that the context's colours change seldom. */
export function drawPackets(context: CanvasRenderingContext2D, packets: readonly Packet[], points: Points, palette: Palette, options: DrawOptions): void {
  context.setTransform(options.ratio, 0, 0, options.ratio, 0, 0);
  context.clearRect(0, 0, context.canvas.width / options.ratio, context.canvas.height / options.ratio);
  const sparse = Math.ceil(packets.length / TAILS);
  for (const flow of FLOWS) {
    const placed = place(packets, flow, points, options.still);
    if (placed.length === 0) continue;
    tails(context, placed.filter(({ packet }) => packet.n % sparse === 0), palette.flows[flow], options.still);
    shapes(context, flow, placed, palette);
  }
  lost(context, packets, points, palette, options.still);
  for (const { x, y, width, height } of options.keeps ?? []) context.clearRect(x, y, width, height);
}

function place(packets: readonly Packet[], flow: Flow, points: Points, still: boolean): Placed[] {
  const placed: Placed[] = [];
  for (const packet of packets) {
    if (packet.flow !== flow) continue;
    const from = points.of(packet.from);
    const to = points.of(packet.to);
    if (!from || !to) continue;
    const bend = packet.response ? -1 : 1;
    const at = still ? along(from, to, 0.6, bend) : along(from, to, packet.progress, bend);
    const tail = still ? from : along(from, to, Math.max(0, packet.progress - 0.09), bend);
    placed.push({ packet, at, tail });
  }
  return placed;
}

/** A point of the way, which bends a little to one side so that requests and responses do not meet. */
export function along(from: Point, to: Point, progress: number, bend: number): Point {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const length = Math.hypot(dx, dy) || 1;
  const eased = progress * progress * (3 - 2 * progress);
  const side = Math.sin(Math.PI * eased) * Math.min(18, length * 0.08) * bend;
  return { x: from.x + dx * eased + (-dy / length) * side, y: from.y + dy * eased + (dx / length) * side };
}

function tails(context: CanvasRenderingContext2D, placed: readonly Placed[], colour: string, still: boolean): void {
  context.globalAlpha = still ? 0.55 : 0.35;
  context.strokeStyle = colour;
  context.lineWidth = still ? 1.5 : 2;
  inPaths(context, placed, ({ at, tail }) => {
    context.moveTo(tail.x, tail.y);
    context.lineTo(at.x, at.y);
  }, () => context.stroke());
  context.globalAlpha = 1;
}

function shapes(context: CanvasRenderingContext2D, flow: Flow, placed: readonly Placed[], palette: Palette): void {
  const colour = palette.flows[flow];
  context.fillStyle = colour;
  inPaths(context, placed, ({ packet, at }) => shape(context, flow, at, size(packet)), () => context.fill());
  // A hollow shape is a smaller one on top: an outline of its own takes twice as long.
  context.fillStyle = palette.surface;
  const hollow = placed.filter(({ packet }) => packet.response);
  inPaths(context, hollow, ({ packet, at }) => shape(context, flow, at, size(packet) - HOLLOW_BORDER), () => context.fill());
}

/** Adds each packet to a path, and paints every path. */
function inPaths(context: CanvasRenderingContext2D, placed: readonly Placed[], add: (one: Placed) => void, paint: () => void): void {
  for (let first = 0; first < placed.length; first += IN_ONE_PATH) {
    context.beginPath();
    placed.slice(first, first + IN_ONE_PATH).forEach(add);
    paint();
  }
}

/** A packet that stands for many messages is larger, up to three times. */
function size(packet: Packet): number {
  return Math.min(3.4 * (1 + Math.log10(packet.weight) * 0.6), 9);
}

/** Each flow has its own shape, so that colour is not needed to tell them apart. */
function shape(context: CanvasRenderingContext2D, flow: Flow, { x, y }: Point, r: number): void {
  switch (flow) {
    case 'write':
      context.moveTo(x + r, y);
      context.arc(x, y, r, 0, Math.PI * 2);
      return;
    case 'replicate':
      context.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8);
      return;
    case 'read':
      context.moveTo(x, y - r * 1.15);
      context.lineTo(x + r * 1.1, y + r * 0.8);
      context.lineTo(x - r * 1.1, y + r * 0.8);
      context.closePath();
      return;
    case 'coordinate':
      context.moveTo(x, y - r * 1.2);
      context.lineTo(x + r * 1.2, y);
      context.lineTo(x, y + r * 1.2);
      context.lineTo(x - r * 1.2, y);
      context.closePath();
      return;
    case 'consensus':
      context.moveTo(x + r * 0.7, y);
      context.arc(x, y, r * 0.7, 0, Math.PI * 2);
      return;
  }
}

/** A ring around what does not arrive. */
function lost(context: CanvasRenderingContext2D, packets: readonly Packet[], points: Points, palette: Palette, still: boolean): void {
  context.beginPath();
  for (const packet of packets) {
    if (!packet.stalled || packet.progress < 0.35) continue;
    const from = points.of(packet.from);
    const to = points.of(packet.to);
    if (!from || !to) continue;
    const at = along(from, to, still ? 0.6 : packet.progress, packet.response ? -1 : 1);
    context.moveTo(at.x + 8, at.y);
    context.arc(at.x, at.y, 8, 0, Math.PI * 2);
  }
  context.strokeStyle = palette.bad;
  context.lineWidth = 1.2;
  context.stroke();
}
