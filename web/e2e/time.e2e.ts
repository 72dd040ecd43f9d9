import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPage, openBrowser, openClassroom, openPage, shoot, until, violations, type TestClassroom } from './classroom';
import { allRecords, ask, atRecord, kafkaPicture, sameAsTrace, shownN } from './trace';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await ask(classroom.url, 'workloads', 'POST', JSON.stringify({ engine: 'both', messagesPerSecond: 20 }));
  await page.getByRole('listitem', { name: /log end [1-9]/ }).first().waitFor();
  await ask(classroom.url, 'nodes/bookie-4/kill', 'POST');
  await page.getByRole('group', { name: /^bookie-4, killed/ }).waitFor();
  await ask(classroom.url, 'nodes/bookie-4/start', 'POST');
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

const button = (name: string | RegExp) => page.getByRole('button', { name });
const panel = () => page.getByRole('region', { name: 'Recorded runs' });

describe('the timeline', () => {
  it('has marks that tell on focus and move the clock, by keyboard', async () => {
    const marks = page.getByRole('toolbar', { name: /^Faults, actions and changes/ });
    await marks.getByRole('button', { name: /bookie-4 crashed/ }).waitFor();
    await marks.locator('button[tabindex="0"]').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowLeft');
    const focused = await page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');
    expect(focused).toMatch(/^\d\d:\d\d:\d\d\.\d{3}, /);
    await page.locator('.tip').waitFor();
    // Of a long run, the first marks are of the part before the one at hand: the last one is where the page has been.
    const enter = async () => {
      await marks.locator('button').last().focus();
      await page.keyboard.press('Enter');
      return page.locator('[data-mode="paused"]').count();
    };
    await until(enter, (paused) => paused > 0, 'the clock stands at a mark');
    expect(await violations(page)).toEqual([]);
  });

  it('plays at every speed from a twentieth to four times', async () => {
    const speeds = await page.getByRole('combobox', { name: 'Speed' }).getByRole('option').allTextContents();
    expect(speeds).toEqual(['0.05×', '0.1×', '0.25×', '0.5×', '1×', '2×', '4×']);
    await page.getByRole('combobox', { name: 'Speed' }).selectOption('0.1');
    const before = await shownN(page);
    await button('Play on').click();
    await page.getByText('Replay at 0.1×').waitFor();
    await page.waitForFunction((n) => Number(document.querySelector<HTMLElement>('[data-mode]')?.dataset.n) > n, before);
    await button('Go live').click();
    await page.locator('[data-mode="live"]').waitFor();
  });
});

