import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { State } from '../src/trace/types';
import { launchOptions } from './browser.js';
import { PATIENCE_MS } from './patience.js';

const require = createRequire(import.meta.url);
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const shots = fileURLToPath(new URL('./shots/', import.meta.url));

/** A classroom to test against: the one at TWINLOG_URL, or one that is started from TWINLOG_BIN and ended again. */
export interface TestClassroom {
  url: string;
  end(): Promise<void>;
}

export async function openClassroom(): Promise<TestClassroom> {
  // No multiple of 100, as the offsets are that the Go tests choose, which run at the same time.
  const { TWINLOG_URL, TWINLOG_BIN, TWINLOG_PORT_OFFSET = '23050' } = process.env;
  if (TWINLOG_BIN) return startClassroom(TWINLOG_BIN, Number(TWINLOG_PORT_OFFSET));
  if (!TWINLOG_URL) throw new Error('set TWINLOG_URL to the page of a running `twinlog up`, or TWINLOG_BIN to the binary that is to be started');
  await putRight(TWINLOG_URL);
  return { url: TWINLOG_URL, end: async () => {} };
}

/** Ends what an earlier run may have left: workloads, and nodes that are down. */
async function putRight(url: string): Promise<void> {
  const ask = async (method: string, path: string) => (await fetch(new URL(`api/v1/${path}`, url), { method })).json() as Promise<never>;
  const { workloads }: { workloads: { id: string }[] } = await ask('GET', 'workloads');
  for (const { id } of workloads) await ask('DELETE', `workloads/${id}`);
  const { nodes }: { nodes: { name: string; state: string }[] } = await ask('GET', 'nodes');
  for (const { name, state } of nodes) {
    if (state === 'paused') await ask('POST', `nodes/${name}/resume`);
    else if (state !== 'running') await ask('POST', `nodes/${name}/start`);
  }
}

async function startClassroom(binary: string, offset: number): Promise<TestClassroom> {
  const child = spawn(binary, ['up', '--port-offset', String(offset)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      if (/^ready in /m.test(output)) resolve();
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('error', reject);
    child.on('exit', (code) => reject(new Error(`${binary} up ended with ${code} before it was ready:\n${output}`)));
  });
  return { url: `http://127.0.0.1:${7700 + offset}/`, end: () => endProcess(child) };
}

function endProcess(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve();
    child.on('exit', () => resolve());
    child.kill('SIGINT');
  });
}

export function openBrowser(): Promise<Browser> {
  return chromium.launch(launchOptions);
}

export interface View {
  language?: 'en' | 'zh';
  theme?: 'light' | 'dark';
  width?: number;
  height?: number;
}

/** An empty page with the tests' patience. */
export async function newPage(browser: Browser, viewport: { width: number; height: number } = { width: 1280, height: 720 }): Promise<Page> {
  const page = await browser.newPage({ viewport });
  page.setDefaultTimeout(PATIENCE_MS);
  page.setDefaultNavigationTimeout(PATIENCE_MS);
  return page;
}

/** Opens the page and waits until it shows the nodes. Requests that leave the machine fail the test. */
export async function openPage(browser: Browser, url: string, view: View = {}): Promise<Page> {
  const { language = 'en', theme = 'light', width = 1280, height = 720 } = view;
  const page = await newPage(browser, { width, height });
  page.on('request', (request) => {
    const { hostname, protocol } = new URL(request.url());
    if (protocol !== 'data:') expect(hostname, `the page asks for ${request.url()}`).toBe(new URL(url).hostname);
  });
  page.on('pageerror', (error) => {
    throw error;
  });
  await page.goto(`${url}?lang=${language}&theme=${theme}`);
  await page.getByRole('group', { name: /^kafka-1/ }).waitFor();
  return page;
}

export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(shots, { recursive: true });
  await page.screenshot({ path: `${shots}${name}.png` });
}

interface Violation {
  id: string;
  impact: string | null;
  help: string;
  nodes: { target: unknown[]; failureSummary?: string }[];
}

/** What axe finds against WCAG A and AA. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource); // not as a script tag: the page's content security policy forbids those of others
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(context: Document, options: unknown): Promise<{ violations: Violation[] }> } };
    const { violations: all } = await axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] });
    return all;
  });
  return found.map(({ id, impact, help, nodes }) => `${id} (${impact}): ${help}\n  ${nodes.slice(0, 4).map(({ target, failureSummary }) => `${target.join(' ')} ${failureSummary ?? ''}`).join('\n  ')}`);
}

/** The state that the visualizer folded from the trace: what the page must show. */
export async function stateOf(url: string): Promise<State> {
  const answer = await fetch(new URL('api/v1/cluster', url));
  return ((await answer.json()) as { state: State }).state;
}

const LOOK_EVERY_MS = 100;

/** Looks until it sees what is wanted: the picture runs a little behind the clusters. */
export async function until<T>(look: () => Promise<T>, wanted: (seen: T) => boolean, what: string): Promise<T> {
  let seen: T;
  const deadline = Date.now() + PATIENCE_MS;
  do {
    seen = await look();
    if (wanted(seen)) return seen;
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  } while (Date.now() < deadline);
  throw new Error(`in vain: ${what}; seen: ${JSON.stringify(seen)}`);
}
