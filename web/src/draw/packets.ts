import { FLOWS, type Flow, type Packet } from '../scene/packets';
import type { Point, Points } from './anchors';

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
}

interface Placed {
  packet: Packet;
  at: Point;
  tail: Point;
}

/** Draws the packets, one path for each colour and each of filled and hollow: the number of paths does not grow with the packets. */
export function drawPackets(context: CanvasRenderingContext2D, packets: readonly Packet[], points: Points, palette: Palette, options: DrawOptions): void {
  context.setTransform(options.ratio, 0, 0, options.ratio, 0, 0);
  context.clearRect(0, 0, context.canvas.width / options.ratio, context.canvas.height / options.ratio);
  context.lineCap = 'round';
  for (const flow of FLOWS) {
    const placed = place(packets, flow, points, options.still);
    if (placed.length === 0) continue;
    tails(context, placed, palette.flows[flow], options.still);
    shapes(context, flow, placed, palette);
  }
  lost(context, packets, points, palette, options.still);
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
  context.beginPath();
  for (const { at, tail } of placed) {
    context.moveTo(tail.x, tail.y);
    context.lineTo(at.x, at.y);
  }
  context.globalAlpha = still ? 0.55 : 0.35;
  context.strokeStyle = colour;
  context.lineWidth = still ? 1.5 : 2;
  context.stroke();
  context.globalAlpha = 1;
}

function shapes(context: CanvasRenderingContext2D, flow: Flow, placed: readonly Placed[], palette: Palette): void {
  const colour = palette.flows[flow];
  context.beginPath();
  for (const { packet, at } of placed) if (!packet.response) shape(context, flow, at, size(packet));
  context.fillStyle = colour;
  context.fill();
  context.beginPath();
  for (const { packet, at } of placed) if (packet.response) shape(context, flow, at, size(packet));
  context.fillStyle = palette.surface;
  context.fill();
  context.strokeStyle = colour;
  context.lineWidth = 1.6;
  context.stroke();
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
