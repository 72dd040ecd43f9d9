import { expect, it } from 'vitest';
import { spanBetween } from './spans';

const box = (x: number, y: number, width = 100, height = 200) => ({ x, y, width, height });

it('runs below the heads of cards that stand beside each other, in its direction', () => {
  expect(spanBetween(box(0, 50), box(110, 50))).toEqual({ from: { x: 12, y: 80 }, to: { x: 198, y: 80 } });
  expect(spanBetween(box(110, 50), box(0, 50))).toEqual({ from: { x: 198, y: 80 }, to: { x: 12, y: 80 } });
});

it('stays within cards that are only a head', () => {
  expect(spanBetween(box(0, 50, 100, 24), box(110, 50, 100, 24)).from.y).toBe(74);
});

it('goes from edge to edge of cards in different rows', () => {
  expect(spanBetween(box(0, 0, 100, 40), box(0, 100, 100, 40))).toEqual({ from: { x: 50, y: 40 }, to: { x: 50, y: 100 } });
});

it('reaches a client, which is a point', () => {
  expect(spanBetween(box(0, 0, 100, 40), { x: 50, y: 100, width: 0, height: 0 })).toEqual({ from: { x: 50, y: 40 }, to: { x: 50, y: 100 } });
});
