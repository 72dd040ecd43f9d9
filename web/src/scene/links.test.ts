import { describe, expect, it } from 'vitest';
import { emptyState } from '../trace/reducer';
import type { Link } from '../trace/types';
import { disturbedLinks, effectOf, HEALTHY } from './links';

const link = (from: string, to: string, rule: Partial<Link>): Link => ({ from, to, ...HEALTHY, ...rule });

describe('disturbed links', () => {
  const of = (...links: Link[]) => {
    const state = emptyState();
    for (const one of links) state.links[`${one.from}>${one.to}`] = one;
    return disturbedLinks(state).map(({ from, to, both }) => `${from} ${both ? '<>' : '>'} ${to}`);
  };

  it('are told once when both directions have the same rule', () => {
    expect(of(link('b', 'a', { cut: true }), link('a', 'b', { cut: true }))).toEqual(['a <> b']);
  });

  it('are told each when they differ or only one is disturbed', () => {
    expect(of(link('a', 'b', { cut: true }), link('b', 'a', { delayMS: 5 }), link('a', 'c', { delayMS: 5 }))).toEqual(['a > b', 'a > c', 'b > a']);
  });

  it('have the effect that hurts most', () => {
    expect(effectOf({ ...HEALTHY, cut: true, delayMS: 5 })).toBe('cut');
    expect(effectOf({ ...HEALTHY, bytesPerSecond: 9, delayMS: 5 })).toBe('slow');
    expect(effectOf({ ...HEALTHY, delayMS: 5 })).toBe('delay');
  });
});
