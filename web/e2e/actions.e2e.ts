import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBrowser, openClassroom, openPage, shoot, violations, type TestClassroom } from './classroom.js';
import { PATIENCE_MS } from './patience.js';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await page.getByRole('button', { name: 'Act', exact: true }).click();
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

const panel = () => page.getByRole('complementary', { name: 'Do something to the clusters' });
const form = (name: string) => panel().getByRole('form', { name, exact: true });
const done = (name: string) => form(name).getByText(/^Done/).waitFor();

async function openGroup(name: string): Promise<void> {
  const group = panel().locator('details.group', { has: page.locator('summary', { hasText: name }) }).first();
  if ((await group.getAttribute('open')) === null) await group.locator('summary').first().click();
}

async function submit(name: string): Promise<void> {
  await form(name).locator('button[type=submit]').click();
  await done(name);
}

async function state<T>(read: (state: never) => T): Promise<T> {
  const answer = (await (await fetch(new URL('api/v1/cluster', classroom.url))).json()) as { state: never };
  return read(answer.state);
}

type Kafka = { kafka: { topics: Record<string, { partitions: Record<string, { leader: number; replicas: number[]; isr: number[] }> }> } };
type Pulsar = { pulsar: { bundles: Record<string, { namespace: string; range: string; owner: string }> } };

describe('what can be done', () => {
  it('starts producers and consumers, and stops one of them', async () => {
    await form('Start producers and consumers').getByLabel('Messages a second').fill('40');
    await submit('Start producers and consumers');
    await panel().getByText('demo: 40 a second, 1 consumer').waitFor();
    await page.getByRole('group', { name: /^kafka-1/ }).getByText('demo', { exact: true }).first().waitFor();
  });

  it('creates a topic on each side and shows the command that does the same', async () => {
    await openGroup('Kafka-mode: topics and replicas');
    const create = form('Create a topic').first();
    await create.getByLabel('Topic').fill('bought');
    await create.getByText('The same by command').click();
    await create.getByText(/^kafka-topics\.sh --bootstrap-server 127\.0\.0\.1:\d+.* --create --topic bought --partitions 3 --replication-factor 3 --config min\.insync\.replicas=2$/).waitFor();
    await create.locator('button[type=submit]').click();
    await create.getByText(/^Done/).waitFor();
    await expect.poll(() => state(({ kafka }: Kafka) => Object.keys(kafka.topics['bought']?.partitions ?? {}).length)).toBe(3);
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'actions');
  });

  it('moves a partition to other brokers and elects the preferred leader', async () => {
    const move = form('Move a partition to other brokers');
    await move.getByLabel('Topic').selectOption('bought');
    await move.getByLabel('To brokers, the preferred leader first').fill('3, 1');
    await submit('Move a partition to other brokers');
    const moved = ({ kafka }: Kafka) => kafka.topics['bought']!.partitions['0']!;
    await expect.poll(() => state(({ kafka }: Kafka) => moved({ kafka }).replicas)).toEqual([3, 1]);
    await form('Hold an election').getByLabel('Topic').selectOption('bought');
    await submit('Hold an election');
    await expect.poll(() => state(({ kafka }: Kafka) => moved({ kafka }).leader)).toBe(3);
  });

  it('unloads a bundle to a broker, and splits one', async () => {
    await openGroup('Pulsar-mode: topics and bundles');
    const bundle = await form('Unload a bundle').getByLabel('Bundle').inputValue();
    const owner = await state(({ pulsar }: Pulsar) => Object.values(pulsar.bundles).find(({ namespace, range }) => `${namespace} ${range}` === bundle)!.owner);
    const other = owner === 'pulsar-1' ? 'pulsar-2' : 'pulsar-1';
    await form('Unload a bundle').getByLabel('To').selectOption(other);
    await submit('Unload a bundle');
    const ownerNow = ({ pulsar }: Pulsar) => Object.values(pulsar.bundles).find(({ namespace, range }) => `${namespace} ${range}` === bundle)?.owner;
    await expect.poll(() => state(ownerNow)).toBe(other);
    await form('Split a bundle').getByLabel('Bundle').selectOption(bundle);
    await submit('Split a bundle');
    const halves = ({ pulsar }: Pulsar) => Object.values(pulsar.bundles).filter(({ range }) => bundle.endsWith(range)).length;
    await expect.poll(() => state(halves)).toBe(0);
  });

  it('adds a broker and takes it away again', async () => {
    await openGroup('Nodes: add, remove, crash');
    await submit('Add a node');
    await page.getByRole('group', { name: /^kafka-4/ }).waitFor();
    await form('Remove a node').getByLabel('Node').selectOption('kafka-4');
    await submit('Remove a node');
    await page.getByRole('group', { name: /^kafka-4/ }).waitFor({ state: 'detached' });
  });

  it('disturbs a disk, crashes a machine, and puts everything right', async () => {
    await openGroup('Disks: slow, full, failing, corrupt');
    await form('Disturb a disk').getByLabel('Node').selectOption('bookie-1');
    await submit('Disturb a disk');
    const disks = async () => ((await (await fetch(new URL('api/v1/disks', classroom.url))).json()) as { disks: { node: string; delayMS: number }[] }).disks.filter(({ delayMS }) => delayMS > 0).map(({ node }) => node);
    expect(await disks()).toEqual(['bookie-1']);
    await form('Crash the machine').getByLabel('Node').selectOption('kafka-2');
    await submit('Crash the machine');
    await page.getByRole('group', { name: /^kafka-2.*(crashed|killed)/i }).waitFor();
    await panel().getByRole('button', { name: 'Put everything right' }).click();
    await page.getByRole('group', { name: /^kafka-2.*running/i }).waitFor();
    await expect.poll(disks).toEqual([]);
  });

  it('says what cannot be done, and why', async () => {
    const create = form('Create a topic').first();
    await create.getByLabel('Topic').fill('bought');
    await create.locator('button[type=submit]').click();
    await page.getByRole('alert').getByText(/there is a topic of this name already/).waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).first().click();
  });
});

