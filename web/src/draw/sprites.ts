import { FLOWS, type Flow } from '../scene/packets';
import type { Palette } from './palette';
import type { Sprite } from './pixels';

/** Places between two pixels that a shape is made for: it moves smoothly, however slowly. */
const PHASES = 4;
/** Sizes are rounded to this part of a pixel. */
const SIZES = 4;
/** CSS pixels of a hollow shape's border. */
const BORDER = 1.6;
const RING = { radius: 8, wide: 1.2 };

/** The pictures of messages in one palette, for a screen of so many device pixels to a CSS pixel. Each is made when it is first asked for. */
export class Sprites {
  private readonly made = new Map<number, Sprite>();
  private readonly surface: number;
  private readonly flows: Record<Flow, number>;
  private readonly bad: number;

  constructor(
    palette: Palette,
    readonly ratio: number,
  ) {
    this.surface = pixelOf(palette.surface);
    this.bad = pixelOf(palette.bad);
    this.flows = Object.fromEntries(FLOWS.map((flow) => [flow, pixelOf(palette.flows[flow])])) as Record<Flow, number>;
  }

  /** A flow's colour as a pixel without alpha. */
  colour(flow: Flow): number {
    return this.flows[flow];
  }

  /** The shape of a message, radius CSS pixels large, for a place given in device pixels. */
  packet(flow: Flow, response: boolean, radius: number, x: number, y: number): Sprite {
    const size = Math.round(radius * this.ratio * SIZES);
    const right = phase(x);
    const down = phase(y);
    const key = (((FLOWS.indexOf(flow) * 2 + Number(response)) * 256 + size) * PHASES + right) * PHASES + down;
    let sprite = this.made.get(key);
    if (!sprite) this.made.set(key, (sprite = this.shape(flow, response, size / SIZES, right / PHASES, down / PHASES)));
    return sprite;
  }

  private shape(flow: Flow, response: boolean, size: number, right: number, down: number): Sprite {
    const outer = distance(flow, size);
    const inner = response ? distance(flow, Math.max(0, size - BORDER * this.ratio)) : undefined;
    return rasterize(size * 1.2, right, down, (dx, dy) => mix(this.flows[flow], outer(dx, dy), this.surface, inner?.(dx, dy)));
  }

  /** The ring around what does not arrive. */
  ring(x: number, y: number): Sprite {
    const right = phase(x);
    const down = phase(y);
    const key = -1 - (right * PHASES + down);
    let sprite = this.made.get(key);
    if (!sprite) this.made.set(key, (sprite = this.circle(right / PHASES, down / PHASES)));
    return sprite;
  }

  private circle(right: number, down: number): Sprite {
    const radius = RING.radius * this.ratio;
    const half = (RING.wide * this.ratio) / 2;
    return rasterize(radius + half, right, down, (dx, dy) => mix(this.bad, Math.abs(Math.hypot(dx, dy) - radius) - half, this.surface, undefined));
  }
}

/** Which of the places within a pixel a place is at. */
function phase(place: number): number {
  return Math.floor((place - Math.floor(place)) * PHASES);
}

/**
 * How far a point lies outside a flow's shape around the origin; inside it is negative. Each flow has its own shape, so that colour is
 * not needed to tell them apart.
 */
function distance(flow: Flow, r: number): (x: number, y: number) => number {
  switch (flow) {
    case 'write':
      return (x, y) => Math.hypot(x, y) - r;
    case 'replicate':
      return (x, y) => Math.max(Math.abs(x), Math.abs(y)) - r * 0.9;
    case 'read': {
      // An upright triangle: its left and right sides, which rise 1.95 over 1.1, and its foot.
      const steep = 1.1 / Math.hypot(1.1, 1.95);
      const flat = 1.95 / Math.hypot(1.1, 1.95);
      return (x, y) => Math.max(Math.abs(x) * flat - (y + r * 1.15) * steep, y - r * 0.8);
    }
    case 'coordinate':
      return (x, y) => (Math.abs(x) + Math.abs(y) - r * 1.2) * Math.SQRT1_2;
    case 'consensus':
      return (x, y) => Math.hypot(x, y) - r * 0.7;
  }
}

/** The picture of what a function paints at each distance from a centre, which lies right and down of a pixel's corner. */
function rasterize(reach: number, right: number, down: number, paint: (dx: number, dy: number) => number): Sprite {
  const centre = Math.ceil(reach) + 1;
  const side = centre * 2 + 1;
  const pixels = new Uint32Array(side * side);
  for (let row = 0; row < side; row++) {
    for (let column = 0; column < side; column++) pixels[row * side + column] = paint(column + 0.5 - centre - right, row + 0.5 - centre - down);
  }
  return { side, centre, pixels };
}

/** A pixel at a distance from an outline, and within it at one from an inner outline; half of a pixel on the line is covered. */
function mix(colour: number, outside: number, inner: number, within: number | undefined): number {
  const alpha = Math.round(covered(outside) * 255);
  if (alpha === 0) return 0;
  const share = within === undefined ? 0 : covered(within);
  const channel = (shift: number) => Math.round(((colour >>> shift) & 255) * (1 - share) + ((inner >>> shift) & 255) * share) << shift;
  return ((alpha << 24) | channel(0) | channel(8) | channel(16)) >>> 0;
}

function covered(distance: number): number {
  return Math.min(1, Math.max(0, 0.5 - distance));
}

/** "#rrggbb" as a pixel without alpha: 0x00BBGGRR. */
export function pixelOf(colour: string): number {
  const found = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour);
  if (!found) throw new Error(`the colour ${JSON.stringify(colour)} cannot be painted: it has to be #rrggbb`);
  const [red, green, blue] = found.slice(1).map((hex) => parseInt(hex, 16)) as [number, number, number];
  return red | (green << 8) | (blue << 16);
}
