// @vitest-environment jsdom
import { flushSync, mount, unmount, type Component } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLanguage } from '../i18n/language.svelte';
import type { KafkaBrokerCard, LogStrip as Strip } from '../scene/kafka';
import LabDrawer from './LabDrawer.svelte';
import LogStrip from './LogStrip.svelte';
import NodeCard from './NodeCard.svelte';
import NodeMenu from './NodeMenu.svelte';
import { dismiss, notices } from './notices.svelte';

const mounted: Record<string, unknown>[] = [];
let wentLive = 0;
const presence = vi.hoisted(() => ({ value: { goLive: () => {} } }));
vi.mock('./presence', () => ({ presence: () => presence.value }));

function show<P extends object>(component: Component<P>, props: P): HTMLElement {
  const target = document.createElement('div');
  document.body.append(target);
  mounted.push(mount(component as Component<object>, { target, props }));
  flushSync();
  return target;
}

beforeEach(() => {
  setLanguage('en');
  wentLive = 0;
  presence.value = { goLive: () => wentLive++ };
});

afterEach(() => {
  for (const one of mounted.splice(0)) void unmount(one);
  for (const { id } of notices()) dismiss(id);
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

/** Answers of the server by method and path; what is asked for is written down. */
function serve(answers: Record<string, [number, unknown]>): string[] {
  const asked: string[] = [];
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    const request = `${init.method} ${path}`;
    asked.push(request);
    const [status, body] = answers[request] ?? [404, { error: { code: 'notFound', message: `nothing at ${request}` } }];
    return Promise.resolve(new Response(JSON.stringify(body), { status }));
  });
  return asked;
}

const card: KafkaBrokerCard = {
  name: 'kafka-2', role: 'kafka', id: 2, state: 'running', detail: '', up: true, controller: true, registered: true, topics: [], leaders: 0, replicas: 0, reactor: undefined,
};

describe('a node card', () => {
  it('is a group whose name tells the node, its state and its office', () => {
    const group = show(NodeCard, { card, side: 'kafka' as const, crown: 'controller', facts: ['leads 1 of 3'] }).querySelector('[role=group]')!;
    expect(group.getAttribute('aria-label')).toBe('kafka-2, running, controller, leads 1 of 3');
  });

  it('tells a dead node in words', () => {
    const group = show(NodeCard, { card: { ...card, state: 'killed', up: false }, side: 'kafka' as const }).querySelector('[role=group]')!;
    expect(group.getAttribute('aria-label')).toBe('kafka-2, killed');
    expect(group.textContent).toContain('killed');
  });
});

describe('the menu of a node', () => {
  const items = () => [...document.querySelectorAll<HTMLElement>('[role=menuitem]')];
  const press = (key: string) => document.activeElement!.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));

  async function open(state: string) {
    const button = show(NodeMenu, { node: 'kafka-2', state }).querySelector('button')!;
    button.click();
    await vi.waitFor(() => expect(items().length).toBeGreaterThan(0));
    return button;
  }

  it.each([
    ['running', ['Kill', 'Stop', 'Pause']],
    ['paused', ['Resume', 'Kill']],
    ['killed', ['Start']],
    ['stopped', ['Start']],
  ])('offers what a node that is %s can do', async (state, offered) => {
    await open(state);
    expect(items().map((item) => item.textContent!.trim().split(/\s/)[0])).toEqual(offered);
  });

  it('is walked with the arrow keys and left with Escape', async () => {
    const button = await open('running');
    expect(document.activeElement).toBe(items()[0]);
    press('ArrowUp');
    expect(document.activeElement).toBe(items()[2]);
    press('ArrowDown');
    expect(document.activeElement).toBe(items()[0]);
    press('Escape');
    flushSync();
    expect(items()).toEqual([]);
    expect(document.activeElement).toBe(button);
  });

  it('asks the server, brings the picture to the present, and reports a refusal as a sentence', async () => {
    const asked = serve({ 'POST api/v1/nodes/kafka-2/kill': [409, { error: { code: 'wrongState', message: 'it is still starting', sentence: { key: 'isStarting' } } }] });
    await open('running');
    items()[0]!.click();
    await vi.waitFor(() => expect(notices().length).toBe(1));
    expect(asked).toEqual(['POST api/v1/nodes/kafka-2/kill']);
    expect(wentLive).toBe(1);
    expect(notices()[0]!.text.params).toMatchObject({ detail: { key: 'said.isStarting' } });
  });
});

