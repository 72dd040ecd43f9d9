// @vitest-environment jsdom
import { flushSync, mount, unmount } from 'svelte';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { setLanguage } from '../i18n/language.svelte';
import LabDrawer from './LabDrawer.svelte';
import { labFirst, labTopic } from './lab-topics.svelte';

type Answer = (body: unknown) => void;

/** What was asked for and has not been answered, oldest first. */
let asked: { request: string; answer: Answer }[] = [];
let mounted: Record<string, unknown> | undefined;
let target: HTMLElement;

beforeEach(() => {
  setLanguage('en');
  asked = [];
  Element.prototype.scrollIntoView = () => {};
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    const request = `${init.method} ${path}`;
    return new Promise((resolve) => asked.push({ request, answer: (body) => resolve(new Response(JSON.stringify(body), { status: 200 })) }));
  });
});

afterEach(() => {
  end();
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});

function show(props: { start?: string; followed?: () => void; goLive?: () => void } = {}) {
  target = document.createElement('div');
  document.body.append(target);
  mounted = mount(LabDrawer, { target, props: { close: () => {}, showRecord: () => true, ...props } });
  flushSync();
}

function end() {
  if (mounted) void unmount(mounted);
  mounted = undefined;
}

/** Answers the oldest request that is such, as soon as it has come. */
async function answer(request: RegExp, body: unknown) {
  await vi.waitFor(() => expect(asked.map((one) => one.request).join('\n')).toMatch(request));
  const at = asked.findIndex((one) => request.test(one.request));
  asked.splice(at, 1)[0]!.answer(body);
  await settled();
}

async function settled() {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve));
  flushSync();
}

const press = async (name: string | RegExp) => {
  const all = [...target.querySelectorAll<HTMLButtonElement>('button')].map((button) => ({ button, called: button.getAttribute('aria-label') ?? button.textContent!.trim() }));
  all.find(({ called }) => (typeof name === 'string' ? called === name : name.test(called)))!.button.click();
  await settled();
};

const summary = (id: string) => ({ id, title: `Lab of ${id}`, minutes: 15, tasks: 2, started: true, passed: false });
const list = { labs: [summary('01-x'), summary('02-y')] };
const solution = ['a', 'a', 'b'].map((task, index) => ({ task, does: `step ${index}`, command: '', waits: [] }));
const task = (id: string) => ({ id, title: id, expected: '', needs: [], holdMS: 0, helper: false });
const detail = (id: string, attempt: object = {}) => ({
  ...summary(id), html: '', taskList: [task('a'), task('b')], questions: [], next: null, solution, values: {}, attempt: { id: 1, verdicts: [], answers: {}, played: 0, beganAt: '', ...attempt },
});

describe('the list of labs', () => {
  it('gives each its number', async () => {
    show();
    await answer(/GET .*labs\?/, list);
    expect([...target.querySelectorAll('.list .name')].map(({ textContent }) => textContent)).toEqual(['Open lab 01 Lab of 01-x', 'Open lab 02 Lab of 02-y']);
  });

  it('that comes late does not take away the lab that was opened meanwhile', async () => {
    show();
    await answer(/GET .*labs\?/, list);
    setLanguage('zh');
    flushSync();
    await press(/Lab of 02-y/);
    await answer(/GET .*labs\/02-y/, detail('02-y'));
    await answer(/GET .*labs\?/, list);
    expect(target.querySelector('h2')!.textContent).toBe('Lab of 02-y');
  });
});

it('a lab that has passed leads on to the next one, and the reader with it', async () => {
  show({ start: '01-x' });
  await answer(/GET .*labs\/01-x/, { ...detail('01-x', { passedAt: '2026-01-01T00:00:00Z' }), next: summary('02-y') });
  await press('Next lab: 02 Lab of 02-y');
  await answer(/GET .*labs\/02-y/, { ...detail('02-y', { passedAt: '2026-01-01T00:00:00Z' }), next: null });
  expect(target.querySelector('h2')!.textContent).toBe('Lab of 02-y');
  expect(document.activeElement).toBe(target.querySelector('[role=region]'));
  await press('Choose another lab');
  expect(asked.some(({ request }) => /GET .*labs\?/.test(request))).toBe(true);
});

