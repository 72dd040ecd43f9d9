import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, until, violations, type TestClassroom } from './classroom';
import { ask, atRecord } from './trace';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await ask(classroom.url, 'workloads', 'POST', JSON.stringify({ engine: 'both', messagesPerSecond: 20 }));
  await page.getByRole('listitem', { name: /log end [1-9]/ }).first().waitFor();
  const { state } = await ask<{ state: { kafka: { controller: { broker: number } } } }>(classroom.url, 'cluster');
  await ask(classroom.url, `nodes/kafka-${state.kafka.controller.broker}/kill`, 'POST');
  await page.getByRole('button', { name: 'Story', exact: true }).click();
  await elected().waitFor();
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

/** A row that is scrolled half-way behind the lanes' names is no small target: it is read where it stands whole. */
async function toWholeRows(shown: Page): Promise<void> {
  const frame = shown.locator('.sequence .scroll');
  const scrolled = () =>
    frame.evaluate(async (element) => {
      element.scrollTo(0, 0);
      // The view brings the row of the instant shown into sight once it is drawn.
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      return element.scrollTop;
    });
  await until(scrolled, (top) => top === 0, 'the list stands at its beginning');
}

const list = () => page.getByRole('region', { name: 'What happened, in its order' });
const elected = () => list().getByRole('button', { name: /won the race for \/controller and is controller of epoch ([2-9]|\d\d+)/ }).last();

describe('the story as a sequence', () => {
  it('has a lane a node and reads as a list of sentences', async () => {
    const items = list().getByRole('listitem');
    expect(await items.count()).toBeGreaterThan(10);
    await list().getByRole('button', { name: /crashed: no flush, no goodbye/ }).last().waitFor();
    await list().getByRole('button', { name: /sends .* multi \/controller/ }).first().waitFor();
    await page.getByRole('button', { name: 'Pause the picture' }).click(); // new rows would move those that are looked at
    await toWholeRows(page);
    expect(await violations(page)).toEqual([]);
    const size = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
    expect(size).toEqual([1280, 720]);
    await shoot(page, 'story-en-light');
  });

  it('moves the clock to what is picked and lights up its causes and effects', async () => {
    await elected().focus();
    await page.keyboard.press('Enter');
    const row = list().locator('.row[data-lit="chosen"]');
    await row.waitFor();
    await atRecord(page, Number(await row.getAttribute('data-n')));
    const causes = await list().locator('.row[data-lit="cause"] > button').allTextContents();
    expect(causes.some((text) => /crashed/.test(text)), causes.join('\n')).toBe(true);
    expect(causes.some((text) => /its watch fired/.test(text))).toBe(true);
    expect(await list().locator('.row[data-lit="effect"] > button').count()).toBeGreaterThan(0);
    await shoot(page, 'story-picked');
    await toWholeRows(page);
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('ArrowUp');
    await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe('BUTTON');
  });

  it('lights up in the picture what the picked event is about', async () => {
    const winner = /(kafka-\d)/.exec((await list().locator('.row[data-lit="chosen"] > button').textContent())!)![1]!;
    await page.getByRole('button', { name: 'See it in the picture' }).click();
    await page.locator(`[data-node="${winner}"][data-lit]`).waitFor();
    await page.locator('[data-place="znode//controller"][data-lit]').waitFor();
    await shoot(page, 'story-lit');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Go live' }).click();
    await page.locator('[data-mode="live"]').waitFor();
    await page.locator('[data-lit]').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Story', exact: true }).click();
  });

  it('is filtered by kind, node and topic, by keyboard', async () => {
    const kinds = page.getByRole('group', { name: 'Kinds' });
    await kinds.getByRole('button', { name: 'elections' }).focus();
    await page.keyboard.press('Space');
    await list().getByRole('button', { name: /now leads/ }).first().waitFor({ state: 'detached' });
    await elected().waitFor();
    await page.keyboard.press('Space');
    await page.getByRole('group', { name: 'Topics' }).getByRole('button', { name: 'demo', exact: true }).click();
    await list().getByRole('button', { name: /demo-\d/ }).first().waitFor();
    await page.getByRole('group', { name: 'Topics' }).getByRole('button', { name: 'demo', exact: true }).click();
    await page.getByRole('group', { name: 'Nodes' }).getByRole('button', { name: 'bookie-4' }).click();
    await elected().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Everything' }).click();
    await elected().waitFor();
  });

  it('tells who asks for votes and who votes for whom, of an election that is over', async () => {
    await ask(classroom.url, 'situations/split-vote', 'POST');
    const told = (sentence: RegExp) => list().getByRole('button', { name: sentence }).last().waitFor();
    await told(/ensemble-\d would vote for ensemble-\d in term \d+\./);
    await told(/ensemble-\d begins term ([3-9]|\d\d+) and votes for itself\./);
    await told(/ensemble-\d votes for ensemble-\d in term ([3-9]|\d\d+)\./);
    await told(/ensemble-\d leads the ensemble in term ([3-9]|\d\d+)\./);
    await expect.poll(async () => (await ask<{ run: { state: string } | null }>(classroom.url, 'situations')).run?.state).toBe('done');
  });

  it('goes back to what happened before', async () => {
    const earlier = list().getByRole('button', { name: /earlier events?$/ });
    await earlier.click();
    await page.getByRole('button', { name: 'To the instant shown' }).click();
    await elected().waitFor();
  });

  it.each([['zh', 'dark', 1920, 1080], ['zh', 'light', 1280, 720], ['en', 'dark', 1280, 720], ['en', 'light', 390, 844]] as const)('fits in %s, %s, at %i x %i', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    // A page that comes late to a long run has its last part only, in which nothing but traffic may have happened.
    await ask(classroom.url, 'nodes/bookie-4/pause', 'POST');
    await ask(classroom.url, 'nodes/bookie-4/resume', 'POST');
    await other.getByRole('button', { name: language === 'en' ? 'Story' : '过程', exact: true }).click();
    await other.locator('.row').first().waitFor();
    await shoot(other, `story-${language}-${theme}-${width}`);
    expect(await other.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    if (width > 760) expect(await other.evaluate(() => document.documentElement.scrollHeight)).toBe(height);
    await toWholeRows(other);
    expect(await violations(other)).toEqual([]);
    await other.close();
  });
});
