// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, expect, it, vi } from 'vitest';
import type { Sentence } from '../scene/story';
import type { Beginning } from './beginning';
import type { Standing } from './classroom.svelte';
import StoryList from './StoryList.svelte';

const ROW = 20;
const sentences: Sentence[] = Array.from({ length: 200 }, (_, index) => ({ n: (index + 1) * 10, time: index * 1000, node: 'kafka-1', side: 'kafka', moment: 'node', text: { key: 'story.nodeReady', params: { node: 'kafka-1' } } }));

let mounted: Record<string, unknown> | undefined;
afterEach(() => {
  if (mounted) void unmount(mounted);
  document.body.replaceChildren();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

/** The list shows five rows. */
function show(shownN: number, follows: boolean, told = sentences, beginning: Beginning = { of: 'whole' }) {
  const props = $state({ sentences: told, firstN: 0, dropped: 0, shownN, follows, standing: undefined as Standing | undefined, pick: () => {}, look: () => {}, beginning, earlier: undefined as (() => void) | undefined, again: () => {} });
  vi.stubGlobal('ResizeObserver', class { observe() {} unobserve() {} disconnect() {} });
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

it('shows the newest again when the clock comes back to the present, and then leaves whoever scrolls alone', () => {
  const props = show(1500, true);
  const list = document.querySelector('ol')!;
  expect(list.scrollTop).toBeGreaterThan(0);
  Object.assign(props, { shownN: 2000, follows: false });
  flushSync();
  expect(list.scrollTop).toBe(0);
  list.scrollTop = 3 * ROW;
  props.shownN = 2001;
  flushSync();
  expect(list.scrollTop).toBe(3 * ROW);
});

it('is filled before the first sentence of a run, and shows which comes next', () => {
  const list = () => document.querySelector('ol')!;
  vi.spyOn(Element.prototype, 'scrollHeight', 'get').mockReturnValue(61 * ROW);
  show(5, true);
  expect(current()).toBeNull();
  expect(document.querySelectorAll('li.later').length).toBe(60);
  expect(list().scrollTop).toBe(61 * ROW);
  expect(list().lastElementChild?.textContent).toContain('The run begins here.');
});

it('tells that what happened before is on its way, how far, and where a part begins', () => {
  const props = show(0, false, [], { of: 'fetching', progress: 0.4 });
  const told = () => document.querySelector('.story')!.textContent;
  expect(told()).toContain('Fetching what happened before this page was opened');
  expect(told()).toContain('40%');
  expect(document.querySelector('progress')!.value).toBe(0.4);
  expect(told()).not.toContain('Nothing notable');
  const earlier = vi.fn();
  Object.assign(props, { beginning: { of: 'part', n: 360_001, time: 0 }, earlier });
  flushSync();
  expect(told()).toContain('Nothing notable happened in the part of the run that is at hand.');
  expect(told()).toContain('record 360001');
  document.querySelector<HTMLButtonElement>('.beginning button')!.click();
  expect(earlier).toHaveBeenCalledOnce();
});

it('offers to fetch again what could not be fetched', () => {
  const props = show(0, false, [], { of: 'failed' });
  const again = vi.fn();
  props.again = again;
  flushSync();
  document.querySelector<HTMLButtonElement>('.beginning button')!.click();
  expect(again).toHaveBeenCalledOnce();
});

it('shows an everyday record where the clock was put at it, between the notable ones', () => {
  const props = show(2000, false);
  const standing: Standing = { n: 1004, time: 0, text: { key: 'record.started', params: { node: 'bookie-1' } } };
  Object.assign(props, { shownN: 1004, follows: true, standing });
  flushSync();
  expect(current()).toBe(toldAt(1004));
  expect(current()!.textContent).toContain('bookie-1');
  expect(current()!.nextElementSibling).toBe(toldAt(1000));
  expect(current()!.previousElementSibling).toBe(toldAt(1010));
  expect(seen()).toBe(true);
  Object.assign(props, { shownN: 1010, standing: { ...standing, n: 1010 } }); // a notable one has its sentence already
  flushSync();
  expect(document.querySelectorAll('[aria-label="Inspect record 1010"]').length).toBe(1);
  expect(current()).toBe(toldAt(1010));
});

it('goes on with what was before the part at hand, behind the line that says where that begins', () => {
  const props = show(2000, false, sentences.slice(-20), { of: 'part', n: 1905, time: 0 });
  const pick = vi.fn();
  Object.assign(props, { firstN: 1904, pick });
  flushSync();
  const rows = [...document.querySelectorAll('li')];
  const line = rows.findIndex((row) => row.querySelector('.beginning'));
  expect(rows[line - 1]).toBe(toldAt(1910));
  expect(rows[line + 1]).toBe(toldAt(1900));
  expect(rows.slice(line + 1, -1).every((row) => row.classList.contains('apart'))).toBe(true);
  expect(rows.slice(0, line).some((row) => row.classList.contains('apart'))).toBe(false);
  expect(toldAt(1900)!.textContent).toContain('before the part that is at hand');
  expect(rows.at(-1)!.textContent).toContain('The run begins here.');
  toldAt(1900)!.querySelector('button')!.click();
  expect(pick).toHaveBeenCalledWith(1900);
  props.dropped = 7;
  flushSync();
  expect(document.querySelector('ol')!.textContent).toContain('7 older notable events are no longer kept');
});
