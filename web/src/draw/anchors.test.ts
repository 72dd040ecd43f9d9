// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Anchors } from './anchors';

beforeEach(() => {
  vi.stubGlobal('ResizeObserver', class { observe() {} disconnect() {} });
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockReturnValue({ left: 10, top: 10, right: 50, bottom: 30, width: 40, height: 20 } as DOMRect);
});

afterEach(() => {
  document.body.replaceChildren();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A stage with a panel that has one place, and one line. */
function watched() {
  const stage = document.createElement('div');
  stage.innerHTML = '<section><span data-place="kafka-1" data-keep></span><ul></ul></section>';
  document.body.append(stage);
  const anchors = new Anchors();
  const end = anchors.watch(stage, document.createElement('canvas'));
  anchors.measure(0);
  return { stage, anchors, end };
}

it('knows at once that a panel is gone, though nothing tells that the picture changed', async () => {
  const { stage, anchors, end } = watched();
  expect(anchors.of(['kafka-1'])).toBeDefined();
  expect(anchors.keeps.length).toBe(1);
  stage.querySelector('section')!.replaceWith(document.createElement('article'));
  await Promise.resolve(); // observers are told after the change
  anchors.measure(1);
  expect(anchors.of(['kafka-1'])).toBeUndefined();
  expect(anchors.keeps).toEqual([]);
  end();
});

it('knows soon that a line came, and measures no more often for it', async () => {
  const { stage, anchors, end } = watched();
  stage.querySelector('ul')!.innerHTML = '<li data-place="kafka-1/orders-0"></li>';
  await Promise.resolve();
  anchors.measure(100);
  expect(anchors.of(['kafka-1/orders-0'])).toBeUndefined();
  anchors.measure(500);
  expect(anchors.of(['kafka-1/orders-0'])).toBeDefined();
  end();
});
