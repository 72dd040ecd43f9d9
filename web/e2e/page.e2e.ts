import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPage, openBrowser, openClassroom, openPage, shoot, until, violations, type TestClassroom } from './classroom';

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

const controller = () => page.getByRole('group', { name: /^kafka-\d+,.*controller/i });

/** The broker that the page calls controller. */
async function controllerName(): Promise<string> {
  return (await controller().getAttribute('data-node')) ?? '';
}

describe('the classroom as the page shows it', () => {
  it('names every node, the leader of the ensemble and the controller', async () => {
    for (const node of ['ensemble-1', 'ensemble-2', 'ensemble-3', 'kafka-1', 'kafka-2', 'kafka-3', 'pulsar-1', 'pulsar-2', 'bookie-1', 'bookie-4']) {
      await page.getByRole('group', { name: new RegExp(`^${node}, running`) }).waitFor();
    }
    await page.getByRole('group', { name: /^ensemble-\d, running, leader/ }).waitFor();
    await controller().waitFor();
    const holder = await controllerName();
    await page.getByRole('group', { name: `/controller is held by ${holder}` }).waitFor();
  });

  it('fits the screen without scrolling the page', async () => {
    for (const [width, height] of [[1280, 720], [1920, 1080]] as const) {
      await page.setViewportSize({ width, height });
      const size = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]);
      expect(size).toEqual([width, height]);
    }
    await page.setViewportSize({ width: 1280, height: 720 });
  });
});

describe('the demo workload', () => {
  it('makes messages move on both sides', async () => {
    await page.getByRole('banner').getByRole('button', { name: 'Start demo workload' }).click();
    const strip = page.getByRole('group', { name: /^kafka-1,/ }).getByRole('listitem', { name: /log end [1-9]/ });
    await strip.first().waitFor();
    await page.getByText('Group demo', { exact: true }).waitFor();
    await page.getByRole('group', { name: /Hash space of public\/default/ }).waitFor();
    await page.getByText(/^Ledger \d+ of demo.*: open/).first().waitFor({ state: 'attached' });
    await page.getByRole('status').filter({ hasText: /Messages in flight:.*produce/ }).waitFor({ state: 'attached' });
    const acknowledged = async () => (await page.getByText(/^Acknowledged/).textContent()) ?? '';
    await until(acknowledged, (text) => /Kafka-mode [1-9].*Pulsar-mode [1-9]/.test(text), 'both sides acknowledge messages');
  });

  it.each([['en', 'light'], ['zh', 'light'], ['en', 'dark'], ['zh', 'dark']] as const)('looks right in %s, %s', async (language, theme) => {
    const other = await openPage(browser, classroom.url, { language, theme });
    await other.waitForTimeout(1500); // for the picture: messages are on their way
    await shoot(other, `workload-${language}-${theme}`);
    expect(await violations(other)).toEqual([]);
    await other.close();
  });
});

describe('time', () => {
  it('stands still while the clusters go on, steps back, and becomes live again', async () => {
    await page.getByRole('button', { name: 'Pause the picture' }).click();
    await page.getByText('Paused; the clusters run on').waitFor();
    const ends = async () => page.getByRole('group', { name: /^kafka-1,/ }).getByRole('listitem', { name: /log end/ }).evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    const paused = await until(ends, (seen) => seen.length > 0, 'strips are there');
    await page.waitForTimeout(600); // long enough for the workload to write more
    expect(await ends()).toEqual(paused);
    await page.getByRole('button', { name: 'One notable event back' }).click();
    await page.getByRole('button', { name: 'One record forward' }).click();
    await page.getByRole('button', { name: 'Go live' }).click();
    await until(ends, (seen) => JSON.stringify(seen) !== JSON.stringify(paused), 'the picture moves on');
  });

  it('goes back to the beginning of what the page knows', async () => {
    const written = async () => {
      const labels = await page.getByRole('listitem', { name: /log end/ }).evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? ''));
      return labels.reduce((sum, label) => sum + Number(/log end ([\d,]+)/.exec(label)![1]!.replaceAll(',', '')), 0);
    };
    const now = await written();
    const slider = page.getByRole('slider', { name: 'Instant shown' });
    await slider.focus();
    await page.keyboard.press('Home');
    await page.getByText('Paused; the clusters run on').waitFor();
    await until(written, (sum) => sum < now, 'there was an instant with less in the logs');
    await page.getByRole('button', { name: 'Go live' }).click();
    await until(written, (sum) => sum > now, 'all that was written is there again');
  });
});