describe('recorded runs', () => {
  let link = '';

  it('are saved under a name, listed, and opened while the cluster runs on', async () => {
    await button('Runs').click();
    await panel().getByRole('textbox', { name: 'What the run is called' }).fill('A bookie dies');
    await page.keyboard.press('Enter');
    await panel().getByText('Saved as “A bookie dies”.').waitFor();
    await panel().getByRole('button', { name: 'Open A bookie dies' }).click();
    await page.getByRole('status').filter({ hasText: 'Recorded run “A bookie dies”' }).waitFor();
    await atRecord(page, 1); // where the run starts, with everything that follows in the list
    const list = page.getByRole('region', { name: 'What happened' });
    await list.getByText('The run begins here.').waitFor();
    expect(await list.locator('li.later').count()).toBeGreaterThan(20);
    await shoot(page, 'run-start-en-light');
    await button('One notable event forward').click();
    await list.locator('[aria-current]').waitFor();
    const started = await shownN(page);
    await page.getByRole('slider', { name: 'Instant shown' }).press('End');
    await until(() => shownN(page), (n) => n > started + 20, 'the end of the run');
    const records = await allRecords(classroom.url); // the saved run is the beginning of the present one
    await sameAsTrace(page, records, await shownN(page));
    await shoot(page, 'run-en-light');
    expect(await violations(page)).toEqual([]);
  });

  it('are shared as a link to an instant', async () => {
    const n = await shownN(page);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await button('Copy the link to this instant').click();
    await page.getByRole('alert').filter({ hasText: `paused at record ${n}` }).waitFor();
    link = await page.evaluate(() => navigator.clipboard.readText());
    expect(link).toContain(`at=${n}`);
    const other = await newPage(browser);
    await other.goto(link.replace('#', '?lang=en#'));
    await other.getByRole('status').filter({ hasText: 'Recorded run “A bookie dies”' }).waitFor();
    await atRecord(other, n);
    expect(await kafkaPicture(other)).toEqual(await kafkaPicture(page));
    await other.close();
  });

  it('go back to live with one click', async () => {
    await page.getByRole('status').filter({ hasText: 'Recorded run' }).getByRole('button', { name: 'Back to live' }).click();
    await page.locator('[data-mode="live"]').waitFor();
    expect(await page.getByText('Recorded run “').count()).toBe(0);
  });

  it('are downloaded as a file and opened from one', async () => {
    const waiting = page.waitForEvent('download');
    await panel().getByRole('link', { name: 'Download A bookie dies as a file' }).click();
    const download = await waiting;
    expect(download.suggestedFilename()).toBe('A-bookie-dies.twinlog.gz');
    const file = await download.path();
    expect(readFileSync(file).subarray(0, 2).toString('hex')).toBe('1f8b');
    await panel().getByTestId('run-file').setInputFiles(file);
    await page.getByRole('status').filter({ hasText: 'Recorded run “A bookie dies”' }).waitFor();
    await panel().getByText(/^from a file ·/).waitFor();
    await button('Back to live').first().click();
  });

  it('refuse a file that is none, and say so', async () => {
    await panel().getByTestId('run-file').setInputFiles({ name: 'x.twinlog.gz', mimeType: 'application/gzip', buffer: Buffer.from('nothing of the kind') });
    await page.getByRole('alert').filter({ hasText: /Opening the file failed: .*no run recorded by twinlog/ }).waitFor();
    await page.locator('[data-mode="live"]').waitFor();
  });

  it('say so when a link leads to a run that is gone', async () => {
    const name = new URLSearchParams(new URL(link).hash.slice(1)).get('run')!;
    for (const one of (await ask<{ runs: { name: string; origin: string }[] }>(classroom.url, 'runs')).runs) {
      if (one.origin !== 'recorded') await ask(classroom.url, `runs/${one.name}`, 'DELETE');
    }
    const other = await newPage(browser);
    await other.goto(link.replace('#', '?lang=en#'));
    await other.getByRole('alert').filter({ hasText: `The run that the link leads to (${name}) is not here` }).waitFor();
    expect(await violations(other)).toEqual([]);
    await other.close();
  });
});

describe('a page that sleeps', () => {
  it('fills the gap, says so, and steps exactly across it', async () => {
    const other = await newPage(browser);
    const streams: { close(): Promise<void> }[] = [];
    let asleep = false;
    await other.routeWebSocket('**/api/v1/stream', (socket) => {
      if (asleep) return void socket.close();
      const server = socket.connectToServer();
      let first = true;
      server.onMessage((frame) => {
        // What the server sends to a browser that it had to resynchronise.
        const text = String(frame);
        socket.send(first && streams.length > 1 ? text.replace('"resynchronised":0', '"resynchronised":1') : text);
        first = false;
      });
      streams.push(socket);
    });
    await other.goto(`${classroom.url}?lang=en`);
    await other.locator('[data-mode="live"]').waitFor();
    await other.waitForFunction(() => Number(document.querySelector<HTMLElement>('[data-mode]')?.dataset.n) > 0);
    asleep = true;
    await streams[0]!.close();
    await other.getByRole('alert').filter({ hasText: 'no longer hears' }).waitFor();
    const at = await shownN(other);
    const missed = at + 200;
    for (;;) {
      const { n } = await ask<{ n: number }>(classroom.url, 'cluster');
      if (n > missed + 400) break;
      await other.waitForTimeout(100);
    }
    asleep = false;
    await other.getByRole('button', { name: 'Try now' }).click({ timeout: 5000 }).catch(() => {}); // it may have tried by itself
    await other.getByText('caught up once').waitFor();
    await other.waitForFunction((n) => Number(document.querySelector<HTMLElement>('[data-mode]')?.dataset.n) > n, missed + 10);
    const records = await allRecords(classroom.url);
    const { present } = await ask<{ present: string }>(classroom.url, 'runs');
    await other.evaluate(([run, n]) => (location.hash = `run=${run}&at=${n}`), [present, missed] as const);
    await sameAsTrace(other, records, missed);
    expect(await other.getByText('Recorded run “').count()).toBe(0); // the page's own records have no hole
    for (let n = missed + 1; n < missed + 4; n++) {
      await other.getByRole('button', { name: 'One record forward' }).click();
      await sameAsTrace(other, records, n);
    }
    await other.close();
  });
});

