import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, violations, type TestClassroom } from './classroom.js';

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
    await expect.poll(async () => (figures = (await latency.locator('b').allTextContents()).map((figure) => Number(figure.replaceAll(',', '')))).filter((figure) => !Number.isNaN(figure)).length, { timeout: 30_000 }).toBe(4);
    expect(figures[1]!, 'p99 of Kafka-mode is not below its p50').toBeGreaterThanOrEqual(figures[0]!);
    expect(figures[3]!, 'p99 of Pulsar-mode is not below its p50').toBeGreaterThanOrEqual(figures[2]!);
  });

  it('count what each broker leads or owns, all together every partition and bundle', async () => {
    const { state } = (await (await ask('GET', 'cluster')).json()) as { state: { kafka: { topics: Record<string, { partitions: object }> }; pulsar: { bundles: Record<string, { owner: string }> } } };
    const partitions = Object.values(state.kafka.topics).reduce((sum, { partitions: all }) => sum + Object.keys(all).length, 0);
    const owned = Object.values(state.pulsar.bundles).filter(({ owner }) => owner !== '').length;
    const counts = async () => {
      const figures = (await chart('Partitions led and bundles owned by each broker').locator('b').allTextContents()).map(Number);
      return [figures.slice(0, 3), figures.slice(3)].map((all) => all.reduce((sum, one) => sum + one, 0));
    };
    await expect.poll(counts, { timeout: 10_000 }).toEqual([partitions, owned]);
  });
});

describe('the same fault on both sides', () => {
  const side = (name: string) => page.getByRole('region', { name: 'What a fault led to, side by side' }).getByRole('article', { name });

  it('is told step by step, with the time until clients were served again', async () => {
    await page.getByText('Kill, stop or pause a node on either side').waitFor();
    const owner = await ownerOf('compared-partition-0');
    await Promise.all([ask('POST', 'nodes/kafka-1/kill'), ask('POST', `nodes/${owner}/kill`)]);
    await side('Kafka-mode').getByText(/kafka-\d now leads compared-\d/).first().waitFor({ timeout: 20_000 });
    await side('Pulsar-mode').getByText(/serves compared-partition-\d/).first().waitFor({ timeout: 20_000 });
    for (const name of ['Kafka-mode', 'Pulsar-mode']) {
      const served = Number(/\+([\d.]+) s/.exec(await side(name).locator('dd').first().textContent() ?? '')?.[1]);
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
    const { state } = (await (await ask('GET', 'cluster')).json()) as { state: { kafka: { topics: Record<string, { partitions: Record<string, { leader: number }> }> } } };
    const { leader } = state.kafka.topics.compared!.partitions[0]!;
    await ask('POST', `nodes/kafka-${leader}/stop`);
    await expect.poll(() => side('Kafka-mode').getByRole('combobox').locator('option:checked').textContent(), { timeout: 20_000 }).toContain(`kafka-${leader} was shut down in order`);
    await side('Kafka-mode').getByText(/kafka-\d now leads compared-0/).waitFor({ timeout: 20_000 });
    expect(await side('Kafka-mode').locator('dd').first().textContent()).toMatch(/^\+[\d.]+ s$/);
  });
});

async function ownerOf(topic: string): Promise<string> {
  const { state } = (await (await ask('GET', 'cluster')).json()) as { state: { pulsar: { topics: Record<string, { owner: string }> } } };
  return state.pulsar.topics[`persistent://public/default/${topic}`]!.owner;
}
