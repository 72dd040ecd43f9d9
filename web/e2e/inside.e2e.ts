import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, until, violations, type TestClassroom } from './classroom';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

const NEEDLE = `needle-${Date.now()}`;
const topic = `inside-${Date.now() % 100000}`;
const port = (standard: number) => Number(new URL(classroom.url).port) - 7700 + standard;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  for (const value of [NEEDLE, 'second']) execFileSync('kcat', ['-b', `127.0.0.1:${port(9092)}`, '-P', '-t', topic, '-p', '0', '-K:'], { input: `k:${value}\n` });
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

const drawer = () => page.getByRole('complementary');
const field = (name: string) => drawer().getByRole('treeitem').filter({ has: page.locator('.name').getByText(name, { exact: true }) });
const headed = (name: RegExp) => drawer().getByRole('heading', { name }).waitFor();

/** The marked bytes, from the hexadecimal and from the text column. */
async function marked(): Promise<{ hex: string; text: string }> {
  const read = (column: string) => drawer().locator(`.rows .${column} .marked`).allInnerTexts();
  return { hex: (await read('hex')).join(''), text: (await read('text')).join('') };
}

/** What a ZooKeeper client reads of a znode: it connects, asks getData, and leaves. */
function readZnode(path: string): Promise<string> {
  const framed = (body: Buffer) => Buffer.concat([Buffer.from([0, 0, body.length >> 8, body.length & 255]), body]);
  const name = Buffer.from(path);
  const ask = Buffer.alloc(12);
  ask.writeInt32BE(1, 0);
  ask.writeInt32BE(4, 4);
  ask.writeInt32BE(name.length, 8);
  const hello = Buffer.alloc(44);
  hello.writeInt32BE(10_000, 12);
  hello.writeInt32BE(16, 24);
  return new Promise((resolve, reject) => {
    const socket = connect(port(2181), '127.0.0.1', () => socket.write(framed(hello)));
    let read = Buffer.alloc(0);
    let asked = false;
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
    socket.on('data', (more) => {
      read = Buffer.concat([read, more]);
      const first = read.length >= 4 ? 4 + read.readInt32BE(0) : Infinity;
      if (read.length >= first && !asked) asked = socket.write(framed(Buffer.concat([ask, name, Buffer.from([0])]))); // now there is a session
      if (read.length < first + 4 || read.length < first + 4 + read.readInt32BE(first)) return;
      const size = read.readInt32BE(first + 20); // behind length, xid, zxid and err
      resolve(read.subarray(first + 24, first + 24 + size).toString());
      socket.destroy();
    });
  });
}

