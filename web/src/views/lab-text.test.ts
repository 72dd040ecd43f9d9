// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { setLanguage } from '../i18n/language.svelte';
import LabText from './LabText.svelte';

const HTML = '<p>Write.</p><pre><code>seq 1 20 |\n  kcat -P -t orders\n</code></pre><pre><code>pip install pulsar-client\n</code></pre>';

let mounted: Record<string, unknown>;

beforeEach(() => {
  setLanguage('en');
  mounted = mount(LabText, { target: document.body, props: { html: HTML } });
  flushSync();
});

afterEach(() => {
  void unmount(mounted);
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

it('copies a block as it was written, without the line that would run it', async () => {
  const writeText = vi.fn(() => Promise.resolve());
  vi.stubGlobal('navigator', { ...navigator, clipboard: { writeText } });
  const [first, second] = document.querySelectorAll<HTMLButtonElement>('pre button');
  first!.click();
  expect(writeText).toHaveBeenLastCalledWith('seq 1 20 |\n  kcat -P -t orders');
  second!.click();
  expect(writeText).toHaveBeenLastCalledWith('pip install pulsar-client');
  expect(document.querySelector('pre')!.textContent, 'nothing is added to what is read').toBe('seq 1 20 |\n  kcat -P -t orders\n');
});

it('says where the programs of its commands come from, and nothing of what a command brings itself', () => {
  const needs = document.querySelector('.needs')!.textContent!;
  expect(needs).toContain('kcat is a package');
  expect(needs).not.toContain('pulsar');
});
