import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, stateOf, until, violations, type TestClassroom } from './classroom.js';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

const ask = (method: string, path: string, body?: object) =>
  fetch(new URL(`api/v1/${path}`, classroom.url), { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) });

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await ask('POST', 'workloads', { topic: 'compared', messagesPerSecond: 40 });
  await page.getByRole('button', { name: 'Charts', exact: true }).click();
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

const chart = (name: string) => page.getByRole('region', { name });

describe('the charts', () => {
  it('show both sides on the shared clock', async () => {
    const throughput = chart('Messages acknowledged a second');
    await throughput.getByText(/Kafka-mode [1-9]/).waitFor();
    await throughput.getByText(/Pulsar-mode [1-9]/).waitFor();
    expect(await page.getByRole('main').locator('canvas').count()).toBe(6);
  });

  it('tell publish latency as the brokers measured it', async () => {
    const latency = chart('Publish latency at the broker, ms');
    await latency.getByText(/Kafka-mode p50 0?[.\d]*[1-9]/).waitFor();
    // On a slow machine a second may pass in which nothing was published: then there is no figure.
    let figures: number[] = [];
    await expect.poll(async () => (figures = (await latency.locator('b').allTextContents()).map((figure) => Number(figure.replaceAll(',', '')))).filter((figure) => !Number.isNaN(figure)).length).toBe(4);
    expect(figures[1]!, 'p99 of Kafka-mode is not below its p50').toBeGreaterThanOrEqual(figures[0]!);
    expect(figures[3]!, 'p99 of Pulsar-mode is not below its p50').toBeGreaterThanOrEqual(figures[2]!);
  });

  it('count what each broker leads or owns, all together every partition and bundle', async () => {
    const told = async () => {
      const { kafka, pulsar } = await stateOf(classroom.url);
      const partitions = Object.values(kafka.topics).reduce((sum, { partitions: all }) => sum + Object.keys(all).length, 0);
      return [partitions, Object.values(pulsar.bundles).filter(({ owner }) => owner !== '').length];
    };
    const counts = async () => {
      const figures = (await chart('Partitions led and bundles owned by each broker').locator('b').allTextContents()).map(Number);
      return [figures.slice(0, 3), figures.slice(3)].map((all) => all.reduce((sum, one) => sum + one, 0));
    };
    // Bundles come as topics are looked up: both are asked again.
    await until(async () => [await counts(), await told()], ([shown, there]) => String(shown) === String(there), 'the chart counts what there is');
  });
});

describe('the same fault on both sides', () => {
  const side = (name: string) => page.getByRole('region', { name: 'What a fault led to, side by side' }).getByRole('article', { name });

  it('is told step by step, with the time until clients were served again', async () => {
    await page.getByText('Kill, stop or pause a node on either side').waitFor();
    const [leader, owner] = await until(async () => [await leaderOf(0), await ownerOf('compared-partition-0')] as const, ([leads, owns]) => leads > 0 && owns !== '', 'somebody leads and serves it');
    await Promise.all([ask('POST', `nodes/kafka-${leader}/kill`), ask('POST', `nodes/${owner}/kill`)]);
    await side('Kafka-mode').getByText(/kafka-\d now leads compared-\d/).first().waitFor();
    await side('Pulsar-mode').getByText(/serves compared-partition-\d/).first().waitFor();
    for (const name of ['Kafka-mode', 'Pulsar-mode']) {
      const after = async () => Number(/\+([\d.]+) s/.exec((await side(name).locator('dd').first().textContent()) ?? '')?.[1] ?? NaN);
      const served = await until(after, (seconds) => !Number.isNaN(seconds), `${name} serves again`);
      expect(served, `${name}: not before the session of the dead has expired`).toBeGreaterThan(1);
    }
    await shoot(page, 'charts');
    expect(await violations(page)).toEqual([]);
  });

  it('leads to the moment', async () => {
    await side('Kafka-mode').getByRole('button', { name: /now leads compared-/ }).first().click();
    await page.getByText('Paused; the clusters run on').waitFor();
    await page.getByRole('button', { name: 'Go live' }).click();
  });

  it('of an orderly stop tells what the broker handed over before it was gone', async () => {
    // Who is alone in the ISR can hand over to nobody.
    const leader = await until(() => leaderOf(0, 2), (found) => found > 0, 'it has a leader and a follower in sync');
    await ask('POST', `nodes/kafka-${leader}/stop`);
    await expect.poll(() => side('Kafka-mode').getByRole('combobox').locator('option:checked').textContent()).toContain(`kafka-${leader} was shut down in order`);
    await side('Kafka-mode').getByText(/kafka-\d now leads compared-0/).waitFor();
    await expect.poll(() => side('Kafka-mode').locator('dd').first().textContent()).toMatch(/^\+[\d.]+ s$/);
  });
});

async function ownerOf(topic: string): Promise<string> {
  return (await stateOf(classroom.url)).pulsar.topics[`persistent://public/default/${topic}`]?.owner ?? '';
}

/** Who leads a partition with so many brokers that are in sync and run; -1 when nobody does. */
async function leaderOf(partition: number, inSync = 1): Promise<number> {
  const { kafka, nodes } = await stateOf(classroom.url);
  const { leader, isr } = kafka.topics.compared?.partitions[partition] ?? { leader: -1, isr: [] };
  return isr.filter((id) => nodes[`kafka-${id}`]?.state === 'running').length < inSync ? -1 : leader;
}
