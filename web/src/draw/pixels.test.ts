import { describe, expect, it } from 'vitest';
import { Pixels, type Sprite } from './pixels';
import { pixelOf } from './sprites';

const RED = 0xff0000ff;
const HALF_BLUE = 0x80ff0000;

function square(side: number, pixel: number): Sprite {
  return { side, centre: (side - 1) / 2, pixels: new Uint32Array(side * side).fill(pixel) };
}

const rows = (pixels: Pixels) => Array.from({ length: pixels.height }, (_, y) => Array.from({ length: pixels.width }, (_, x) => (pixels.data[y * pixels.width + x] === 0 ? '.' : '#')).join(''));

/** A canvas that keeps what is put onto it. */
function canvas() {
  const regions: number[][] = [];
  return { regions, context: { putImageData: (_image: unknown, _x: number, _y: number, ...region: number[]) => regions.push(region) } as unknown as CanvasRenderingContext2D };
}

const imageOf = (width: number, height: number) => ({ data: new Uint8ClampedArray(width * height * 4) }) as unknown as ImageData;

describe('pixels', () => {
  it('stamps a sprite at its centre, and only what of it lies in the picture', () => {
    const pixels = new Pixels(5, 4);
    pixels.stamp(square(3, RED), 0, 0);
    pixels.stamp(square(3, RED), 4, 3);
    pixels.stamp(square(3, RED), -9, 1);
    pixels.stamp(square(3, RED), 2, 99);
    expect(rows(pixels)).toEqual(['##...', '##...', '...##', '...##']);
  });

  it('stamps the same sprite into pictures of any width', () => {
    const sprite = square(3, RED);
    sprite.pixels[4] = 0;
    for (const width of [5, 7, 5]) {
      const pixels = new Pixels(width, 4);
      pixels.stamp(sprite, 2, 2);
      expect(rows(pixels).map((row) => row.slice(0, 5))).toEqual(['.....', '.###.', '.#.#.', '.###.']);
    }
  });

  it('paints over what is there by as much as it covers', () => {
    const pixels = new Pixels(1, 1);
    pixels.stamp(square(1, RED), 0, 0);
    pixels.stamp(square(1, HALF_BLUE), 0, 0);
    const [red, green, blue, alpha] = new Uint8Array(pixels.data.buffer);
    expect([green, alpha]).toEqual([0, 255]);
    expect(red).toBeGreaterThan(120);
    expect(blue).toBeGreaterThan(120);
    expect(red! + blue!).toBe(255);
    pixels.stamp(square(1, RED), 0, 0);
    expect(pixels.data[0]).toBe(RED);
  });

  it('draws lines of one width in every direction, and leaves what is stronger', () => {
    const strength = (to: { x: number; y: number }) => {
      const pixels = new Pixels(60, 60);
      pixels.line({ x: 30, y: 30 }, to, 2, 0xff, 1);
      return pixels.data.reduce((sum, pixel) => sum + (pixel >>> 24) / 255, 0);
    };
    for (const to of [{ x: 50, y: 30 }, { x: 10, y: 30 }, { x: 30, y: 50 }, { x: 30, y: 10 }, { x: 44, y: 16 }, { x: 42, y: 46 }]) {
      expect(strength(to), JSON.stringify(to)).toBeGreaterThan(36);
      expect(strength(to), JSON.stringify(to)).toBeLessThan(45);
    }
    const pixels = new Pixels(9, 3);
    pixels.stamp(square(1, RED), 4, 1);
    pixels.line({ x: 0, y: 1.5 }, { x: 9, y: 1.5 }, 1, 0, 0.5);
    expect(pixels.data[9 + 4]).toBe(RED);
    expect(pixels.data[9 + 3]! >>> 24).toBe(128);
    pixels.line({ x: -50, y: -20 }, { x: 80, y: 99 }, 2, 0, 1);
    pixels.line({ x: 3, y: 1 }, { x: 3, y: 1 }, 2, 0, 1);
  });

  it('erases boxes, also such as reach out of the picture', () => {
    const pixels = new Pixels(4, 3);
    pixels.stamp(square(5, RED), 2, 1);
    pixels.erase({ x: 0.5, y: 0, width: 1, height: 1 }, 2);
    pixels.erase({ x: 3, y: -2, width: 9, height: 3 }, 1);
    expect(rows(pixels)).toEqual(['#...', '#..#', '####']);
  });

  it('puts onto the canvas what was painted now and what was before, so that nothing stays', () => {
    const pixels = new Pixels(20, 10, imageOf);
    const { regions, context } = canvas();
    pixels.stamp(square(3, RED), 4, 4);
    pixels.show(context, false);
    pixels.wipe();
    pixels.stamp(square(1, RED), 10, 6);
    pixels.show(context, false);
    pixels.wipe();
    pixels.show(context, false);
    pixels.show(context, false); // nothing was there, nothing is: nothing is put
    pixels.show(context, true);
    expect(regions).toEqual([
      [3, 3, 3, 3],
      [3, 3, 8, 4],
      [10, 6, 1, 1],
      [0, 0, 20, 10],
    ]);
    expect(rows(pixels).join('')).not.toContain('#');
  });
});

it('a colour is read from the way that the tokens are written', () => {
  expect(pixelOf('#0a0b0c')).toBe(0x0c0b0a);
  expect(() => pixelOf('rebeccapurple')).toThrow('#rrggbb');
});
