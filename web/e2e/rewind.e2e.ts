import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newPage, openBrowser, openClassroom, openPage, shoot, until, type TestClassroom } from './classroom';
import { allRecords, ask, kafkaTrace, sameAsTrace, shownN, type TraceLine } from './trace';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

interface Side {
  engine: string;
  acknowledged: number;
  failed: number;
}

const sides = async (): Promise<Side[]> => (await ask<{ workloads: { sides: Side[] }[] }>(classroom.url, 'workloads')).workloads.flatMap((one) => one.sides);
const acknowledged = async (engine: string) => (await sides()).filter((side) => side.engine === engine).reduce((sum, side) => sum + side.acknowledged, 0);

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await ask(classroom.url, 'workloads', 'POST', JSON.stringify({ engine: 'both', keys: 24, messagesPerSecond: 40 }));
  await until(async () => (await acknowledged('kafka')) > 50 && (await acknowledged('pulsar')) > 50, Boolean, 'both sides acknowledge');
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

describe('rewinding a running cluster', () => {
  let records: TraceLine[] = [];
  let killed: TraceLine;
  let elected: TraceLine;
  let atStart: Side[] = [];

  it('loses its controller under load, and goes on', async () => {
    const { state } = await ask<{ state: { kafka: { controller: { broker: number } } } }>(classroom.url, 'cluster');
    const victim = `kafka-${state.kafka.controller.broker}`;
    await ask(classroom.url, `nodes/${victim}/kill`, 'POST');
    await until(async () => {
      records = await allRecords(classroom.url);
      const at = records.findLastIndex(({ kind, node }) => kind === 'node.stopped' && node === victim);
      const after = records.slice(at);
      const found = after.findIndex(({ kind }) => kind === 'kafka.controllerElected');
      if (at < 0 || found < 0) return false;
      killed = records[at]!;
      elected = after[found]!;
      // Its partitions have leaders again, and producers have found them.
      const led = after.slice(found).filter(({ kind, data }) => kind === 'kafka.replicaRoleChanged' && data.role === 'leader');
      return led.length > 0 && after.slice(found).some(({ kind }) => kind === 'kafka.acknowledged');
    }, Boolean, 'another broker becomes controller');
    atStart = await sides();
    expect(elected.node).not.toBe(victim);
  });

  it('goes back to the instant before, and shows it as it was', async () => {
    await page.getByRole('button', { name: 'Pause the picture' }).click();
    const { present } = await ask<{ present: string }>(classroom.url, 'runs');
    await page.evaluate(([run, n]) => (location.hash = `run=${run}&at=${n}`), [present, killed.n] as const);
    await sameAsTrace(page, records, killed.n);
    await page.getByRole('button', { name: 'One record back' }).click();
    await sameAsTrace(page, records, killed.n - 1);
    expect(kafkaTrace(records, killed.n - 1).brokers[killed.node]).toBe('running, controller');
    await shoot(page, 'rewind-before');
  });

  it('steps record by record, and at each the picture equals what the trace gives', async () => {
    const forward = page.getByRole('button', { name: 'One record forward' });
    for (let n = killed.n; n < killed.n + 10; n++) {
      await forward.click();
      await sameAsTrace(page, records, n);
    }
    const back = page.getByRole('button', { name: 'One record back' });
    for (let n = killed.n + 8; n > killed.n + 5; n--) {
      await back.click();
      await sameAsTrace(page, records, n);
    }
  });

  it('steps by notable event to the new controller, and at each the picture equals what the trace gives', async () => {
    const forward = page.getByRole('button', { name: 'One notable event forward' });
    let steps = 0;
    for (let last = await shownN(page); last < elected.n; steps++) {
      await forward.click();
      await page.waitForFunction((before) => Number(document.querySelector<HTMLElement>('[data-mode]')?.dataset.n) > before, last);
      last = await shownN(page);
      await sameAsTrace(page, records, last);
    }
    expect(await shownN(page)).toBe(elected.n);
    expect(steps).toBeGreaterThan(2);
    expect(kafkaTrace(records, elected.n).brokers[elected.node]).toBe('running, controller');
    await shoot(page, 'rewind-elected');
  });

  it('steps back by cause from the new controller to the kill, as the trace names them', async () => {
    const byName = new Map(records.map((record) => [`${record.node}/${record.seq}`, record]));
    const back = page.getByRole('button', { name: 'To what led to this record' });
    const kinds: string[] = [];
    for (let at = elected; at.n !== killed.n; ) {
      const cause = at.cause && byName.get(`${at.cause.node}/${at.cause.seq}`);
      expect(cause, `what led to record ${at.n}, ${at.kind} of ${at.node}`).toBeDefined();
      await back.click();
      await sameAsTrace(page, records, cause!.n);
      kinds.push(cause!.kind);
      at = cause!;
    }
    expect(kinds).toContain('ensemble.watchFired');
    expect(kinds).toContain('ensemble.sessionEnded');
    await page.getByRole('button', { name: 'To what this record led to' }).click();
    await page.waitForFunction((n) => Number(document.querySelector<HTMLElement>('[data-mode]')?.dataset.n) > n, killed.n);
  });

  it('never stopped the cluster', async () => {
    const before = { kafka: atStart.find(({ engine }) => engine === 'kafka')!, pulsar: atStart.find(({ engine }) => engine === 'pulsar')! };
    expect(await page.getByRole('group', { name: 'Timeline' }).getAttribute('data-mode')).toBe('paused');
    for (const engine of ['kafka', 'pulsar'] as const) {
      await until(async () => (await acknowledged(engine)) > before[engine].acknowledged, Boolean, `${engine} acknowledges more`);
    }
    const now = await sides();
    console.log('while the picture stood: acknowledged', Object.fromEntries(now.map((side) => [side.engine, side.acknowledged - before[side.engine as 'kafka'].acknowledged])));
    // Whatever the kill cost was over when the rewinding began; the rewinding cost nothing.
    for (const side of now) expect(side.failed, side.engine).toBe(before[side.engine as 'kafka'].failed);
  });

  it('agrees with another page at the same record', async () => {
    const { present } = await ask<{ present: string }>(classroom.url, 'runs');
    const other = await newPage(browser);
    await other.goto(`${classroom.url}?lang=en#run=${present}&at=${elected.n}`);
    await sameAsTrace(other, records, elected.n);
    await page.evaluate(([run, n]) => (location.hash = `run=${run}&at=${n}`), [present, elected.n] as const);
    await sameAsTrace(page, records, elected.n);
    const told = (one: Page) => one.locator('main').innerText();
    expect(await told(other)).toBe(await told(page));
    await other.close();
    await page.getByRole('button', { name: 'Go live' }).click();
    await page.locator('[data-mode="live"]').waitFor();
  });
});