describe('killing the controller', () => {
  it('shows its death, names the new controller, and tells the story', async () => {
    const old = await controllerName();
    await page.getByRole('button', { name: `Actions for ${old}` }).click();
    await shoot(page, 'menu');
    await page.getByRole('menuitem', { name: /^Kill/ }).click();
    await page.getByRole('group', { name: new RegExp(`^${old}, killed`) }).waitFor();
    const name = await until(controllerName, (seen) => seen !== '' && seen !== old, 'another broker becomes controller');
    await page.getByRole('group', { name: `/controller is held by ${name}` }).waitFor();
    await page.getByText(`${old} crashed: no flush, no goodbye.`).waitFor();
    await page.getByText(new RegExp(`^${name} won the race for /controller`)).first().waitFor();
    await page.waitForTimeout(800); // for the picture
    await shoot(page, 'controller-killed');
    expect(await violations(page)).toEqual([]);

    await page.getByRole('button', { name: `Actions for ${old}` }).click();
    await page.getByRole('menuitem', { name: /^Start/ }).click();
    await page.getByRole('group', { name: new RegExp(`^${old}, running`) }).waitFor();
    expect(await controllerName()).not.toBe(old);
  });

  it('can be done by keyboard alone', async () => {
    const menu = page.getByRole('button', { name: 'Actions for bookie-2' });
    const focused = () => page.evaluate(() => document.activeElement?.textContent.trim());
    await menu.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: /^Kill/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await expect.poll(focused).toMatch(/Stop/);
    await page.keyboard.press('Escape');
    await expect.poll(() => menu.evaluate((button) => button === document.activeElement)).toBe(true);
    await page.keyboard.press('Enter');
    await expect.poll(focused).toMatch(/^Kill/);
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: /^bookie-2, killed/ }).waitFor();
    await menu.focus();
    await page.keyboard.press('Enter');
    await expect.poll(focused).toMatch(/^Start/);
    await page.keyboard.press('Enter');
    await page.getByRole('group', { name: /^bookie-2, running/ }).waitFor();
  });
});

describe('a stream that breaks off', () => {
  it('is told, and taken up again without loading anew', async () => {
    const other = await newPage(browser);
    let broken = false;
    const streams: { close(): Promise<void> }[] = [];
    await other.routeWebSocket('**/api/v1/stream', (socket) => {
      if (broken) return void socket.close();
      socket.connectToServer();
      streams.push(socket);
    });
    await other.goto(`${classroom.url}?lang=en`);
    await other.getByRole('group', { name: /^kafka-1,/ }).waitFor();
    broken = true;
    await Promise.all(streams.map((socket) => socket.close()));
    await other.getByRole('alert').filter({ hasText: 'The page no longer hears from twinlog' }).waitFor();
    await shoot(other, 'connection-lost');
    expect(await violations(other)).toEqual([]);
    await other.getByRole('button', { name: 'Try now' }).click(); // in vain
    broken = false; // from here on the page's own next try succeeds
    await other.getByRole('alert').waitFor({ state: 'detached' });
    await other.getByRole('status').filter({ hasText: 'Connected' }).waitFor();
    await other.close();
  });
});

describe('the same scene as tables and sentences, and on a phone', () => {
  it('tells in words who is controller', async () => {
    await page.getByRole('button', { name: 'Table', exact: true }).click();
    await page.getByRole('region', { name: 'Nodes' }).getByRole('row', { name: /kafka-\d Kafka-mode broker|kafka-\d controller/ }).first().waitFor();
    await page.getByText(/^kafka-\d is the Kafka-mode controller\.$/).waitFor();
    await shoot(page, 'table');
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Picture', exact: true }).click();
  });

  it('switches the language without loading anew', async () => {
    await page.evaluate(() => Object.assign(globalThis, { untouched: true }));
    await page.getByRole('button', { name: '中文' }).click();
    await page.getByRole('heading', { name: '协调集群' }).waitFor();
    expect(await page.evaluate(() => [document.documentElement.lang, (globalThis as { untouched?: boolean }).untouched])).toEqual(['zh-Hans', true]);
    await page.getByRole('button', { name: 'English' }).click();
    await page.getByRole('heading', { name: 'Ensemble' }).waitFor();
  });

  it('has no sideways scrolling on a phone', async () => {
    const phone = await openPage(browser, classroom.url, { width: 390, height: 844 });
    await phone.waitForTimeout(800); // for the picture
    await shoot(phone, 'phone');
    expect(await phone.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    expect(await violations(phone)).toEqual([]);
    await phone.close();
  });

  it('stops the workload', async () => {
    await page.getByRole('button', { name: 'Stop demo workload' }).click();
    await page.getByRole('banner').getByRole('button', { name: 'Start demo workload' }).waitFor();
  });
});
