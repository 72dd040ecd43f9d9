// Measures the page while a real classroom makes events as fast as asked: frames a second and memory, in a headless Chromium without a
// GPU, and prints the size of the page's JavaScript.
//
//   node dev/endurance.js BINARY [seconds] [events a second]
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { chromium } from 'playwright-core';
import { launchOptions } from '../e2e/browser.js';

const [binary, secondsText = '600', wantedText = '10000'] = process.argv.slice(2);
if (!binary) throw new Error('usage: node dev/endurance.js BINARY [seconds] [events a second]');
const seconds = Number(secondsText);
const wanted = Number(wantedText);
const OFFSET = 21000;
const SAMPLE_SECONDS = 10;
/** Messages a second of one workload; the events that they make are measured, not assumed. */
const STEP = 60;
const MOST_WORKLOADS = 16;

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
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  await page.goto(`http://127.0.0.1:${7700 + OFFSET}/?lang=en`);
  await page.getByRole('group', { name: /^kafka-1/ }).waitFor();
  await wait(5);
  const devtools = await page.context().newCDPSession(page);
  const read = () => page.evaluate(() => ({ ...globalThis.twinlogFrames, at: performance.now() }));
  const samples = [];
  let before = await read();
  const began = before;
  for (let at = 0; at < seconds; at += SAMPLE_SECONDS) {
    await wait(Math.min(SAMPLE_SECONDS, seconds - at));
    const after = await read();
    const took = (after.at - before.at) / 1000;
    await devtools.send('HeapProfiler.collectGarbage');
    const { usedSize } = await devtools.send('Runtime.getHeapUsage');
    samples.push({ fps: (after.count - before.count) / took, events: (after.records - before.records) / took, heap: usedSize / 1e6, resident: await rendererMegabytes() });
    before = await read();
  }
  const whole = (before.at - began.at) / 1000;
  line('events made a second, at the beginning', rate.toFixed(0));
  line('events taken by the page, a second', spread(samples.map(({ events }) => events)));
  line('frames a second', `${spread(samples.map(({ fps }) => fps))}; whole run ${((before.count - began.count) / whole).toFixed(1)}`);
  line('script a frame, ms', ((before.spentMS - began.spentMS) / (before.count - began.count)).toFixed(1));
  line('JavaScript heap after collection, MB', spread(samples.map(({ heap }) => heap)));
  line('renderer process, resident, MB', spread(samples.map(({ resident }) => resident)));
}

/** The memory of the process that runs the page (Linux: from /proc); the browser's other processes are no part of it. */
async function rendererMegabytes() {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1] ?? 0) / 1000);
  return Math.max(0, ...sizes);
}

function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return `${sorted[sorted.length >> 1].toFixed(1)} (${sorted[0].toFixed(1)}–${sorted.at(-1).toFixed(1)})`;
}

function line(name, value) {
  console.log(`${name.padEnd(58)} ${value}`);
}

function wait(forSeconds) {
  return new Promise((resolve) => setTimeout(resolve, forSeconds * 1000));
}
