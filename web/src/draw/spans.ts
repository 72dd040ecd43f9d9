import type { Box, Point } from './anchors';

/** The line that stands for a link between two nodes: from edge to edge, so that it strikes no name through. */
export interface Span {
  from: Point;
  to: Point;
}

/** CSS pixels from a card's top to below its name. */
const BELOW_HEAD = 30;
/** How far a line between cards of one row goes into each. */
const INTO = 12;

/** Between cards that stand beside each other it runs just below their heads; between others straight from the one to the other. */
export function spanBetween(a: Box, b: Box): Span {
  const [left, right] = a.x <= b.x ? [a, b] : [b, a];
  const beside = left.x + left.width <= right.x && left.y < right.y + right.height && right.y < left.y + left.height;
  if (beside) {
    const y = Math.min(Math.max(left.y, right.y) + BELOW_HEAD, left.y + left.height, right.y + right.height);
    const start = { x: left.x + INTO, y };
    const end = { x: right.x + right.width - INTO, y };
    return left === a ? { from: start, to: end } : { from: end, to: start };
  }
  const [from, to] = [middle(a), middle(b)];
  return { from: edge(a, from, to), to: edge(b, to, from) };
}

function middle({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 };
}

/** Where the way from the middle of a box to a point outside of it leaves the box. */
function edge({ width, height }: Box, from: Point, to: Point): Point {
  const dx = to.x - from.x;
  const dy = to.y - from.y;
  const part = Math.min(1, width / 2 / Math.abs(dx || 1e-9), height / 2 / Math.abs(dy || 1e-9));
  return { x: from.x + dx * part, y: from.y + dy * part };
}