it('a lab that a link asks for is opened once', async () => {
  const followed = vi.fn();
  show({ start: '02-y', followed });
  await answer(/GET .*labs\/02-y/, detail('02-y'));
  expect(followed).toHaveBeenCalledTimes(1);
});

it.each([
  ['anew', 'Reset', /POST .*02-y\/reset/],
  ['at a task', 'Begin anew at this task', /POST .*02-y\/start\?.*task=b/],
])('a lab that begins %s shows the present', async (_, button, request) => {
  const goLive = vi.fn();
  show({ start: '02-y', goLive });
  await answer(/GET .*labs\/02-y/, detail('02-y'));
  expect(goLive).not.toHaveBeenCalled();
  await press(button);
  expect(goLive).toHaveBeenCalledTimes(1);
  await answer(request, {});
});

it('puts first what the open lab is about, until it is closed', async () => {
  const topics = [{ topic: 'clicks' }, { topic: 'orders' }, { topic: 'readings' }];
  show({ start: '02-y' });
  await answer(/GET .*labs\/02-y/, { ...detail('02-y'), values: { topic: 'readings', group: 'auditor' } });
  expect(labFirst(topics).map(({ topic }) => topic)).toEqual(['readings', 'clicks', 'orders']);
  expect(labTopic()).toBe('readings');
  end();
  await settled();
  expect(labFirst(topics)).toBe(topics);
});

it('a prediction that comes after the event says that it does not count', async () => {
  const question = { id: 'q', before: 'a', text: 'Where?', choices: [{ value: '1', text: 'In one' }], explanation: 'Because.' };
  const late = { choice: '1', at: '', late: true, outcome: { right: '1', event: 0 }, right: false };
  show({ start: '02-y' });
  await answer(/GET .*labs\/02-y/, { ...detail('02-y', { answers: { q: late } }), questions: [question] });
  expect(target.querySelector('.question')!.textContent).toContain('It had happened before you answered');
  expect(target.querySelector('.question')!.textContent).not.toContain('Right.');
});

describe('the player of a solution', () => {
  async function open(attempt: object = {}) {
    show({ start: '02-y' });
    await answer(/GET .*labs\/02-y/, detail('02-y', attempt));
    await press('Show the solution');
  }
  const doneSteps = () => /(\d) of 3 steps/.exec(target.querySelector('.player')!.textContent!)![1];
  const steps = () => asked.filter(({ request }) => /step/.test(request)).length;

  it.each([
    ['where the attempt stands', { played: 2 }, '2'],
    ['at the task that was jumped to', { beganAt: 'b' }, '2'],
    ['behind it, once it was played', { beganAt: 'b', played: 1 }, '3'],
    ['at the end, when all was played twice', { played: 6 }, '3'],
  ])('begins %s', async (_, attempt, done) => {
    await open(attempt);
    expect(doneSteps()).toBe(done);
  });

  async function playOne() {
    await answer(/POST .*02-y\/step/, {});
    await answer(/POST .*02-y\/check/, {});
  }

  it('goes on step by step', async () => {
    await open();
    await press('Play');
    await playOne();
    await answer(/GET .*labs\/02-y/, detail('02-y', { played: 1 }));
    expect(doneSteps()).toBe('1');
    expect(steps()).toBe(1);
  });

  it('ends with the drawer', async () => {
    await open();
    await press('Play');
    end();
    await playOne();
    await answer(/GET .*labs\/02-y/, detail('02-y', { played: 1 }));
    expect(steps()).toBe(0);
  });

  it('ends with another lab, and plays nothing there', async () => {
    await open();
    await press('Play');
    await press(/All labs/);
    await answer(/GET .*labs\?/, list);
    await press(/Lab of 01-x/);
    await answer(/GET .*labs\/01-x/, detail('01-x'));
    await playOne();
    expect(asked).toEqual([]);
    expect(target.querySelector('.player')).toBeNull();
  });
});
