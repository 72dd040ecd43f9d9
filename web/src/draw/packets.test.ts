import { describe, expect, it, vi } from 'vitest';
import type { Flow, Packet } from '../scene/packets';
import { drawPackets, on, type DrawOptions } from './packets';
import type { Palette } from './palette';
import { Pixels } from './pixels';
import { pixelOf, Sprites } from './sprites';

const palette: Palette = {
  flows: { write: '#c2500a', replicate: '#2f5fd0', read: '#0b7a66', coordinate: '#7a4bb5', consensus: '#68717f' },
  surface: '#ffffff',
  bad: '#b3261e',
  warn: '#8a5a00',
};
const points = { of: (place: readonly string[]) => ({ a: { x: 20, y: 40 }, b: { x: 180, y: 40 } })[place[0]!] };

function packet(change: Partial<Packet>): Packet {
  return { n: 1, from: ['a'], to: ['b'], flow: 'write', response: false, progress: 0.5, stalled: false, weight: 1, ...change };
}

function draw(packets: Packet[], options: Partial<DrawOptions> = {}, ratio = 1, pixels = new Pixels(200 * ratio, 80 * ratio)): Pixels {
  drawPackets(pixels, packets, points, new Sprites(palette, ratio), { still: false, ...options });
  return pixels;
}

const OPAQUE = 0xff000000;
const count = (pixels: Pixels, colour: string) => pixels.data.reduce((sum, pixel) => sum + Number(pixel === ((pixelOf(colour) | OPAQUE) >>> 0)), 0);
const painted = (pixels: Pixels) => pixels.data.reduce((sum, pixel) => sum + Number(pixel !== 0), 0);
const at = (pixels: Pixels, x: number, y: number) => pixels.data[y * pixels.width + x]!;

describe('drawing packets', () => {
  it('gives each flow its colour and its shape', () => {
    const flows: Flow[] = ['write', 'replicate', 'read', 'coordinate', 'consensus'];
    const masks = flows.map((flow) => {
      const pixels = draw([packet({ flow, n: 2 }), packet({ flow, n: 3 })]);
      expect(count(pixels, palette.flows[flow])).toBeGreaterThan(10);
      return pixels.data.map((pixel) => pixel >>> 24).join();
    });
    expect(new Set(masks).size).toBe(flows.length);
  });

  it('draws a response hollow: surface within a border of the flow', () => {
    expect(count(draw([packet({})]), palette.surface)).toBe(0);
    const hollow = draw([packet({ response: true, weight: 100 })]);
    expect(count(hollow, palette.surface)).toBeGreaterThan(20);
    expect(count(hollow, palette.flows.write)).toBeGreaterThan(20);
  });

  it('draws what stands for many messages larger', () => {
    const one = count(draw([packet({})]), palette.flows.write);
    const many = count(draw([packet({ weight: 1000 })]), palette.flows.write);
    expect(many).toBeGreaterThan(one * 3);
  });

  it('puts a ring around what does not arrive, once it is well on its way', () => {
    const rung = (progress: number) => painted(draw([packet({ stalled: true, progress })])) - painted(draw([packet({ progress })]));
    expect(rung(0.4)).toBeGreaterThan(50);
    expect(rung(0.2)).toBe(0);
  });

  it('leaves out what has no place in the picture', () => {
    expect(painted(draw([packet({ to: ['nowhere'] })]))).toBe(0);
  });

  it('does not move when motion is reduced, and shows the whole way', () => {
    const still = (progress: number) => draw([packet({ progress })], { still: true });
    expect(String(still(0.1).data)).toBe(String(still(0.9).data));
    const atItsBegin = (pixels: Pixels) => Array.from({ length: 80 }, (_, y) => at(pixels, 25, y)).some((pixel) => pixel !== 0);
    expect(atItsBegin(still(0.5))).toBe(true);
    expect(atItsBegin(draw([packet({})]))).toBe(false);
  });

  it('goes behind what has to be readable', () => {
    const pixels = draw([packet({})], { keeps: [{ x: 0, y: 0, width: 200, height: 80 }] });
    expect(painted(pixels)).toBe(0);
  });

  it('has the same places and sizes, in CSS pixels, on a screen with more pixels', () => {
    const coarse = draw([packet({ weight: 1000 })]);
    const fine = draw([packet({ weight: 1000 })], {}, 2);
    expect(count(fine, palette.flows.write) / count(coarse, palette.flows.write)).toBeCloseTo(4, 0);
    const missing = [...coarse.data.keys()].filter((index) => coarse.data[index]! >>> 24 === 255 && at(fine, 2 * (index % 200), 2 * Math.floor(index / 200)) === 0);
    expect(missing).toEqual([]);
  });

  it('draws the tails of all where there are few, and of a bounded share of many', () => {
    const tails = (many: number) => {
      const pixels = new Pixels(200, 80);
      const line = vi.spyOn(pixels, 'line');
      draw(Array.from({ length: many }, (_, n) => packet({ n })), {}, 1, pixels);
      return line.mock.calls.length;
    };
    expect(tails(500)).toBe(500);
    expect(tails(2000)).toBe(500);
  });

  it('wipes what it drew before', () => {
    const pixels = draw([packet({})]);
    draw([], {}, 1, pixels);
    expect(painted(pixels)).toBe(0);
  });
});

it('the way starts and ends at its places and bends in between', () => {
  const way = (bend: number) => ({ from: { x: 0, y: 0 }, to: { x: 100, y: 0 }, bend });
  expect(on(way(8), 0)).toEqual({ x: 0, y: 0 });
  expect(on(way(8), 1).x).toBeCloseTo(100);
  expect(on(way(8), 0.5).y).toBeCloseTo(8);
  expect(on(way(-8), 0.5).y).toBeCloseTo(-8);
});
