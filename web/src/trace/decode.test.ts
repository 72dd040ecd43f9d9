import { expect, it } from 'vitest';
import { frameOf, parseTime } from './decode';

it('keeps the microseconds of a time', () => {
  const second = Date.parse('2026-03-02T09:00:00Z');
  expect(parseTime('2026-03-02T09:00:00Z')).toBe(second);
  expect(parseTime('2026-03-02T09:00:00.02Z')).toBeCloseTo(second + 20, 6);
  expect(parseTime('2026-03-02T09:00:00.000123456Z') - second).toBeCloseTo(0.123, 2);
  expect(parseTime('2026-03-03T23:59:59.999999Z')).toBe(Date.parse('2026-03-03T23:59:59Z') + 0.999999 * 1000);
  expect(parseTime('2026-03-02T10:00:00.5+01:00')).toBe(second + 500);
});

it('refuses what is no frame', () => {
  for (const text of ['{}', 'null', '[]', '{"type":"records"}', '{"type":"snapshot"}', '{"type":"other"}']) expect(() => frameOf(JSON.parse(text)), text).toThrow();
});

it('knows no time in what is none', () => {
  for (const text of ['', 'now', '2026-03-02', '2026-03-02T09:00Z+', 'xxxx-03-02T09:00:00Z']) expect(parseTime(text), text).toBe(Date.parse(text));
});
