import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { State } from '../src/trace/types';
import { openBrowser, openClassroom, openPage, shoot, stateOf, until, violations, type TestClassroom } from './classroom';
import { ZooKeeperClient } from './zookeeper';

let classroom: TestClassroom;
let browser: Browser;
let page: Page;

beforeAll(async () => {
  classroom = await openClassroom();
  browser = await openBrowser();
  page = await openPage(browser, classroom.url);
  await fetch(new URL('api/v1/workloads', classroom.url), { method: 'POST', body: JSON.stringify({ messagesPerSecond: 30 }) });
});

afterAll(async () => {
  await browser?.close();
  await classroom?.end();
});

const told = () => stateOf(classroom.url);

/** Waits until the page shows what the trace tells: the picture runs a little behind. */
async function agree<T>(shown: () => Promise<T>, expected: () => Promise<T>, what: string): Promise<T> {
  const both = async () => [await shown(), await expected()] as const;
  const [seen] = await until(both, ([here, there]) => JSON.stringify(here) === JSON.stringify(there), what);
  return seen;
}

const labels = (of: Locator) => of.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label') ?? ''));

const ring = () => page.getByRole('group', { name: 'Hash space of public/default' });

/** Bundles and their owners as the hash space names them. */
async function shownOwners(): Promise<string[]> {
  return (await labels(ring().getByRole('listitem')))
    .map((label) => /^Bundle (\S+), owned by (pulsar-\d+)/.exec(label))
    .flatMap((found) => (found ? [`${found[1]} ${found[2]}`] : []))
    .sort();
}

async function toldOwners(): Promise<string[]> {
  const { pulsar } = await told();
  return Object.values(pulsar.bundles).filter(({ namespace, owner }) => namespace === 'public/default' && owner !== '').map(({ range, owner }) => `${range} ${owner}`).sort();
}

/** The ledgers of topics with their states, as their rows name them. */
async function shownLedgers(): Promise<string[]> {
  const texts = await page.getByText(/^Ledger \d+ of demo-partition-\d: /).allTextContents();
  return texts.map((text) => text.replace(/^Ledger (\d+) of (\S+): (\w+),.*/, '$1 $2 $3')).sort();
}

async function toldLedgers(): Promise<string[]> {
  const { pulsar } = await told();
  return Object.entries(pulsar.ledgers)
    .filter(([, { cursor, managedLedger }]) => cursor === '' && managedLedger.includes('/demo-partition-'))
    .map(([id, { managedLedger, state, fencedBy }]) => `${id} ${managedLedger.split('/').at(-1)} ${fencedBy.length > 0 && state !== 'closed' ? 'fenced' : state}`)
    .sort();
}

