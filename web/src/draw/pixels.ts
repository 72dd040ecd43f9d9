import type { Box, Point } from './anchors';

/** A small picture, ready to be stamped. Pixels are as ImageData has them: 0xAABBGGRR, not multiplied by alpha. */
export interface Sprite {
  /** Pixels on each side. */
  side: number;
  /** Pixels from its upper left corner to the place that it is stamped at, rounded down. */
  centre: number;
  pixels: Uint32Array;
  /** What of it is painted, as a picture of some width needs it: made by the picture. */
  stamp?: Stamp;
}

/** The pixels that are not transparent, and how far behind the upper left corner each of them lies in a picture of a width. */
interface Stamp {
  width: number;
  offsets: Int32Array;
  pixels: Uint32Array;
}

/** Pixels from left to right and from top to bottom; right and bottom are the first ones outside. */
interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/**
 * A picture that is painted pixel by pixel and put onto a canvas in one piece. A rasterizer without a GPU takes ten milliseconds for the
 * shapes of 2,000 messages, whatever way they are given to it; to copy them, and then the whole, takes one.
 *
 * Invariant: pixels outside the painted region are transparent, so that only what was painted has to be wiped and shown.
 */
export class Pixels {
  readonly image: ImageData | undefined;
  readonly data: Uint32Array;
  private painted: Region = nowhere();
  private shown: Region = nowhere();

  /** image is what a canvas takes; without one the picture can be painted and read, but not shown. */
  constructor(
    readonly width: number,
    readonly height: number,
    makeImage?: (width: number, height: number) => ImageData,
  ) {
    this.image = makeImage?.(width, height);
    this.data = this.image ? new Uint32Array(this.image.data.buffer) : new Uint32Array(width * height);
  }

  /** Makes everything transparent. */
  wipe(): void {
    const { top, bottom, left, right } = this.painted;
    if (right > left) this.data.fill(0, top * this.width + left, (bottom - 1) * this.width + right);
    this.painted = nowhere();
  }

  /** Paints a sprite over what is there, its centre at a whole pixel. */
  stamp(sprite: Sprite, x: number, y: number): void {
    const { side } = sprite;
    const left = x - sprite.centre;
    const top = y - sprite.centre;
    if (left < 0 || top < 0 || left + side > this.width || top + side > this.height) return this.stampPart(sprite, left, top);
    const corner = top * this.width + left;
    const { offsets, pixels } = this.stampOf(sprite);
    for (let index = 0; index < offsets.length; index++) this.over(corner + offsets[index]!, pixels[index]!);
    this.touch(left, top, left + side, top + side);
  }

  private stampOf(sprite: Sprite): Stamp {
    if (sprite.stamp?.width === this.width) return sprite.stamp;
    const { side } = sprite;
    const painted = [...sprite.pixels.keys()].filter((index) => sprite.pixels[index] !== 0);
    const offsets = Int32Array.from(painted, (index) => Math.floor(index / side) * this.width + (index % side));
    return (sprite.stamp = { width: this.width, offsets, pixels: Uint32Array.from(painted, (index) => sprite.pixels[index]!) });
  }

  /** Paints what of a sprite lies in the picture. */
  private stampPart({ side, pixels }: Sprite, left: number, top: number): void {
    const first = Math.max(0, -left);
    const last = Math.min(side, this.width - left);
    const lowest = Math.min(side, this.height - top);
    if (first >= last) return;
    for (let row = Math.max(0, -top); row < lowest; row++) {
      const from = row * side;
      const to = (top + row) * this.width + left;
      for (let column = first; column < last; column++) {
        const pixel = pixels[from + column]!;
        if (pixel !== 0) this.over(to + column, pixel);
      }
    }
    this.touch(left + first, Math.max(0, top), left + last, Math.max(0, top + lowest));
  }

