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
  await page.getByRole('banner').getByRole('button', { name: 'Start demo workload' }).click();
  await page.getByRole('listitem', { name: /log end [1-9]/ }).first().waitFor();
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

const drawer = () => page.getByRole('complementary');
const inspect = (name: RegExp) => page.getByRole('button', { name });
const headed = (name: RegExp) => drawer().getByRole('heading', { name }).waitFor();

describe('links', () => {
  it('are cut and healed from the page, by keyboard, and told on the timeline and in the story', async () => {
    await inspect(/^Inspect node bookie-2$/).click();
    await drawer().getByRole('button', { name: 'Disturb its links' }).click();
    await drawer().getByRole('combobox', { name: /^To/ }).selectOption('pulsar-1');
    await drawer().getByText('iptables -A OUTPUT -d pulsar-1 -j DROP').waitFor();
    expect(await violations(page)).toEqual([]);
    const cut = drawer().getByRole('button', { name: 'Cut the link' });
    await cut.focus();
    await page.keyboard.press('Enter');
    await drawer().getByText('bookie-2 ↔ pulsar-1: cut').waitFor();
    await page.getByText('The link from bookie-2 to pulsar-1 is cut.', { exact: true }).waitFor();
    await shoot(page, 'links');
    expect(await violations(page)).toEqual([]);
    await drawer().getByRole('button', { name: 'Heal the link from bookie-2 to pulsar-1' }).click();
    await drawer().getByText('All links are healthy.').waitFor();
  });

  it('are delayed in one direction', async () => {
    await drawer().getByRole('combobox', { name: /^From/ }).selectOption('kafka-1');
    await drawer().getByRole('combobox', { name: /^To/ }).selectOption('kafka-3');
    await drawer().getByLabel('In both directions').uncheck();
    await drawer().getByLabel('delay', { exact: true }).check();
    await drawer().getByLabel('Delay, ms').fill('40');
    await drawer().getByRole('button', { name: 'Delay the link' }).click();
    await drawer().getByText('kafka-1 → kafka-3: delayed by 40 ms').waitFor();
    await drawer().getByRole('button', { name: /^Heal the link/ }).click();
    await drawer().getByText('All links are healthy.').waitFor();
  });
});

describe('the invariants', () => {
  it('hold after a leader is killed, each with its promise', async () => {
    await page.getByRole('banner').getByRole('button', { name: /^Invariants/ }).click();
    await page.getByRole('button', { name: 'Actions for kafka-2' }).click();
    await page.getByRole('menuitem', { name: /^Kill/ }).click();
    await page.getByRole('group', { name: /^kafka-2, killed/ }).waitFor();
    await page.getByText(/now leads demo-/).first().waitFor();
    const light = (promise: string) => drawer().getByRole('listitem').filter({ hasText: promise });
    for (const promise of ['A record acknowledged with acks=all', 'The high watermark of a leader', 'There is one controller', 'There is one owner']) {
      await light(promise).getByText('holds', { exact: true }).waitFor();
    }
    expect(await drawer().getByText('broken', { exact: true }).count()).toBe(0);
    await shoot(page, 'invariants');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Actions for kafka-2' }).click();
    await page.getByRole('menuitem', { name: /^Start/ }).click();
    await page.getByRole('group', { name: /^kafka-2, running/ }).waitFor();
  });
});

describe('the inspector', () => {
  it('opens on a replica by keyboard, goes on to its group and a broker, and back', async () => {
    await inspect(/^Inspect replica demo-0 · kafka-1$/).focus();
    await page.keyboard.press('Enter');
    await headed(/replica demo-0 · kafka-1/);
    await drawer().getByText('Leader epoch', { exact: true }).waitFor();
    await drawer().getByText(/Topic demo was created/).last().waitFor();
    await drawer().getByRole('button', { name: 'kafka-2', exact: true }).first().click();
    await headed(/kafka-2/);
    await drawer().getByRole('button', { name: 'Back' }).click();
    await headed(/replica demo-0 · kafka-1/);
    expect(await violations(page)).toEqual([]);
  });

  it('opens on whatever has a name', async () => {
    for (const [name, fact] of [
      [/^Inspect node pulsar-1$/, 'Addresses'],
      [/^Inspect consumer group Group demo$/, 'Coordinator'],
      [/^Inspect topic demo-(partition-)?0$/, 'Hash'],
      [/^Inspect subscription demo/, 'Acknowledged up to'],
      [/^Inspect bundle public\/default 0x/, 'Znode'],
      [/^Inspect ledger \d+ demo/, 'Quorums'],
      [/^Inspect znode \/controller$/, 'Owner session'],
    ] as const) {
      await inspect(name).first().click();
      await drawer().getByText(fact, { exact: true }).first().waitFor();
    }
  });

  it('moves the clock to a record of the history', async () => {
    await inspect(/^Inspect node kafka-1$/).click();
    await headed(/kafka-1/);
    const oldest = drawer().getByTitle('Move the clock to this moment').last();
    await oldest.click();
    await page.getByText('Paused; the clusters run on').waitFor();
    await page.getByRole('button', { name: 'Go live' }).click();
  });

  it('shows a message in flight with its fields, once the picture is paused', async () => {
    await drawer().getByRole('button', { name: 'Everything that can be inspected' }).click();
    await drawer().getByText('Pause to choose one.').waitFor();
    await drawer().getByRole('button', { name: 'Pause the picture' }).click();
    await drawer().getByRole('button', { name: /^Inspect record/ }).first().click();
    await drawer().getByText('exchange.correlation', { exact: false }).waitFor();
    await shoot(page, 'inspector-message');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Go live' }).click();
  });

  it.each([['zh', 'dark', 1280, 720], ['en', 'light', 1920, 1080], ['zh', 'light', 390, 844]] as const)('looks right in %s, %s, %i wide', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    await other.getByRole('button', { name: /^(Inspect node|查看节点) kafka-2$/ }).click();
    await other.getByRole('complementary').locator('dl dt').first().waitFor();
    await other.waitForTimeout(800); // for the picture
    await shoot(other, `inspector-${language}-${theme}-${width}`);
    expect(await violations(other)).toEqual([]);
    expect(await other.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await other.close();
  });
});
