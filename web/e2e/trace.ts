import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { PATIENCE_MS } from './patience.js';

/** A record as the API gives it. */
export interface TraceLine {
  n: number;
  node: string;
  seq: number;
  kind: string;
  cause?: { node: string; seq: number };
  data: Record<string, unknown>;
}

export async function ask<T>(url: string, path: string, method = 'GET', body?: BodyInit): Promise<T> {
  const response = await fetch(new URL(`api/v1/${path}`, url), { method, ...(body === undefined ? {} : { body }) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

/**
 * All records of the present run from the first to the last that there is when it is asked for. In a classroom that other tests have used before,
 * the first ones may have left the server's window; the recorded run has them all.
 */
export async function allRecords(url: string): Promise<TraceLine[]> {
  const { window } = await ask<{ window: { firstN: number; lastN: number } }>(url, 'events?after=999999999&limit=1');
  const { present } = await ask<{ present: string }>(url, 'runs');
  const path = window.firstN === 1 ? 'events' : `runs/${present}/events`;
  const records: TraceLine[] = [];
  // A page of large records is short, which is not the end.
  while (records.length < window.lastN) {
    const { records: page } = await ask<{ records: TraceLine[] }>(url, `${path}?after=${records.length}&limit=10000`);
    if (page[0]?.n !== records.length + 1) throw new Error(`record ${records.length + 1} of the run is nowhere`);
    records.push(...page);
  }
  return records;
}

/** The number of the record that the page stands at. */
export async function shownN(page: Page): Promise<number> {
  return Number(await page.getByRole('group', { name: 'Timeline' }).getAttribute('data-n'));
}

export async function atRecord(page: Page, n: number): Promise<void> {
  // A page that is opened at it fetches and folds the run first.
  await page.locator(`[role=group][data-n="${n}"][data-mode="paused"]`).waitFor({ state: 'attached', timeout: 2 * PATIENCE_MS });
  // The picture of an instant is made before the clock says so, and stands one frame later.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** What the picture says of Kafka-mode: its brokers and who is controller, each replica's strip, and who holds /controller. */
export function kafkaPicture(page: Page): Promise<{ brokers: Record<string, string>; strips: Record<string, string> }> {
  return page.evaluate(() => {
    const brokers: Record<string, string> = {};
    const strips: Record<string, string> = {};
    for (const card of document.querySelectorAll<HTMLElement>('[data-node^="kafka-"]')) {
      const node = card.dataset.node!;
      const [, state, crown] = (card.getAttribute('aria-label') ?? '').split(', ');
      brokers[node] = state + (crown === 'controller' ? ', controller' : '');
      for (const strip of card.querySelectorAll('li[aria-label*="log end"]')) {
        // "demo-0: follower, in sync, log end 1,234, high watermark 1,234", and more after it
        const told = /^(\S+): (.*?), log end ([\d,]+), high watermark ([\d,]+)/.exec(strip.getAttribute('aria-label')!)!;
        strips[`${node}/${told[1]!}`] = `${told[2]!} ${told[3]!.replaceAll(',', '')} ${told[4]!.replaceAll(',', '')}`;
      }
    }
    return { brokers, strips };
  });
}

interface Partition {
  leader: number;
  epoch: number;
  isr: number[];
  replicas: number[];
  logs: Map<number, { role: string; leo: number; highWatermark: number }>;
}

/** The same out of the records up to n: a small fold of its own, to hold the page's against. */
export function kafkaTrace(records: readonly TraceLine[], n: number): { brokers: Record<string, string>; strips: Record<string, string> } {
  const states = new Map<string, string>();
  const partitions = new Map<string, Partition>();
  let controller = { broker: -1, epoch: 0 };
  /** The newest /controller: whose session holds it, and since which write. */
  let held = { session: '', zxid: 0 };
  const partitionOf = ({ topic, partition }: Record<string, unknown>) => {
    const name = `${String(topic)}-${String(partition)}`;
    if (!partitions.has(name)) partitions.set(name, { leader: -1, epoch: -1, isr: [], replicas: [], logs: new Map() });
    return partitions.get(name)!;
  };
  for (const { n: at, node, kind, data } of records) {
    if (at > n) break;
    const broker = Number(/\d+$/.exec(node)?.[0]);
    const log = () => {
      const { logs } = partitionOf(data);
      if (!logs.has(broker)) logs.set(broker, { role: '', leo: 0, highWatermark: 0 });
      return logs.get(broker)!;
    };
    switch (kind) {
      case 'node.started':
        states.set(node, 'starting');
        break;
      case 'node.ready':
        states.set(node, 'running');
        break;
      case 'node.stopped':
        states.set(node, String(data.reason));
        if (node.startsWith('kafka-')) for (const { logs } of partitions.values()) if (logs.has(broker)) logs.get(broker)!.role = 'offline';
        break;
      case 'ensemble.znodeDeleted':
        // Each server tells it for itself, some later than the next holder's creation.
        if (data.path === '/controller' && Number(data.zxid) > held.zxid) controller = { ...controller, broker: -1 };
        break;
      case 'ensemble.sessionEnded': // its ephemeral znodes go with it
        if (data.session === held.session && Number(data.zxid) > held.zxid) controller = { ...controller, broker: -1 };
        break;
      case 'ensemble.znodeCreated':
        if (data.path === '/controller' && Number(data.zxid) > held.zxid) held = { session: String(data.session), zxid: Number(data.zxid) };
        break;
      case 'kafka.controllerElected':
        controller = { broker: Number(data.broker), epoch: Number(data.epoch) };
        break;
      case 'kafka.controllerResigned':
        if (controller.broker === data.broker && controller.epoch === data.epoch) controller = { ...controller, broker: -1 };
        break;
      case 'kafka.topicCreated':
        (data.replicas as number[][]).forEach((replicas, partition) => (partitionOf({ ...data, partition }).replicas = replicas));
        break;
      case 'kafka.partitionStateChanged': {
        const known = partitionOf(data);
        if (Number(data.partitionEpoch) < known.epoch) break;
        Object.assign(known, { leader: data.leader, epoch: data.partitionEpoch, isr: data.isr, replicas: data.replicas });
        break;
      }
      case 'kafka.isrChanged': {
        const known = partitionOf(data);
        if (Number(data.partitionEpoch) >= known.epoch) Object.assign(known, { isr: data.isr, epoch: data.partitionEpoch });
        break;
      }
      case 'kafka.replicaRoleChanged':
        Object.assign(log(), { role: data.role, leo: data.leo, highWatermark: data.highWatermark });
        break;
      case 'kafka.appended':
        log().leo = Number(data.leo);
        break;
      case 'kafka.highWatermarkAdvanced':
        log().highWatermark = Number(data.highWatermark);
        break;
      case 'kafka.truncated': {
        const known = log();
        known.leo = Number(data.to);
        known.highWatermark = Math.min(known.highWatermark, known.leo);
        break;
      }
    }
  }
  const brokers: Record<string, string> = {};
  for (const [node, state] of states) if (node.startsWith('kafka-')) brokers[node] = state + (node === `kafka-${controller.broker}` ? ', controller' : '');
  const strips: Record<string, string> = {};
  for (const [name, { leader, isr, replicas, logs }] of partitions) {
    if (name.startsWith('__')) continue; // the page shows no internal topic unless it is asked to
    for (const id of replicas) {
      const known = logs.get(id);
      const state = states.get(`kafka-${id}`);
      const offline = state !== 'running' || known?.role === 'offline';
      const status = offline ? 'offline' : leader === id ? 'leader' : isr.includes(id) ? 'follower, in sync' : 'follower, out of sync';
      strips[`kafka-${id}/${name}`] = `${status} ${known?.leo ?? 0} ${known?.highWatermark ?? 0}`;
    }
  }
  return { brokers, strips };
}

export async function sameAsTrace(page: Page, records: readonly TraceLine[], n: number): Promise<void> {
  await atRecord(page, n);
  const { kind, node } = records[n - records[0]!.n]!;
  expect(await kafkaPicture(page), `the picture at record ${n}, ${kind} of ${node}`).toEqual(kafkaTrace(records, n));
}
