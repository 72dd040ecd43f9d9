// Prints how many frames a second the page draws with many messages in flight, in a headless Chromium without a GPU.
//
//   node dev/motion.js URL [seconds]
import { chromium } from 'playwright-core';
import { launchOptions } from '../e2e/browser.js';

const url = process.argv[2];
const seconds = Number(process.argv[3] ?? 10);
if (!url) throw new Error('usage: node dev/motion.js URL [seconds]');

const browser = await chromium.launch(launchOptions);
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
await page.goto(url);
await page.getByRole('group', { name: /^kafka-1/ }).waitFor();
await page.waitForTimeout(3000);
const read = () => page.evaluate(() => ({ ...globalThis.twinlogFrames, at: performance.now() }));
const before = await read();
let most = 0;
for (let second = 0; second < seconds; second++) {
  await page.waitForTimeout(1000);
  const counts = await page.locator('.legend .count').allTextContents();
  most = Math.max(most, counts.reduce((sum, text) => sum + Number(text.replaceAll(',', '')), 0));
}
const after = await read();
const frames = after.count - before.count;
const fps = (frames * 1000) / (after.at - before.at);
const perFrame = (after.spentMS - before.spentMS) / frames;
const memory = await page.evaluate(() => globalThis.performance.memory?.usedJSHeapSize ?? 0);
console.log(`${fps.toFixed(1)} frames/s, ${perFrame.toFixed(1)} ms of script a frame, at most ${most} messages in flight, ${(memory / 1e6).toFixed(0)} MB heap`);
await browser.close();
