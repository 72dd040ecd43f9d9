import { readFileSync } from 'node:fs';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, violations, type TestClassroom } from './classroom';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;
let drawer: Locator;
const button = (name: string) => drawer.getByRole('button', { name, exact: true });

/** Moves the focus to something with the Tab key alone, and presses it. */
async function press(target: Locator, key = 'Enter'): Promise<void> {
  await expect.poll(() => target.isEnabled()).toBe(true);
  for (let tabs = 0; tabs < 300; tabs += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) {
      await page.keyboard.press(key);
      return;
    }
    await page.keyboard.press('Tab');
  }
  throw new Error(`the Tab key does not lead to ${String(target)}`);
}

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  drawer = page.getByRole('complementary');
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

describe('lab 01 by keyboard alone', () => {
  it('does not pass untouched, asks for a prediction, and says what it expected and observed', async () => {
    await press(page.getByRole('button', { name: 'Labs', exact: true }));
    await press(page.getByRole('button', { name: /^Open lab 01 First messages/ }));
    await drawer.getByRole('heading', { name: /^First messages/ }).waitFor();
    await press((await button('Start').isVisible()) ? button('Start') : button('Reset'));
    await expect.poll(() => button('Check').isEnabled()).toBe(true);
    await press(button('Check'));
    await drawer.getByText('not yet').first().waitFor();
    await drawer.getByText('Expected').first().waitFor();
    await drawer.getByText('Observed').first().waitFor();
    await press(drawer.getByRole('radio').first(), 'Space');
    await shoot(page, 'lab-question');
    await press(button('Predict'));
    await drawer.getByText(/You said:/).waitFor();
    await shoot(page, 'lab-not-yet');
    expect(await violations(page)).toEqual([]);
  });

  it('plays the solution step by step, and tells what became of the prediction', async () => {
    await press(button('Show the solution'));
    await press(button('One step'));
    await drawer.getByText(/^1 of \d+ steps/).waitFor();
    await shoot(page, 'lab-solution');
    expect(await violations(page)).toEqual([]);
    await press(button('Play'));
    const tasks = await drawer.locator('.tasks > li:not(.asks)').count();
    await drawer.getByText(new RegExp(`${tasks} of ${tasks} tasks passed`)).waitFor();
    await drawer.getByText(/What happened: In all three/).waitFor();
    await shoot(page, 'lab-passed');
  });

  it('jumps to a task: what is before it has been done', async () => {
    await press(button('Reset'));
    await expect.poll(() => button('Check').isEnabled()).toBe(true);
    await press(drawer.getByRole('button', { name: 'Begin anew at this task' }).nth(1));
    await drawer.getByText(/2 of 5 tasks passed/).waitFor();
    await shoot(page, 'lab-jumped');
  });
});

describe('progress', () => {
  it('is one file, which is imported again; a changed one is refused with the entry that was changed', async () => {
    await button('All labs').click();
    const [download] = await Promise.all([page.waitForEvent('download'), drawer.getByRole('link', { name: 'Export progress' }).click()]);
    const file = readFileSync(await download.path(), 'utf8');
    const bring = (content: string) =>
      drawer.locator('input[type=file]').setInputFiles({ name: 'progress.jsonl', mimeType: 'application/x-ndjson', buffer: Buffer.from(content) });
    await bring(file);
    await drawer.getByText(/^Imported: student, 0 new of \d+ entries/).waitFor();
    await shoot(page, 'lab-progress');
    await bring(file.replace('"kind":"check"', '"kind":"start"'));
    await drawer.getByText(/entry \d+ of student was changed/).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('gives a student with a name values of her own', async () => {
    await drawer.getByLabel('Your name').fill('Ada');
    await drawer.getByLabel('Your name').press('Enter');
    await page.getByRole('button', { name: /^Open lab 01 First messages/ }).click();
    await drawer.getByText(/orders-[a-z]{4}/).first().waitFor();
    await shoot(page, 'lab-values');
  });

  it('tells its texts in Chinese as well, without losing the place', async () => {
    await page.getByRole('button', { name: '中文' }).click();
    await drawer.getByRole('heading', { name: /第一批消息/ }).waitFor();
    await shoot(page, 'lab-zh');
  });
});
