// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';
import type { Sentence } from '../scene/story';
import StoryList from './StoryList.svelte';

const ROW = 20;
const sentences: Sentence[] = Array.from({ length: 200 }, (_, index) => ({ n: (index + 1) * 10, time: index * 1000, node: 'kafka-1', side: 'kafka', moment: 'node', text: { key: 'story.nodeReady', params: { node: 'kafka-1' } } }));

let mounted: Record<string, unknown> | undefined;
afterEach(() => {
  if (mounted) void unmount(mounted);
  document.body.replaceChildren();
  vi.restoreAllMocks();
});

/** The list shows five rows. */
function show(shownN: number, follows: boolean) {
  const props = $state({ sentences, shownN, follows, pick: () => {}, look: () => {} });
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function (this: Element) {
    if (this.tagName !== 'LI') return { top: 0, bottom: 5 * ROW, height: 5 * ROW } as DOMRect;
    const top = [...this.parentElement!.children].indexOf(this) * ROW - this.parentElement!.scrollTop;
    return { top, bottom: top + ROW, height: ROW } as DOMRect;
  });
  mounted = mount(StoryList, { target: document.body, props });
  flushSync();
  return props;
}

const current = () => document.querySelector('[aria-current]');
const seen = () => {
  const { top, bottom } = current()!.getBoundingClientRect();
  return top >= 0 && bottom <= 5 * ROW;
};
const toldAt = (n: number) => document.querySelector(`[aria-label="Inspect record ${n}"]`)?.closest('li');

it.each([[1995], [1500], [1005], [10]])('shows where the clock was put: record %i', (n) => {
  const props = show(2000, false);
  expect(current()).toBeNull();
  Object.assign(props, { shownN: n, follows: true });
  flushSync();
  expect(current()).toBe(toldAt(Math.floor(n / 10) * 10));
  expect(seen()).toBe(true);
});

it('leaves whoever scrolls alone, until the clock comes to another sentence', () => {
  const props = show(1500, true);
  const list = document.querySelector('ol')!;
  list.scrollTop = 0;
  props.shownN = 1503;
  flushSync();
  expect(list.scrollTop).toBe(0);
  props.shownN = 1410;
  flushSync();
  expect(seen()).toBe(true);
});

it('shows the newest first in the present', () => {
  show(2000, false);
  expect(document.querySelector('li')).toBe(toldAt(2000));
  expect(document.querySelectorAll('li').length).toBe(60);
});
