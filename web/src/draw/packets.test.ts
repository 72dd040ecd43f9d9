import { describe, expect, it } from 'vitest';
import type { Packet } from '../scene/packets';
import { along, drawPackets, type Palette } from './packets';

/** A canvas that writes down what it is told. */
function recorder() {
  const calls: string[] = [];
  const target: Record<string, unknown> = { canvas: { width: 800, height: 600 } };
  const context = new Proxy(target, {
    get: (_, name: string) => (name in target ? target[name] : (...args: unknown[]) => void calls.push(`${name}(${args.map((value) => (typeof value === 'number' ? Math.round(value) : value)).join(',')})`)),
    set: (_, name: string, value) => {
      target[name] = value;
      calls.push(`${name}=${value}`);
      return true;
    },
  }) as unknown as CanvasRenderingContext2D;
  return { context, calls };
}

const palette: Palette = {
  flows: { write: 'orange', replicate: 'blue', read: 'green', coordinate: 'violet', consensus: 'grey' },
  surface: 'white',
  bad: 'red',
  warn: 'amber',
};
const points = { of: (place: readonly string[]) => ({ a: { x: 0, y: 0 }, b: { x: 100, y: 0 } })[place[0]!] };

function packet(change: Partial<Packet>): Packet {
  return { n: 1, from: ['a'], to: ['b'], flow: 'write', response: false, progress: 0.5, stalled: false, weight: 1, message: {} as Packet['message'], ...change };
}

describe('drawing packets', () => {
  const drawMany = (count: number) => {
    const { context, calls } = recorder();
    drawPackets(context, Array.from({ length: count }, (_, n) => packet({ n })), points, palette, { still: false, ratio: 1 });
    return (name: string) => calls.filter((call) => call.startsWith(name)).length;
  };

  it('draws a few packets in each path, and every packet', () => {
    const called = drawMany(1000);
    expect(called('beginPath')).toBeLessThan(1000 / 8);
    expect(called('arc')).toBe(1000);
  });

  it('draws the tails of all where there are few, and of a bounded share of many', () => {
    expect(drawMany(500)('lineTo')).toBe(500);
    expect(drawMany(2000)('lineTo')).toBe(500);
  });

  it('leaves out what has no place in the picture', () => {
    const { context, calls } = recorder();
    drawPackets(context, [packet({ to: ['nowhere'] })], points, palette, { still: false, ratio: 1 });
    expect(calls.some((call) => call.startsWith('arc'))).toBe(false);
  });

  it('gives each flow its colour and its shape', () => {
    const { context, calls } = recorder();
    drawPackets(context, [packet({}), packet({ flow: 'replicate' })], points, palette, { still: false, ratio: 1 });
    expect(calls).toContain('fillStyle=orange');
    expect(calls.filter((call) => call.startsWith('arc')).length).toBe(1);
    expect(calls.filter((call) => call.startsWith('rect')).length).toBe(1);
  });

  it('does not move when motion is reduced', () => {
    const draw = (progress: number) => {
      const { context, calls } = recorder();
      drawPackets(context, [packet({ progress })], points, palette, { still: true, ratio: 1 });
      return calls;
    };
    expect(draw(0.1)).toEqual(draw(0.9));
  });
});

it('the way starts and ends at its places and bends in between', () => {
  const from = { x: 0, y: 0 };
  const to = { x: 100, y: 0 };
  expect(along(from, to, 0, 1)).toEqual({ x: 0, y: 0 });
  expect(along(from, to, 1, 1).x).toBeCloseTo(100);
  expect(along(from, to, 0.5, 1).y).toBeCloseTo(8);
  expect(along(from, to, 0.5, -1).y).toBeCloseTo(-8);
});