async function choose(node: string, action: RegExp): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${node}` }).click();
  await page.getByRole('menuitem', { name: action }).click();
}

describe('Pulsar-mode as the page draws it', () => {
  it('puts topics at their hash and bundles under their owners, as the trace tells', async () => {
    await until(toldOwners, (owners) => owners.length >= 2, 'topics are loaded');
    expect((await agree(shownOwners, toldOwners, 'the owners of the bundles')).length).toBeGreaterThan(1);
    const { pulsar } = await told();
    for (const [name, { hash }] of Object.entries(pulsar.topics)) {
      if (!name.includes('/demo-')) continue;
      const flag = ring().locator(`.flag[title="${name}"]`);
      await flag.waitFor();
      const at = Number(await flag.evaluate((element) => parseFloat((element as HTMLElement).style.left)));
      expect(at).toBeCloseTo((hash / 0x1_0000_0000) * 100, 3);
    }
  });

  it('tells how a client found the broker: which one it asked, where it was sent, who serves', async () => {
    const last = (await until(async () => (await told()).pulsar.lookups.at(-1), (lookup) => lookup?.result === 'connect', 'a lookup has come to its end'))!;
    expect(last).toMatchObject({ namespace: 'public/default' });
    expect(last.bundle, 'the trace names the bundle that the hash falls into').toMatch(/^0x[0-9a-f]{8}_0x[0-9a-f]{8}$/);
    const way = () => ring().getByText(/^Lookup of demo-partition-\d, hash 0x/).textContent();
    const shown = async () => [await way(), (await told()).pulsar.lookups.at(-1)] as const;
    await until(shown, ([text, lookup]) => (text ?? '').includes(`${lookup?.target}: connect here`), 'the way that it took');
  });

  it('shows what brokers measure: messages a second, connections, the cache outside the heap', async () => {
    const flows = async () => page.getByText(/messages\/s in \(.*connections: \d+\. Cache of the newest entries/).allTextContents();
    const seen = await until(flows, (texts) => texts.some((text) => /^[1-9]\d* messages\/s in/.test(text)), 'a broker serves the workload');
    expect(seen.length).toBe(2);
    expect(seen.join(' ')).toMatch(/: [\d.]+ (k|M)?B of 67 MB/);
  });

  it('is whole at 1280 with a drawer open, and on a phone without scrolling sideways', async () => {
    await page.getByRole('banner').getByRole('button', { name: 'Inspect' }).click();
    const cut = () => page.locator('.pulsar .topics').evaluateAll((lists) => lists.map((list) => list.scrollHeight - list.clientHeight).filter((more) => more > 1));
    await until(cut, (seen) => seen.length === 0, 'every topic of a card is to be seen');
    await page.getByRole('button', { name: 'Close the inspector' }).click();
    await page.setViewportSize({ width: 390, height: 844 });
    const wide = () => page.locator('.storage .grid').evaluate((grid) => grid.scrollWidth - grid.clientWidth);
    await until(wide, (more) => more <= 0, 'bookies stand side by side');
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await page.locator('.storage').scrollIntoViewIfNeeded();
    await shoot(page, 'pulsar-phone');
    await page.setViewportSize({ width: 1280, height: 720 });
  });

  it('shows a subscription that nobody reads: its cursor stands, its backlog grows', async () => {
    const { nodes } = await told();
    const admin = nodes['pulsar-1']!.addresses.http;
    const made = await fetch(`http://${admin}/admin/v2/persistent/public/default/demo-partition-0/subscription/audit`, { method: 'PUT' });
    expect(made.status).toBe(204);
    const strip = page.getByRole('img', { name: /^audit, .*0 consumers, backlog/ });
    const backlog = async () => Number(/backlog ([\d,]+)/.exec((await labels(strip))[0] ?? '')?.[1]?.replaceAll(',', '') ?? 0);
    const first = await until(backlog, (count) => count > 0, 'a backlog');
    await until(backlog, (count) => count > first, 'it grows');
    const exact = async () => Object.values((await told()).pulsar.topics).find(({ subscriptions }) => subscriptions.audit)!.subscriptions.audit!;
    const { markDelete } = await exact();
    expect((await labels(strip))[0]).toContain(markDelete.ledger < 0 ? 'nothing acknowledged yet' : `mark-delete position ${markDelete.ledger}:${markDelete.entry}`);
  });
});

describe('the death of a bundle’s owner', () => {
  it('moves its bundles to the other broker; the ledgers are recovered, closed and followed by new ones', async () => {
    const before = await toldOwners();
    const owner = before[0]!.split(' ')[1]!;
    const other = owner === 'pulsar-1' ? 'pulsar-2' : 'pulsar-1';
    const ledgers = await toldLedgers();
    await choose(owner, /^Kill/);
    await page.getByRole('group', { name: new RegExp(`^${owner}, killed`) }).waitFor();
    await until(toldOwners, (owners) => owners.length >= before.length && owners.every((one) => one.endsWith(other)), `${other} takes the bundles`);
    await agree(shownOwners, toldOwners, 'the new owners');
    await until(toldLedgers, (now) => now.length > ledgers.length && now.every((one) => !one.endsWith('fenced') && !one.endsWith('recovering')), 'new ledgers');
    const shown = await agree(shownLedgers, toldLedgers, 'the ledgers and their states');
    expect(shown.some((one) => one.endsWith('closed'))).toBe(true);
    for (const topic of new Set(shown.map((one) => one.split(' ')[1]))) {
      expect(shown.filter((one) => one.includes(`${topic} open`)).length, `${topic} has one ledger that takes entries`).toBe(1);
    }
    await choose(owner, /^Start/);
    await page.getByRole('group', { name: new RegExp(`^${owner}, running`) }).waitFor();
  });
});