describe('a page that is opened late', () => {
  it('says that what happened before is being fetched, how far it is, and shows it', async () => {
    // Something to tell of, and nothing that goes on: of a long run a late page has the last part only.
    for (const { id } of (await ask<{ workloads: { id: string }[] }>(classroom.url, 'workloads')).workloads) await ask(classroom.url, `workloads/${id}`, 'DELETE');
    await ask(classroom.url, 'nodes/bookie-3/kill', 'POST');
    await ask(classroom.url, 'nodes/bookie-3/start', 'POST');
    const other = await newPage(browser);
    let release = () => {};
    const held = new Promise<void>((resolve) => (release = resolve));
    let asked = 0;
    await other.route('**/api/v1/events?**', async (route) => {
      if (asked++ > 0) await held; // the first part comes, the second is waited for
      else {
        const url = new URL(route.request().url());
        url.searchParams.set('limit', '100');
        return route.continue({ url: url.href });
      }
      await route.continue();
    });
    await other.goto(`${classroom.url}?lang=en`);
    await other.getByRole('status').filter({ hasText: 'Fetching what happened before this page was opened' }).waitFor();
    const progress = other.getByRole('progressbar', { name: 'Fetching what happened before this page was opened' });
    await until(() => progress.evaluate((bar: HTMLProgressElement) => bar.value), (share) => share > 0 && share < 1, 'a part of the history has come');
    expect(await violations(other)).toEqual([]);
    await shoot(other, 'history-en-light');
    release();
    await progress.waitFor({ state: 'detached' });
    await other.getByRole('region', { name: 'What happened' }).getByRole('button', { name: /bookie-3 crashed/ }).waitFor();
    await other.close();
  });
});

describe('a page that is opened late in a long run', () => {
  it('tells what mattered before the part that it has, and goes there', async () => {
    const other = await newPage(browser);
    // What it gets of a long run under load: a part in which nothing but traffic happened.
    await other.route('**/api/v1/cluster?from=*', (route) => route.continue({ url: route.request().url().replace(/from=\d+/, 'from=999999999') }));
    await other.goto(`${classroom.url}?lang=en`);
    const list = other.getByRole('region', { name: 'What happened' });
    const killed = list.getByRole('button', { name: /bookie-3 crashed.*before the part that is at hand/ }).first();
    await killed.waitFor();
    await list.getByText(/^At hand from here: record/).waitFor();
    const marks = other.getByRole('toolbar', { name: /^Faults, actions and changes/ });
    await marks.getByRole('button', { name: /before the part that is at hand/ }).first().waitFor();
    expect(await violations(other)).toEqual([]);
    await shoot(other, 'earlier-en-light');
    await other.getByRole('button', { name: 'Story', exact: true }).click();
    const rows = other.getByRole('region', { name: 'What happened, in its order' });
    await rows.locator('.row.apart').last().waitFor();
    await shoot(other, 'earlier-story-en-light');
    await other.getByRole('button', { name: 'Picture', exact: true }).click();
    const n = Number(/\d+/.exec((await killed.locator('xpath=..').locator('.look').getAttribute('aria-label'))!)![0]);
    await killed.click();
    await other.getByRole('status').filter({ hasText: 'Recorded run' }).waitFor();
    await atRecord(other, n);
    await other.getByRole('group', { name: /^bookie-3, killed/ }).waitFor();
    await shoot(other, 'earlier-opened-en-light');
    await other.close();
  });
});

describe('recorded runs in another view', () => {
  it.each([['zh', 'dark', 1920, 1080], ['zh', 'light', 390, 844]] as const)('fit in %s, %s, at %i x %i', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    await other.getByRole('button', { name: '运行记录', exact: true }).click();
    await other.getByRole('button', { name: /^打开 / }).first().waitFor();
    await shoot(other, `runs-${language}-${theme}-${width}`);
    expect(await other.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await violations(other)).toEqual([]);
    await other.close();
  });
});
