// Measures the page while a real classroom makes events as fast as asked: frames a second, processor time and memory, in a headless
// Chromium without a GPU, and prints the size of the page's JavaScript. Nothing is collected before the end, and the browser has no flag that
// has to do with memory. Beside a figure stands what is aimed at; whoever misses it reads so, and only a failure of the measurement ends with
// an error. The classroom runs on the same processors, so that the time that a frame takes tells more of the page than how many there were.
//
//   node dev/endurance.js BINARY [seconds] [events a second]
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { launchOptions } from '../e2e/browser.js';
import { openPlainPage } from './plain-page.js';

const [binary, secondsText = '600', wantedText = '10000'] = process.argv.slice(2);
if (!binary) throw new Error('usage: node dev/endurance.js BINARY [seconds] [events a second]');
const seconds = Number(secondsText);
const wanted = Number(wantedText);
const OFFSET = 21000;
const SAMPLE_SECONDS = 10;
const READY_WITHIN_SECONDS = 60;
const MOST_MEGABYTES = 300;
const FEWEST_FRAMES = 50;
/** Of a second and one processor, at FEWEST_FRAMES. */
const MOST_FRAME_MS = 1000 / FEWEST_FRAMES;
/** Messages a second of one workload; the events that they make are measured, not assumed. */
const STEP = 60;
/** A classroom runs no more of them; on a machine that is too slow they make fewer events than wanted, which is printed. */
const MOST_WORKLOADS = 8;

console.log(`\nthe page: ${wanted.toLocaleString('en')} events a second for ${seconds} s, beside the classroom that makes them`);
printSize();
const classroom = await start();
let browser;
try {
  const rate = await load();
  browser = await chromium.launch(launchOptions);
  await measure(rate);
} finally {
  await browser?.close();
  classroom.kill('SIGINT');
  await new Promise((resolve) => classroom.once('exit', resolve));
}

function printSize() {
  const assets = new URL('../dist/app/assets/', import.meta.url);
  const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'));
  const bytes = scripts.map((name) => readFileSync(new URL(name, assets)));
  const sum = (sizes) => (sizes.reduce((all, one) => all + one.length, 0) / 1024).toFixed(0);
  line('JavaScript, KiB', `${sum(bytes)}; gzip ${sum(bytes.map((one) => gzipSync(one, { level: 9 })))}`);
}

async function start() {
  const child = spawn(binary, ['up', '--port-offset', String(OFFSET)], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      if (/^ready in /m.test(output)) resolve();
    });
    child.once('exit', (code) => reject(new Error(`${binary} up ended with ${code} before it was ready`)));
  });
  return child;
}

async function ask(method, path, body) {
  const response = await fetch(`http://127.0.0.1:${7700 + OFFSET}/api/v1/${path}`, { method, ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }) });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.json();
}

/** Adds workloads until the classroom makes as many events as wanted; returns how many it makes. */
async function load() {
  let rate = 0;
  for (let count = 1; count <= MOST_WORKLOADS && rate < wanted; count++) {
    await ask('POST', 'workloads', { topic: `load-${count}`, messagesPerSecond: STEP, partitions: 3 });
    await wait(2);
    const before = await ask('GET', 'cluster');
    await wait(3);
    rate = ((await ask('GET', 'cluster')).n - before.n) / 3;
  }
  return rate;
}