describe('looking inside', () => {
  it('opens a produce request as fields and bytes that agree with what the client sent', async () => {
    const replica = page.getByRole('button', { name: new RegExp(`^Inspect replica ${topic}-0 · kafka-\\d$`) });
    await replica.first().click();
    await drawer().getByLabel('Routine records too').check();
    await drawer().locator('.records li').filter({ hasText: / receives Produce .* from a client/ }).last().getByRole('button', { name: /^Inspect record/ }).click();
    await drawer().getByText('appended 1 record', { exact: false }).waitFor();

    const value = field('Value');
    await value.waitFor();
    expect(await value.innerText()).toContain(NEEDLE);
    await value.hover();
    await expect.poll(async () => (await marked()).text.slice(1)).toBe(NEEDLE); // behind the length
    expect(Buffer.from((await marked()).hex.slice(2), 'hex').toString()).toBe(NEEDLE);

    await field('Acks').hover();
    await expect.poll(async () => (await marked()).hex).toBe('ffff');
    await drawer().getByText('Who must have the records before the broker answers.', { exact: false }).waitFor();
  });

  it('marks the field of the byte under the pointer, and goes from byte to byte by keyboard', async () => {
    const bytes = drawer().getByRole('application', { name: /^Bytes/ });
    await bytes.locator('.hex [data-at="6"]').hover();
    await expect.poll(() => drawer().locator('[role=treeitem].marked').innerText()).toContain('ApiVersion');
    await bytes.focus();
    await page.keyboard.press('Home');
    await expect.poll(() => drawer().locator('[role=treeitem].marked').innerText()).toContain('Size');
    await page.keyboard.press('ArrowDown'); // 8 bytes on
    await expect.poll(() => drawer().locator('[role=treeitem].marked').innerText()).toContain('CorrelationID');
    const first = drawer().getByRole('treeitem').first();
    await first.focus();
    await page.keyboard.press('ArrowLeft');
    await expect.poll(() => first.getAttribute('aria-expanded')).toBe('false');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowDown');
    await expect.poll(() => marked().then(({ hex }) => hex.length)).toBe(8); // Size, int32
    await shoot(page, 'inside-message');
    expect(await violations(page)).toEqual([]);
    await drawer().getByRole('button', { name: 'Wide inspector' }).click();
    await shoot(page, 'inside-message-wide');
    await drawer().getByRole('button', { name: 'Wide inspector' }).click();
  });

  it('opens a segment as record batches that reach to the log end', async () => {
    await drawer().getByRole('button', { name: 'Back', exact: true }).click();
    await headed(new RegExp(`replica ${topic}-0`));
    const end = () => drawer().locator('dt', { hasText: /^Log end$/i }).locator('xpath=following-sibling::dd[1]').innerText();
    await expect.poll(end).toBe('2');
    await drawer().getByRole('button', { name: 'Open its files' }).click();
    const frames = drawer().locator('.frames > li');
    await frames.first().waitFor();
    const offsets = (await frames.locator('.offsets').allInnerTexts()).flatMap((text) => text.split('–').map(Number));
    expect(offsets[0]).toBe(0);
    expect(Math.max(...offsets) + 1).toBe(2);
    await frames.first().getByRole('button').first().click();
    await drawer().getByRole('cell', { name: NEEDLE }).waitFor();
    await field('BaseOffset').hover();
    await expect.poll(async () => (await marked()).hex).toBe('0000000000000000');
    await shoot(page, 'inside-segment');
    expect(await violations(page)).toEqual([]);
  });

  it('asks what a znode holds now, which is what a ZooKeeper client reads', async () => {
    await page.getByRole('button', { name: 'Inspect znode /controller', exact: true }).first().click();
    await headed(/\/controller/);
    await drawer().getByRole('button', { name: /^Ask ensemble-\d now$/ }).click();
    const data = field('data');
    await data.waitFor();
    const real = await until(() => readZnode('/controller').catch(String), (read) => read.includes('brokerid'), 'the ensemble answers');
    expect((await data.locator('.value').innerText()).trim()).toBe(real);
    await data.hover();
    await expect.poll(async () => Buffer.from((await marked()).hex, 'hex').toString()).toBe(real);
    await drawer().getByText('Czxid', { exact: true }).waitFor();
    await shoot(page, 'inside-znode');
    expect(await violations(page)).toEqual([]);
  });

  it('reads the files of a node that was killed, and says that a node which is down cannot be asked', async () => {
    await page.getByRole('button', { name: 'Inspect node bookie-4', exact: true }).first().click();
    await headed(/bookie-4/);
    await fetch(new URL('api/v1/nodes/bookie-4/kill', classroom.url), { method: 'POST' });
    await page.getByRole('group', { name: /^bookie-4, killed/ }).waitFor();
    await drawer().getByRole('button', { name: 'Open its files' }).click();
    await drawer().getByText(/^(A journal or entry log|No file of it)/).waitFor();
    const answer = await fetch(new URL('api/v1/nodes/bookie-4/thing?thing=znode%20/', classroom.url));
    expect(answer.status).toBe(409);
    await fetch(new URL('api/v1/nodes/bookie-4/start', classroom.url), { method: 'POST' });
  });

  it.each([['zh', 'dark', 1280, 720], ['en', 'light', 1920, 1080], ['zh', 'light', 390, 844]] as const)('looks right in %s, %s, %i wide', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    await other.getByRole('button', { name: new RegExp(`^(Inspect replica|查看副本) ${topic}-0`) }).first().click();
    await other.getByRole('complementary').getByRole('checkbox').check();
    await other.locator('aside .records li').filter({ hasText: /Produce/ }).last().getByRole('button').nth(1).click();
    await other.getByRole('treeitem').filter({ has: other.locator('.name').getByText('Value', { exact: true }) }).hover();
    await shoot(other, `inside-${language}-${theme}-${width}`);
    expect(await violations(other)).toEqual([]);
    expect(await other.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    await other.close();
  });
});