describe('a famous situation', () => {
  it('is played with one click, step by step, on the running clusters', async () => {
    await openGroup('Famous situations');
    await panel().getByRole('button', { name: /^Play: .*bookie/i }).click();
    await panel().locator('li[aria-current=step], li.done').first().waitFor(); // it may be over before the page asks how far it is
    await shoot(page, 'situation');
    await expect.poll(async () => ((await (await fetch(new URL('api/v1/situations', classroom.url))).json()) as { run: { state: string } }).run.state, { timeout: 2 * PATIENCE_MS }).toBe('done');
    await panel().locator('li .message').first().waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('leads back to what came of a step, and is watched again', async () => {
    const mode = () => page.getByRole('group', { name: 'Timeline' }).getAttribute('data-mode');
    await panel().getByRole('button', { name: /^The ensemble changes: / }).click();
    await page.locator('.story [aria-current]', { hasText: /Ledger \d+ goes on without bookie-\d/ }).waitFor();
    await expect.poll(mode).toBe('paused');
    await panel().getByRole('button', { name: 'Watch it again, slowly' }).click();
    await expect.poll(mode).toBe('playing');
    await page.getByRole('button', { name: 'Go live', exact: true }).click();
    await expect.poll(mode).toBe('live');
  });

  it('leaves the menu of a dead bookie within reach, also beside the drawer', async () => {
    await fetch(new URL('api/v1/nodes/bookie-1/kill', classroom.url), { method: 'POST' });
    await page.getByRole('group', { name: /^bookie-1, (crashed|killed)/i }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Actions for bookie-1' }).click();
    await page.getByRole('menuitem', { name: /^Start/ }).click();
    await page.getByRole('group', { name: /^bookie-1, running/i }).waitFor();
  });
});