async function measure(rate) {
  const page = await openPlainPage(browser, `http://127.0.0.1:${7700 + OFFSET}/?lang=en`, { width: 1280, height: 720 });
  await drawing(page);
  await wait(5);
  const processes = await processesOf();
  const read = async () => ({ ...(await page.evaluate(() => ({ ...globalThis.twinlogFrames, at: performance.now() }))), ...processorTime(processes) });
  const samples = [];
  const memory = [];
  let before = await read();
  const began = before;
  for (let at = 0; at < seconds; at += SAMPLE_SECONDS) {
    for (let second = at; second < Math.min(at + SAMPLE_SECONDS, seconds); second++) {
      await wait(1);
      memory.push(megabytesOf(processes.renderer)); // as it is, garbage and all
    }
    const after = await read();
    const took = (after.at - before.at) / 1000;
    const frames = Math.max(1, after.count - before.count);
    samples.push({ fps: (after.count - before.count) / took, events: (after.records - before.records) / took, main: (after.main - before.main) / frames, all: (after.all - before.all) / frames });
    before = after;
  }
  const whole = (before.at - began.at) / 1000;
  line('events made a second, at the beginning', rate.toFixed(0), `${wanted} or more`);
  line('events taken by the page, a second', spread(samples.map(({ events }) => events)), `${wanted} or more`);
  line('frames a second', `${spread(samples.map(({ fps }) => fps))}; whole run ${((before.count - began.count) / whole).toFixed(1)}`, `${FEWEST_FRAMES} or more`);
  line('script a frame, ms', ((before.spentMS - began.spentMS) / (before.count - began.count)).toFixed(1));
  line("processor time a frame, ms: the page's thread", spread(samples.map(({ main }) => main)), `less than ${MOST_FRAME_MS}`);
  line('processor time a frame, ms: page and painting', spread(samples.map(({ all }) => all)));
  line('processor time a second, ms: page and painting', ((before.all - began.all) / whole).toFixed(0));
  line('private memory of the renderer (as the task manager has it), MB', spread(memory.map(({ own }) => own)), `less than ${MOST_MEGABYTES}, the largest too`);
  line('resident memory of the renderer, shared with others or not, MB', spread(memory.map(({ all }) => all)), `less than ${MOST_MEGABYTES}`);
  line("of it the browser's own program, MB", spread(memory.map(({ file }) => file)));
  line('of it shared memory (pictures on their way), MB', spread(memory.map(({ shared }) => shared)));
  line('JavaScript heap as it is, MB', ((await page.send('Runtime.getHeapUsage')).totalSize / 1e6).toFixed(1));
  await page.send('HeapProfiler.collectGarbage');
  line('JavaScript heap after collection, MB', ((await page.send('Runtime.getHeapUsage')).usedSize / 1e6).toFixed(1));
}

/** Waits until the page has drawn some frames. */
async function drawing(page) {
  const frames = () => page.evaluate(() => globalThis.twinlogFrames?.count ?? 0).catch(() => 0); // before the document is there, there is nowhere to ask
  for (let tries = 0; (await frames()) < 10; tries++) {
    if (tries === READY_WITHIN_SECONDS * 4) throw new Error(`the page has drawn nothing within ${READY_WITHIN_SECONDS} s`);
    await wait(0.25);
  }
}

/** The process that runs the page, and the one that puts its pictures onto the screen; the browser's other processes are no part of it. */
async function processesOf() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const busiest = (type) => processInfo.filter((one) => one.type.toLowerCase() === type).sort((a, b) => b.cpuTime - a.cpuTime)[0]?.id;
  return { renderer: busiest('renderer'), painting: busiest('gpu') };
}

/** Milliseconds that have been run (Linux: from /proc): by the page's own thread, and by all of both processes, ended threads too. */
function processorTime({ renderer, painting }) {
  const main = Number(readFileSync(`/proc/${renderer}/task/${renderer}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  const all = [renderer, painting].filter(Boolean).reduce((sum, pid) => sum + wholeTime(pid), 0);
  return { main, all };
}

/** utime and stime, in ticks of 10 ms: the 12th and 13th field behind the process's name, which is in brackets. */
function wholeTime(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Own: anonymous memory and what of it is swapped out, which is what Chromium calls the private memory footprint. */
function megabytesOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const megabytes = (name) => (Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0) * 1024) / 1e6;
  return { own: megabytes('RssAnon') + megabytes('VmSwap'), all: megabytes('VmRSS'), file: megabytes('RssFile'), shared: megabytes('RssShmem') };
}

function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[sorted.length >> 1].toFixed(1)} (${sorted[0].toFixed(1)}–${sorted.at(-1).toFixed(1)})`;
}

function line(name, value, target) {
  console.log(`${name.padEnd(66)} ${value}${target ? ` [${target}]` : ''}`);
}

function wait(forSeconds) {
  return new Promise((resolve) => setTimeout(resolve, forSeconds * 1000));
}
