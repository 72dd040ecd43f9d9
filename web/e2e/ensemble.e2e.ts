import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, stateOf, until, violations, type TestClassroom } from './classroom';
import { ZooKeeperClient } from './zookeeper';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;
let watcher: ZooKeeperClient;
let writer: ZooKeeperClient;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  const { nodes } = await told();
  watcher = await ZooKeeperClient.open(nodes['ensemble-1']!.addresses.zookeeper!, 4000);
  writer = await ZooKeeperClient.open(nodes['ensemble-2']!.addresses.zookeeper!, 20_000);
});

afterAll(async () => {
  watcher?.vanish();
  writer?.vanish();
  await browser?.close();
  await classroom?.end();
});

const told = () => stateOf(classroom.url);

const row = (name: RegExp) => page.getByRole('treeitem', { name });

/** Commit index and log end of each server, as the marks on its log say. */
async function shownLogs(): Promise<string[]> {
  const labels = await page.getByRole('img', { name: /log up to entry/ }).evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? ''));
  return labels.map((label) => label.replaceAll(',', '').replace(/^(\S+): log up to entry (\d+) committed up to (\d+) term (\d+).*/, '$1 $2 $3 $4'));
}

async function toldLogs(): Promise<string[]> {
  return Object.entries((await told()).ensemble.servers)
    .sort()
    .map(([name, { lastIndex, commitIndex, term }]) => `${name} ${lastIndex} ${commitIndex} ${term}`);
}

describe('the ensemble as the page draws it', () => {
  it('shows each server’s log with what is committed, as the trace tells', async () => {
    const both = async () => [await shownLogs(), await toldLogs()] as const;
    const [shown] = await until(both, ([here, there]) => JSON.stringify(here) === JSON.stringify(there), 'the logs');
    expect(shown.length).toBe(3);
  });

  it('opens the tree of znodes by keyboard, and moves in it with the arrow keys', async () => {
    await page.getByRole('button', { name: 'Znodes', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('tree', { name: 'Tree of znodes' }).waitFor();
    await page.getByRole('button', { name: '/brokers/ids', exact: true }).press('Enter');
    const chosen = () => page.getByRole('treeitem', { selected: true }).getAttribute('data-path');
    await until(chosen, (path) => path === '/brokers/ids', 'the path is chosen');
    await until(() => page.evaluate(() => document.activeElement?.getAttribute('data-path')), (path) => path === '/brokers/ids', 'it has the focus');
    await page.keyboard.press('ArrowDown');
    await until(chosen, (path) => path === '/brokers/ids/1', 'down goes to the first child');
    await page.getByText('ephemeral of kafka-1', { exact: true }).waitFor();
    await page.keyboard.press('ArrowLeft');
    await until(chosen, (path) => path === '/brokers/ids', 'left goes to the parent');
    await page.keyboard.press('ArrowLeft');
    await row(/^ids,/).and(page.locator('[aria-expanded="false"]')).waitFor();
    await page.keyboard.press('ArrowRight');
    await row(/^1, ephemeral of kafka-1/).waitFor();
  });

  it('marks each ephemeral with its owner, and lists every session with the server that it is connected to', async () => {
    for (const id of ['1', '2', '3']) await row(new RegExp(`^${id}, ephemeral of kafka-${id}$`)).waitFor();
    const sessions = page.getByRole('region', { name: 'Sessions', exact: true });
    // The picture runs a moment behind the trace, and sessions come, go and move: both are asked again.
    const unlike = async () => {
      const there = Object.values((await told()).ensemble.sessions);
      const rows = await sessions.getByRole('listitem').allTextContents();
      const missing = there.filter(({ client, server }) => client !== 'client' && !rows.some((row) => row.includes(client) && row.includes(server)));
      return [there.length - rows.length, missing];
    };
    await expect.poll(unlike).toEqual([0, []]);
  });
});

describe('a client outside of the classroom', () => {
  it('creates znodes: they appear, with their data', async () => {
    await writer.create('/lesson', 'chapter 1', false);
    await watcher.create('/lesson-seat', 'seat 7', true);
    await row(/^lesson$/).click();
    await page.getByRole('region', { name: 'Data' }).getByText('chapter 1').waitFor();
    await row(/^lesson-seat, ephemeral of client/).waitFor();
    await page.getByRole('region', { name: 'Sessions', exact: true }).getByText('a client outside').first().waitFor();
  });

  it('watches one, and is told when it changes', async () => {
    await watcher.watch('/lesson');
    await row(/^lesson, watched by client$/).waitFor();
    await page.getByText('client (data)').waitFor();
    await writer.set('/lesson', 'chapter 2');
    await page.getByRole('region', { name: 'Data' }).getByText('chapter 2').waitFor();
    const fired = page.getByRole('region', { name: 'Watches that fired last' }).getByRole('listitem');
    await until(() => fired.allTextContents(), (texts) => texts.includes(`/lesson was set → ${watcher.session}`), 'the page says who is told');
    const { fired: all } = (await told()).ensemble;
    expect(all.find(({ path }) => path === '/lesson')).toMatchObject({ event: 'dataChanged', session: watcher.session });
    await row(/^lesson$/).waitFor(); // the watch is used up
  });

  it.each([['en', 'light', 1280, 720], ['zh', 'dark', 1280, 720], ['zh', 'light', 1920, 1080]] as const)('looks right in %s, %s, %d×%d', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    await other.getByRole('button', { name: language === 'en' ? 'Znodes' : 'Znode', exact: true }).click();
    await other.getByRole('tree').waitFor();
    await other.waitForTimeout(600);
    await shoot(other, `znodes-${language}-${theme}-${width}`);
    expect(await other.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight])).toEqual([width, height]);
    if (width === 1280) expect(await violations(other)).toEqual([]); // the same elements at either size
    await other.close();
  });

  it('vanishes: its session expires and its ephemerals go with it', async () => {
    watcher.vanish();
    const ended = page.getByRole('region', { name: 'Sessions that ended last' });
    await ended.getByText(`The session of ${watcher.session} expired.`).waitFor();
    await ended.getByText('/lesson-seat').waitFor();
    await until(() => row(/^lesson-seat/).count(), (count) => count === 0, 'its ephemeral is gone');
    await row(/^lesson$/).waitFor(); // what is persistent stays
    const { ended: over } = (await told()).ensemble;
    expect(over.find(({ session }) => session === watcher.session)).toMatchObject({ expired: true, ephemerals: ['/lesson-seat'] });
  });
});

