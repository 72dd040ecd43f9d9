import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KafkaPartition, State } from '../src/trace/types';
import { openBrowser, openClassroom, openPage, shoot, until, violations, type TestClassroom } from './classroom.js';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

const TOPIC = 'ledgerless';

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await ask('POST', 'kafka/topics', { name: TOPIC, partitions: 3, replicationFactor: 3, configs: { 'segment.bytes': '2048', 'min.insync.replicas': '3' } });
  await ask('POST', 'workloads', { engine: 'kafka', topic: TOPIC, group: 'drawn', consumers: 2, static: true, messagesPerSecond: 30, messageBytes: 120 });
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(new URL(`api/v1/${path}`, classroom.url), { method, ...(body ? { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } } : {}) });
  if (!answer.ok) throw new Error(`${method} ${path}: ${await answer.text()}`);
  return (await answer.json()) as T;
}

const cluster = async () => (await ask<{ state: State }>('GET', 'cluster')).state;
const partitionOf = async (number: number) => (await cluster()).kafka.topics[TOPIC]!.partitions[number]!;
const card = (broker: number) => page.getByRole('group', { name: new RegExp(`^kafka-${broker},`) });
const strip = (broker: number, number: number) => card(broker).locator(`[data-partition="${TOPIC}-${number}"]`);
const kafka = () => page.getByRole('region', { name: 'Kafka-mode', exact: true });

describe('logs', () => {
  it('are drawn with their rolled segments, each with the base offset that the trace gives', async () => {
    await expect.poll(async () => (await partitionOf(0)).logs[1]?.segmentCount ?? 0).toBeGreaterThan(2);
    const { segments } = (await partitionOf(0)).logs[1]!;
    expect(segments.every(({ base }, index) => index === 0 || base > segments[index - 1]!.base)).toBe(true);
    await expect.poll(async () => (await strip(1, 0).getAttribute('title')) ?? '').toContain(`segment ${segments[0]!.base} to ${segments[1]!.base}, rolled`);
    await expect.poll(() => strip(1, 0).locator('.edge, .shelf i').count()).toBeGreaterThan(0);
  });

  it('tell leader, followers and high watermark as the trace does', async () => {
    for (const number of [0, 1, 2]) {
      const { leader } = await until(() => partitionOf(number), ({ isr, leader: leads }) => isr.length === 3 && leads > 0, 'all are in sync');
      for (const broker of [1, 2, 3]) {
        const says = broker === leader ? 'leader' : 'follower, in sync';
        await card(broker).getByRole('listitem', { name: new RegExp(`^${TOPIC}-${number}: ${says}, log end [\\d,]+, high watermark [\\d,]+${broker === leader ? ', ISR 3 of 3' : ''}$`) }).waitFor();
      }
    }
  });
});

describe('a group', () => {
  it('shows its members, who is static, and who reads which partition', async () => {
    const group = async () => (await cluster()).kafka.groups['drawn'];
    await expect.poll(async () => [(await group())?.state, Object.keys((await group())?.members ?? {}).length]).toEqual(['Stable', 2]);
    const known = (await group())!;
    for (const member of Object.values(known.members)) {
      expect(member.instanceID).not.toBe('');
      const line = kafka().getByRole('listitem', { name: new RegExp(`^${member.clientID} reads ${TOPIC}-`) }).filter({ hasText: member.instanceID });
      await line.waitFor();
      const letter = (await line.locator('[data-member]').textContent())!;
      for (const name of member.assigned) {
        const number = Number(name.slice(name.lastIndexOf('-') + 1));
        const { leader } = await partitionOf(number);
        await expect.poll(() => strip(leader, number).locator('[data-member]').allTextContents()).toContain(letter);
      }
    }
    await kafka().getByText(`assignor ${known.strategy}`).first().waitFor();
  });

  it('draws a line from a member to what it reads, by keyboard', async () => {
    const who = kafka().locator('.groups button.who').first();
    await who.focus();
    await page.locator('.kafka svg path[d^="M"][d*="Q"]').first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'All signs' }).focus();
    await expect.poll(() => page.locator('.kafka svg path[d*="Q"]').count()).toBe(0);
  });
});

describe('the reactor', () => {
  it('shows connections, queue, handlers and the purgatory, and opens', async () => {
    const row = card(1).locator('[data-reactor]');
    expect(await row.textContent()).toMatch(/\d+ connections; request queue \d+ of 500; \d of 8 handlers busy; \d+ waiting in the purgatory/);
    await row.focus();
    await page.keyboard.press('Enter');
    await card(1).getByText('followers wait for records').waitFor();
    await card(1).locator('.reactor li').filter({ hasText: /Fetch kafka-[23]/ }).first().waitFor();
    await shoot(page, 'kafka-reactor'); // stays open: the next test looks at it with axe, too
  });

  it('explains every sign', async () => {
    const button = page.getByRole('button', { name: 'All signs' });
    await button.click();
    const legend = page.getByRole('region', { name: 'Signs of the Kafka-mode picture' });
    await legend.getByText('Purgatory: requests that wait.').waitFor();
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'kafka-legend');
    await page.keyboard.press('Escape');
    await legend.waitFor({ state: 'hidden' });
    await card(1).locator('[data-reactor]').click();
  });
});

