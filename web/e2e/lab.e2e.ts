import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, violations, type TestClassroom } from './classroom';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

describe('lab 01, from the page', () => {
  it('does not pass untouched, says what it expected and observed, and passes with the solution', async () => {
    await page.getByRole('button', { name: 'Labs', exact: true }).click();
    await page.getByRole('button', { name: /^Open lab First messages/ }).click();
    const drawer = page.getByRole('complementary');
    const button = (name: string) => drawer.getByRole('button', { name, exact: true });
    await drawer.getByRole('heading', { name: /^First messages/ }).waitFor();
    if (await button('Start').isVisible()) await button('Start').click();
    else await button('Reset').click();
    await expect.poll(() => button('Check').isEnabled(), { timeout: 60_000 }).toBe(true);

    await button('Check').click();
    await drawer.getByText('not yet').first().waitFor({ timeout: 60_000 });
    await drawer.getByText('Expected').first().waitFor();
    await drawer.getByText('Observed').first().waitFor();
    await shoot(page, 'lab-not-yet');
    expect(await violations(page)).toEqual([]);

    await expect.poll(() => button('Show the solution').isEnabled(), { timeout: 60_000 }).toBe(true);
    await button('Show the solution').click();
    const tasks = await drawer.locator('.tasks li').count();
    await drawer.getByText(`${tasks} of ${tasks} tasks passed`).waitFor({ timeout: 60_000 });
    await shoot(page, 'lab-passed');
  });

  it('tells its texts in Chinese as well, without losing the place', async () => {
    await page.getByRole('button', { name: '中文' }).click();
    await page.getByRole('complementary').getByRole('heading', { name: /第一批消息/ }).waitFor();
    await shoot(page, 'lab-zh');
  });
});
