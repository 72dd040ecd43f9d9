// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { setLanguage } from '../i18n/language.svelte';
import type { Second } from '../scene/series';
import Chart, { type Line } from './Chart.svelte';

const made = vi.hoisted(() => ({ charts: [] as { data: unknown[][]; destroyed: boolean }[] }));
vi.mock('uplot', () => ({
  default: class {
    destroyed = false;
    constructor(_: unknown, public data: unknown[][]) {
      made.charts.push(this);
    }
    setData(data: unknown[][]) {
      this.data = data;
    }
    setSize() {}
    destroy() {
      this.destroyed = true;
    }
  },
}));

let mounted: Record<string, unknown> | undefined;
beforeEach(() => {
  setLanguage('en');
  made.charts = [];
  vi.stubGlobal('ResizeObserver', class { observe() {} disconnect() {} });
});
afterEach(() => {
  if (mounted) void unmount(mounted);
  vi.unstubAllGlobals();
});

const second = (time: number, kafka: number) => ({ time, kafka }) as Second;
const line = (name: string): Line => ({ name, side: 'kafka', of: ({ kafka }) => kafka });

it('is made anew with the language and with other lines, and only fed with the seconds', () => {
  const props = $state({ title: 'chart.throughput' as const, lines: [line('a')], seconds: [second(1000, 5)], moveTo: () => {} });
  mounted = mount(Chart, { target: document.body, props });
  flushSync();
  for (let at = 2; at <= 4; at++) {
    props.seconds = [...props.seconds, second(at * 1000, at)];
    props.lines = [line('a')]; // the same ones, told anew with each second
    flushSync();
  }
  expect(made.charts.length).toBe(1);
  expect(made.charts[0]!.data).toEqual([[1, 2, 3, 4], [5, 2, 3, 4]]);
  setLanguage('zh');
  flushSync();
  expect(made.charts.map(({ destroyed }) => destroyed)).toEqual([true, false]);
  props.lines = [line('a'), line('b')];
  flushSync();
  expect(made.charts.map(({ destroyed }) => destroyed)).toEqual([true, true, false]);
  expect(made.charts[2]!.data.length).toBe(3);
});