describe('a follower that hears nothing', () => {
  it('lets acks=all wait in the purgatory, leaves the ISR, and then producers are refused', async () => {
    const whole = ({ leader: leads, isr }: KafkaPartition) => leads > 0 && isr.length === 3;
    const { leader } = await until(() => partitionOf(0), whole, 'all are in sync');
    const follower = (leader % 3) + 1;
    const out = async () => !(await partitionOf(0)).isr.includes(follower);
    const waits = card(leader).getByText(new RegExp(`^Produce waits: ${TOPIC}-\\d to [\\d,]+, [\\d.]+ s`));
    // Requests wait for as long as the follower may lag, some seconds. A page that is looked at later than that sees the next ones.
    for (let seen = false; !seen; ) {
      await ask('POST', `nodes/kafka-${follower}/pause`);
      const [told] = await until(async () => [(await waits.count()) > 0, await out()] as const, ([first, second]) => first || second, 'a produce request waits, or the follower is out');
      if ((seen = told)) break;
      await ask('POST', `nodes/kafka-${follower}/resume`);
      await until(() => partitionOf(0), whole, 'all are in sync again');
    }
    await shoot(page, 'kafka-waits');
    await expect.poll(out).toBe(true);
    await card(follower).getByRole('listitem', { name: new RegExp(`^${TOPIC}-0: follower, out of sync|^${TOPIC}-0: offline`) }).waitFor();
    await kafka().getByText(/\d+ writes? refused/).waitFor();
    await page.getByText(new RegExp(`refuses a record for ${TOPIC}-\\d: 2 in sync, min\\.insync\\.replicas is 3`)).first().waitFor();
    const { refused } = await partitionOf(0);
    expect(Object.keys(refused).length, 'the trace tells of it').toBeGreaterThan(0);
    await shoot(page, 'kafka-refused');
    await ask('POST', `nodes/kafka-${follower}/resume`);
    await card(follower).getByRole('listitem', { name: new RegExp(`^${TOPIC}-0: (follower, in sync|leader)`) }).waitFor();
  });

  it('begins a new leader epoch when the leader dies, and marks where', async () => {
    const { leader, leaderEpoch } = await partitionOf(0);
    await ask('POST', `nodes/kafka-${leader}/kill`);
    await card(leader).getByRole('listitem', { name: new RegExp(`^${TOPIC}-0: offline`) }).waitFor();
    // The controller decides, and a little later the new leader begins the epoch in its log.
    const newest = (state: KafkaPartition) => state.logs[state.leader]?.epochs.at(-1)?.epoch ?? -1;
    await expect.poll(async () => newest(await partitionOf(0))).toBeGreaterThan(leaderEpoch);
    const marked = async () => {
      const now = await partitionOf(0);
      const last = now.logs[now.leader]?.epochs.at(-1);
      const title = (await strip(Math.max(now.leader, 1), 0).getAttribute('title')) ?? '';
      return last !== undefined && title.includes(`leader epoch ${last.epoch} begins at offset ${last.start.toLocaleString('en')}`);
    };
    await expect.poll(marked).toBe(true);
    await ask('POST', `nodes/kafka-${leader}/start`);
    // Some seconds later it leads again, as it is preferred to.
    await card(leader).getByRole('listitem', { name: new RegExp(`^${TOPIC}-0: (follower, in sync|leader)`) }).waitFor();
  });
});

describe('many partitions, other screens, words', () => {
  it('stay within the page at 1280x720 with twelve more partitions', async () => {
    await ask('POST', 'kafka/topics', { name: 'wide', partitions: 12, replicationFactor: 2, configs: {} });
    await card(1).getByText('wide', { exact: true }).waitFor();
    expect(await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight])).toEqual([1280, 720]);
    await page.waitForTimeout(500); // for the picture
    await shoot(page, 'kafka-many');
    const found = await violations(page);
    await ask('DELETE', 'kafka/topics/wide');
    await card(1).getByText('wide', { exact: true }).waitFor({ state: 'detached' });
    expect(found).toEqual([]);
  });

  it.each([['zh', 'dark', 1920, 1080], ['en', 'light', 390, 844]] as const)('look right in %s, %s, %i x %i', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    await other.locator('[data-partition]').first().waitFor();
    await other.waitForTimeout(1200); // for the picture: messages are on their way
    await shoot(other, `kafka-${language}-${theme}-${width}`);
    expect(await other.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    expect(await violations(other)).toEqual([]);
    await other.close();
  });

  it('tell the same as tables and sentences', async () => {
    await page.getByRole('button', { name: 'Table', exact: true }).click();
    await page.getByRole('region', { name: 'Requests in the brokers' }).getByRole('row', { name: /^kafka-1 \d+ \d+ of 500 \d of 8/ }).waitFor();
    await page.getByRole('region', { name: 'Members of groups' }).getByRole('row', { name: /drawn/ }).first().waitFor();
    await page.getByRole('region', { name: 'Segments and leader epochs' }).getByRole('row', { name: new RegExp(`^${TOPIC}-0 kafka-1`) }).waitFor();
    await page.getByText(new RegExp(`^In group drawn, .* reads ${TOPIC}-`)).first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Picture', exact: true }).click();
  });
});