describe('closed ledgers', () => {
  it('are offloaded to the medium, are read from there, and leave the bookies', async () => {
    const topic = 'persistent://public/default/demo-partition-0'; // whose subscription audit keeps everything
    const closed = async () =>
      Object.entries((await told()).pulsar.ledgers).filter(([, { state, cursor, managedLedger }]) => state === 'closed' && cursor === '' && managedLedger.endsWith('/demo-partition-0'));
    const id = (await until(closed, (all) => all.length > 0, 'a closed ledger')).at(-1)![0];
    await page.getByRole('button', { name: 'Act', exact: true }).click();
    const panel = page.getByRole('complementary', { name: 'Do something to the clusters' });
    await panel.locator('summary', { hasText: 'Pulsar-mode: topics and bundles' }).click();
    const form = panel.getByRole('form', { name: 'Offload closed ledgers' });
    await form.getByLabel('Topic').selectOption(topic);
    await form.getByText('The same by command').click();
    await form.getByText(/pulsar-admin --admin-url http:\S+ topics offload --size-threshold 0 persistent:\S+demo-partition-0/).waitFor();
    await form.locator('button[type=submit]').click();
    await form.getByText(/^Done/).waitFor();
    await page.getByRole('button', { name: 'Act', exact: true }).click();
    await page.getByText('on the medium (filesystem), and read from there; the bookies still have their copies').or(page.getByText('on the medium alone (filesystem)')).first().waitFor({ state: 'attached' });

    const { nodes } = await told();
    const admin = Object.entries(nodes).find(([name, { state }]) => name.startsWith('pulsar-') && state === 'running')![1].addresses.http;
    const lag = (method: string, body?: string) => fetch(`http://${admin}/admin/v2/namespaces/public/default/offloadDeletionLagMs`, { method, body });
    expect((await lag('PUT', '0')).status).toBe(204);
    const alone = page.locator(`[data-place="medium/ledger ${id}"]`);
    await alone.getByText('on the medium alone (filesystem)').waitFor();
    expect(await page.locator(`[data-place$="/ledger ${id}"]`).count(), 'the stripes over the bookies are gone').toBe(1);
    expect((await told()).pulsar.ledgers[id]).toMatchObject({ ensembles: [], offload: { medium: 'filesystem', complete: true, deletedFromBookies: true } });
    expect((await lag('DELETE')).status).toBe(204);
    await shoot(page, 'pulsar-offloaded');
    await page.getByText(`so the bookies drop theirs`).first().waitFor({ state: 'attached' });
  });
});

describe('a bookie whose disk is full', () => {
  const fault = (node: string, full: boolean) => fetch(new URL(`api/v1/disks/${node}`, classroom.url), { method: 'PUT', body: JSON.stringify({ full }) });

  it('is read-only: its ledgers go on elsewhere, and it takes entries again when there is room', async () => {
    const { pulsar } = await told();
    const open = ({ state, cursor, managedLedger }: State['pulsar']['ledgers'][string]) => state === 'open' && cursor === '' && managedLedger.includes('demo-');
    const [address] = Object.values(pulsar.ledgers).find(open)!.ensembles.at(-1)!.bookies;
    const full = pulsar.bookies[address!]!.node;
    expect((await fault(full, true)).status).toBe(200);
    const card = page.getByRole('group', { name: new RegExp(`^${full}, running,( auditor,)? read-only`) });
    await card.waitFor();
    await card.getByText('read-only', { exact: true }).waitFor();
    const takesNone = async () => Object.values((await told()).pulsar.ledgers).filter((ledger) => open(ledger) && ledger.ensembles.at(-1)!.bookies.includes(address!));
    await until(takesNone, (left) => left.length === 0, `every ledger goes on without ${full}`);
    await page.getByText(`The disk of ${full} is full: it is read-only now`).first().waitFor({ state: 'attached' });
    expect(await violations(page)).toEqual([]);
    await shoot(page, 'pulsar-read-only');
    expect((await fault(full, false)).status).toBe(200);
    await page.getByRole('group', { name: new RegExp(`^${full}, running,( auditor,)? \\d`) }).waitFor();
  });
});

