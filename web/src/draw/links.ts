import type { DisturbedLink } from '../scene/links';
import type { Box } from './anchors';
import type { Palette } from './palette';
import { spanBetween } from './spans';

/** Where the nodes are, and what must be readable. */
export interface Cards {
  /** The box of a node's card; a client's is a point. */
  card(node: string): Box | undefined;
  keeps: readonly Box[];
}

/**
 * Draws the links that are not healthy: a cut one dashed with a cross, any other dotted with a ring; an arrow head where only one direction
 * is meant. The lines go behind names, as all that is drawn: a name that is struck through would be a dead node's.
 */
export function drawLinks(context: CanvasRenderingContext2D, links: readonly DisturbedLink[], cards: Cards, palette: Pick<Palette, 'bad' | 'warn' | 'surface'>): void {
  const spans = links.flatMap((link) => {
    const from = cards.card(link.from);
    const to = cards.card(link.to);
    return from && to ? [{ link, cut: link.rule.cut, ...spanBetween(from, to) }] : [];
  });
  context.lineWidth = 2.2;
  for (const { link, cut, from, to } of spans) {
    context.strokeStyle = cut ? palette.bad : palette.warn;
    context.setLineDash(cut ? [9, 6] : [2, 5]);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
    context.stroke();
    context.setLineDash([]);
    if (!link.both) head(context, to.x, to.y, Math.atan2(to.y - from.y, to.x - from.x));
  }
  if (spans.length > 0) for (const { x, y, width, height } of cards.keeps) context.clearRect(x, y, width, height);
  for (const { cut, from, to } of spans) {
    context.strokeStyle = cut ? palette.bad : palette.warn;
    badge(context, (from.x + to.x) / 2, (from.y + to.y) / 2, cut, palette.surface);
  }
}

function head(context: CanvasRenderingContext2D, x: number, y: number, angle: number): void {
  const side = (turn: number) => {
    context.moveTo(x, y);
    context.lineTo(x - 12 * Math.cos(angle + turn), y - 12 * Math.sin(angle + turn));
  };
  context.beginPath();
  side(0.42);
  side(-0.42);
  context.stroke();
}

function badge(context: CanvasRenderingContext2D, x: number, y: number, cut: boolean, surface: string): void {
  context.beginPath();
  context.arc(x, y, 8, 0, Math.PI * 2);
  context.fillStyle = surface;
  context.fill();
  context.stroke();
  context.beginPath();
  if (cut) {
    context.moveTo(x - 3.5, y - 3.5);
    context.lineTo(x + 3.5, y + 3.5);
    context.moveTo(x + 3.5, y - 3.5);
    context.lineTo(x - 3.5, y + 3.5);
  } else {
    context.moveTo(x, y - 4);
    context.lineTo(x, y);
    context.lineTo(x + 3.5, y + 2);
  }
  context.stroke();
}