  /** Paints a line, wide pixels across, of a colour without alpha. Where lines cross, the stronger one shows. */
  line(from: Point, to: Point, wide: number, colour: number, alpha: number): void {
    const across = Math.abs(to.x - from.x) >= Math.abs(to.y - from.y);
    const [a, b] = (across ? to.x < from.x : to.y < from.y) ? [to, from] : [from, to];
    const length = across ? b.x - a.x : b.y - a.y;
    if (length === 0) return;
    const slope = (across ? b.y - a.y : b.x - a.x) / length;
    const half = (wide * Math.hypot(1, slope)) / 2;
    const begin = across ? a.x : a.y;
    const limit = across ? this.width : this.height;
    const first = Math.max(0, Math.floor(begin));
    const last = Math.min(limit, Math.ceil(begin + length));
    for (let at = first; at < last; at++) {
      const middle = (across ? a.y : a.x) + (Math.min(Math.max(at + 0.5, begin), begin + length) - begin) * slope;
      this.span(across, at, middle - half, middle + half, colour, alpha);
    }
  }

  /** Makes a box transparent. */
  erase({ x, y, width, height }: Box, ratio: number): void {
    const left = Math.max(this.painted.left, Math.round(x * ratio));
    const right = Math.min(this.painted.right, Math.round((x + width) * ratio));
    const bottom = Math.min(this.painted.bottom, Math.round((y + height) * ratio));
    if (left >= right) return;
    for (let row = Math.max(this.painted.top, Math.round(y * ratio)); row < bottom; row++) this.data.fill(0, row * this.width + left, row * this.width + right);
  }

  /** Puts what was painted onto a canvas of the same size, in the place of what was shown before; or the whole picture. */
  show(context: CanvasRenderingContext2D, whole: boolean): void {
    const region = whole ? { left: 0, top: 0, right: this.width, bottom: this.height } : union(this.painted, this.shown);
    this.shown = this.painted;
    const { left, top, right, bottom } = region;
    if (this.image && right > left) context.putImageData(this.image, 0, 0, left, top, right - left, bottom - top);
  }

  /** One pixel of a line's length: what lies between two places across it, the pixels at both ends in part. */
  private span(across: boolean, at: number, low: number, high: number, colour: number, alpha: number): void {
    const limit = across ? this.height : this.width;
    const first = Math.max(0, Math.floor(low));
    const last = Math.min(limit, Math.ceil(high));
    for (let pixel = first; pixel < last; pixel++) {
      const covered = Math.min(high, pixel + 1) - Math.max(low, pixel);
      const strength = Math.round(alpha * covered * 255);
      const index = across ? pixel * this.width + at : at * this.width + pixel;
      if (strength > this.data[index]! >>> 24) this.data[index] = ((strength << 24) | colour) >>> 0;
    }
    if (first >= last) return;
    if (across) this.touch(at, first, at + 1, last);
    else this.touch(first, at, last, at + 1);
  }

  private over(index: number, pixel: number): void {
    const alpha = pixel >>> 24;
    const below = this.data[index]!;
    const belowAlpha = below >>> 24;
    this.data[index] = alpha === 255 || belowAlpha === 0 ? pixel : blend(pixel, alpha, below, belowAlpha);
  }

  private touch(left: number, top: number, right: number, bottom: number): void {
    if (right <= left || bottom <= top) return;
    const { painted } = this;
    if (left < painted.left) painted.left = left;
    if (top < painted.top) painted.top = top;
    if (right > painted.right) painted.right = right;
    if (bottom > painted.bottom) painted.bottom = bottom;
  }
}

function nowhere(): Region {
  return { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
}

function union(a: Region, b: Region): Region {
  return { left: Math.min(a.left, b.left), top: Math.min(a.top, b.top), right: Math.max(a.right, b.right), bottom: Math.max(a.bottom, b.bottom) };
}

/** "Source over" of Porter and Duff, for pixels that are not multiplied by alpha. */
function blend(above: number, alpha: number, below: number, belowAlpha: number): number {
  const rest = (belowAlpha * (255 - alpha)) / 255;
  const sum = alpha + rest;
  const channel = (shift: number) => Math.round((((above >>> shift) & 255) * alpha + ((below >>> shift) & 255) * rest) / sum) << shift;
  return ((Math.round(sum) << 24) | channel(0) | channel(8) | channel(16)) >>> 0;
}