describe('the death of a bookie', () => {
  // As an administrator who looks at something first: the copies are not made before the tests have seen that they are missing.
  const off = '/ledgers/underreplication/disable';
  let zookeeper: ZooKeeperClient;
  let dead: string;
  let lacking: number;

  beforeAll(async () => {
    zookeeper = await ZooKeeperClient.open((await told()).nodes['ensemble-1']!.addresses.zookeeper!, 4000);
    await zookeeper.create(off, '', false);
  });
  afterAll(() => zookeeper?.vanish());

  it('begins a new fragment on another bookie, and marks what lacks a copy', async () => {
    const { pulsar } = await told();
    // One that has had its entries from the beginning, whatever became of others: only one is replaced at a time.
    const kept = ({ ensembles }: State['pulsar']['ledgers'][string]) => ensembles.at(-1)!.bookies.filter((bookie) => ensembles[0]!.bookies.includes(bookie));
    const ledger = Object.values(pulsar.ledgers).find((one) => one.state === 'open' && one.cursor === '' && one.managedLedger.includes('demo-') && kept(one).length > 0)!;
    const [address] = kept(ledger);
    dead = pulsar.bookies[address!]!.node;
    await choose(dead, /^Kill/);
    await page.getByRole('group', { name: new RegExp(`^${dead}, killed`) }).waitFor();
    const change = async () =>
      Object.entries((await told()).pulsar.ledgers).find(([, { ensembles, cursor }]) => ensembles.length > 1 && cursor === '' && ensembles[0]!.bookies.includes(address!) && !ensembles.at(-1)!.bookies.includes(address!));
    const [id, changed] = (await until(change, (found) => found !== undefined, 'an ensemble change'))!;
    lacking = Number(id);
    const { firstEntry } = changed.ensembles.at(-1)!;
    const text = `entries ${firstEntry.toLocaleString('en')} and following on`;
    await page.getByText(text).first().waitFor({ state: 'attached' });
    expect(await page.getByText(text).first().textContent()).toContain(`copies on ${dead} cannot be read`);
    await page.locator('.turn', { hasText: `from ${firstEntry.toLocaleString('en')}` }).first().waitFor({ state: 'attached' });

    const lackingNow = async () => {
      const now = (await told()).pulsar;
      const last = (one: State['pulsar']['ledgers'][string], index: number) => (one.ensembles[index + 1]?.firstEntry ?? Math.max(one.lastEntry, one.lastAddConfirmed) + 1) - 1;
      return Object.values(now.ledgers).filter((one) => one.ensembles.some(({ firstEntry, bookies }, index) => last(one, index) >= firstEntry && bookies.some((bookie) => now.bookies[bookie]?.node === dead))).length;
    };
    const count = async () => Number(/^(\d+) ledgers? under-replicated/.exec((await page.locator('.corner .lacks').getAttribute('title')) ?? '')?.[1] ?? 0);
    expect(await agree(count, lackingNow, 'under-replicated ledgers')).toBeGreaterThan(0);
    await page.locator('.ledger', { has: page.getByText(new RegExp(`^Ledger ${id} of`)) }).getByText(/fragments? under-replicated/).waitFor({ state: 'attached' });
  });

  it.each([['en', 'light', 1280, 720], ['zh', 'dark', 1280, 720], ['en', 'light', 1920, 1080]] as const)('looks right in %s, %s, %d×%d', async (language, theme, width, height) => {
    const other = await openPage(browser, classroom.url, { language, theme, width, height });
    await other.locator('.ledger').first().waitFor();
    await other.waitForTimeout(1200); // for the picture: messages are on their way
    await shoot(other, `pulsar-${language}-${theme}-${width}`);
    expect(await other.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight])).toEqual([width, height]);
    if (width === 1280) expect(await violations(other)).toEqual([]); // the same elements at either size
    await other.close();
  });

  it('is told in the tables too, and in a sentence', async () => {
    await page.getByRole('button', { name: 'Table', exact: true }).click();
    for (const name of ['Pulsar-mode brokers: load and cache', 'Last lookups', 'Subscriptions', 'Ledgers in fragments']) await page.getByRole('region', { name }).waitFor();
    await page.getByText(/ledgers? (is|are) under-replicated: copies on bookie-\d cannot be read\./).waitFor();
    await page.getByRole('region', { name: 'Subscriptions' }).getByRole('row', { name: /^audit demo-partition-0/ }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Picture', exact: true }).click();
  });

  it('is mended: the auditor marks the ledger, and its old fragment is copied to another bookie', async () => {
    await zookeeper.delete(off);
    const copied = page.getByText(new RegExp(`Entries 0 to .* of ledger ${lacking} have all their copies again: .* in place of ${dead}\\.`));
    await copied.first().waitFor({ state: 'attached' });
    await page.getByText(new RegExp(`^bookie-\\d, the auditor, marks ledger ${lacking} as under-replicated: its copies on ${dead} are lost\\.`)).first().waitFor({ state: 'attached' });
    const auditor = await until(async () => (await told()).pulsar.auditor, (name) => name !== '', 'an auditor');
    await page.getByRole('group', { name: new RegExp(`^${auditor}, running, auditor,`) }).waitFor();
    const { pulsar } = await told();
    expect(pulsar.ledgers[lacking]!.ensembles[0]!.bookies.map((bookie) => pulsar.bookies[bookie]!.node)).not.toContain(dead);
  });
});