describe('a follower that dies', () => {
  it('lags behind, and catches up when it is back', async () => {
    const { leader } = (await told()).ensemble;
    const follower = ['ensemble-3', 'ensemble-2', 'ensemble-1'].find((name) => name !== leader && name !== 'ensemble-2')!;
    await page.getByRole('button', { name: `Actions for ${follower}` }).click();
    await page.getByRole('menuitem', { name: /^Kill/ }).click();
    await page.getByRole('group', { name: new RegExp(`^${follower}, killed`) }).waitFor();
    for (const chapter of [3, 4, 5]) await writer.set('/lesson', `chapter ${chapter}`);
    await page.getByRole('img', { name: new RegExp(`^${follower}: log up to entry.*, \\d+ behind`) }).waitFor();
    await shoot(page, 'ensemble-behind');
    await page.getByRole('button', { name: `Actions for ${follower}` }).click();
    await page.getByRole('menuitem', { name: /^Start/ }).click();
    await until(shownLogs, (logs) => new Set(logs.map((log) => log.split(' ')[2])).size === 1, 'all have the same commit index');
  });

  it('is told in the tables and closes with Escape', async () => {
    await page.getByRole('treeitem', { selected: true }).focus();
    await page.keyboard.press('Escape');
    await page.getByRole('region', { name: 'Kafka-mode' }).waitFor();
    await page.getByRole('button', { name: 'Table', exact: true }).click();
    for (const name of ['Logs of the ensemble', 'Sessions', 'Watches that fired last', 'Sessions that ended last']) await page.getByRole('region', { name, exact: true }).waitFor();
  });
});