describe('a log strip', () => {
  const strip: Strip = {
    partition: 'orders-0', topic: 'orders', number: 0, status: 'inSync', leads: false, isr: undefined, leaderEpoch: 0, logStart: 0, leo: 30, highWatermark: 20,
    committed: [{ group: 'readers', offset: 10 }], scale: { from: 0, to: 40 }, shape: { shelf: [], segments: [], segmentCount: 1, epochs: [], ruler: [] }, readers: [],
  };

  it('says what it shows', () => {
    const item = show(LogStrip, { strip, node: 'kafka-1', broker: 1, roomy: false }).querySelector('li')!;
    expect(item.getAttribute('aria-label')).toBe('orders-0: follower, in sync, log end 30, high watermark 20');
  });

  it('draws up to the high watermark solid, the rest up to the end hatched', () => {
    const [log, rest] = show(LogStrip, { strip, node: 'kafka-1', broker: 1, roomy: false }).querySelectorAll<HTMLElement>('.log');
    expect([log!.style.width, rest!.style.left, rest!.style.width]).toEqual(['50%', '50%', '25%']);
  });

  it('says where a log ends that the strip has left behind: its records are not gone', () => {
    const behind = { ...strip, status: 'offline' as const, scale: { from: 43, to: 83 } };
    expect(show(LogStrip, { strip: behind, node: 'kafka-1', broker: 1, roomy: false }).querySelector('.track')!.textContent).toContain('ends at 30');
    expect(show(LogStrip, { strip, node: 'kafka-1', broker: 1, roomy: false }).querySelector('.track')!.textContent).not.toContain('ends at');
  });

  it('follows the language', () => {
    setLanguage('zh');
    const item = show(LogStrip, { strip, node: 'kafka-1', broker: 1, roomy: false }).querySelector('li')!;
    expect(item.getAttribute('aria-label')).toBe('orders-0：follower，保持同步，日志末端 30，高水位 20');
  });
});

describe('the lab drawer', () => {
  const summary = { id: '01-x', title: 'First messages', minutes: 15, tasks: 2, started: true, passed: false };
  const verdicts = [
    { task: 'a', verdict: 'passed', expected: 'a topic', observed: 'a topic', event: 0, hints: [], asks: [], heldMS: 0, holdMS: 0 },
    { task: 'b', verdict: 'notYet', expected: 'at least 10 records', observed: '3 records', event: 77, hints: ['Look at the strips.'], asks: [], heldMS: 0, holdMS: 0 },
  ];
  const taskList = [
    { id: 'a', title: 'Create `orders`', expected: 'a topic', needs: [], holdMS: 0, helper: false },
    { id: 'b', title: 'Write', expected: 'at least 10 records', needs: ['a'], holdMS: 0, helper: false },
  ];
  const detail = { ...summary, html: '<p>Read <code>this</code></p>', taskList, questions: [], solution: [], values: {}, attempt: { verdicts, answers: {}, played: 0, beganAt: '' } };

  it('shows verdicts with what was expected and observed, and takes the clock to the event that decides', async () => {
    serve({ 'GET api/v1/labs?lang=en': [200, { labs: [summary] }], 'GET api/v1/labs/01-x?lang=en': [200, detail] });
    const shown: number[] = [];
    const target = show(LabDrawer, { close: () => {}, showRecord: (n: number) => shown.push(n) > 0 });
    await vi.waitFor(() => target.querySelector<HTMLElement>('.list button')!.click());
    await vi.waitFor(() => expect(target.querySelectorAll('.tasks li').length).toBe(2));
    const text = target.textContent!;
    for (const part of ['1 of 2 tasks passed', 'not yet', 'at least 10 records', '3 records', 'Look at the strips.', 'Read this']) expect(text).toContain(part);
    expect(text.match(/Expected/g)?.length, 'a task that passed says no more').toBe(1);
    [...target.querySelectorAll<HTMLElement>('.link')].find((one) => one.textContent === 'Show the moment that decides it')!.click();
    expect(shown).toEqual([77]);
  });

  it('says why an action was refused', async () => {
    const busy = { error: { code: 'busy', message: 'another lab action is under way; wait until it has ended' } };
    serve({
      'GET api/v1/labs?lang=en': [200, { labs: [summary] }],
      'GET api/v1/labs/01-x?lang=en': [200, detail],
      'POST api/v1/labs/01-x/check?lang=en': [409, busy],
    });
    const target = show(LabDrawer, { close: () => {}, showRecord: () => true });
    await vi.waitFor(() => target.querySelector<HTMLElement>('.list button')!.click());
    await vi.waitFor(() => [...target.querySelectorAll<HTMLButtonElement>('.actions button')].find((one) => one.textContent === 'Check')!.click());
    await vi.waitFor(() => expect(target.querySelector('[role=alert]')?.textContent).toBe('Check failed: another lab action is under way; wait until it has ended'));
  });

  it('says so when labs cannot be reached', async () => {
    serve({ 'GET api/v1/labs?lang=en': [501, { error: { code: 'notAvailable', message: 'this process was started without labs' } }] });
    const target = show(LabDrawer, { close: () => {}, showRecord: () => true });
    await vi.waitFor(() => expect(target.querySelector('[role=alert]')?.textContent).toContain('without labs'));
  });
});
