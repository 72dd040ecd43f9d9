import type { DisturbedLink } from '../scene/links';
import type { Points } from './anchors';
import type { Palette } from './palette';

/** Draws the links that are not healthy: a cut one dashed with a cross, any other dotted with a ring; an arrow head where only one direction is meant. */
export function drawLinks(context: CanvasRenderingContext2D, links: readonly DisturbedLink[], points: Points, palette: Pick<Palette, 'bad' | 'warn' | 'surface'>): void {
  for (const link of links) {
    const from = points.of([link.from, 'producers/kafka']);
    const to = points.of([link.to, 'producers/kafka']);
    if (!from || !to) continue;
    const { cut } = link.rule;
    const colour = cut ? palette.bad : palette.warn;
    context.strokeStyle = colour;
    context.lineWidth = 2.2;
    context.setLineDash(cut ? [9, 6] : [2, 5]);
    context.beginPath();
    context.moveTo(from.x, from.y);
    context.lineTo(to.x, to.y);
    context.stroke();
    context.setLineDash([]);
    const angle = Math.atan2(to.y - from.y, to.x - from.x);
    if (!link.both) head(context, to.x, to.y, angle);
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
