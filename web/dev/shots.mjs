// Takes pictures of every view of the page: in both languages, light and dark, on a small projector, a large one and a phone. It starts
// nothing: the classroom at URL should be a fresh one, for the views go from calm to broken, and what they break they put right again.
//
//   node dev/shots.mjs URL FOLDER [--only=view,view] [--size=1280,1920,390] [--language=en,zh] [--theme=light,dark]
//
// FOLDER/index.html shows all of them. What is cut, lies over something else or is too small to read is printed, by view.
import { mkdirSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { launchOptions } from '../e2e/browser.js';
import { flaws } from './shots/flaws.mjs';
import { views } from './shots/views.mjs';

const SIZES = { 1280: [1280, 720], 1920: [1920, 1080], 390: [390, 844] };
const LANGUAGES = ['en', 'zh'];
const THEMES = ['light', 'dark'];
/** How long a picture has to come to rest after it got another size, language or theme. */
const REST_MS = 350;

const { url, folder, only, sizes, languages, themes } = wishes(process.argv.slice(2));
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch(launchOptions);
const taken = [];
const found = new Map();
try {
  for (const view of views) if (!only || only.includes(view.name)) await shootView(view);
} finally {
  await browser.close();
}
writeFileSync(`${folder}/index.html`, overview(taken));
for (const [flaw, where] of [...found].sort()) console.log(`${flaw}\n    ${[...where].join(' ')}`);
console.log(`${taken.length} pictures of ${new Set(taken.map(({ view }) => view)).size} views in ${folder}`);

function wishes(args) {
  const [url, folder] = args.filter((arg) => !arg.startsWith('--'));
  if (!folder) throw new Error('usage: node dev/shots.mjs URL FOLDER [--only=view,view] [--size=1280,1920,390] [--language=en,zh] [--theme=light,dark]');
  const list = (name, all) => args.find((arg) => arg.startsWith(`--${name}=`))?.split('=')[1].split(',') ?? all;
  return { url, folder, only: list('only'), sizes: list('size', ['1280', '1920', '390']), languages: list('language', LANGUAGES), themes: list('theme', THEMES) };
}

async function shootView({ name, open, each, close }) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  page.setDefaultTimeout(60_000);
  try {
    await page.goto(`${url}?lang=en&theme=light`);
    await page.locator('[data-node=kafka-1]').waitFor();
    await open(page, url);
    await shootAll(page, name, each);
  } catch (error) {
    console.log(`${name}: ${error.message.split('\n')[0]}`);
    await page.screenshot({ path: `${folder}/${name}-failed.png` });
  } finally {
    await close?.(page, url);
    await page.close();
  }
}

async function shootAll(page, view, each) {
  for (const size of sizes) {
    const [width, height] = SIZES[size];
    await page.setViewportSize({ width, height });
    for (const language of languages) {
      await page.evaluate((locale) => document.querySelector(`header button[lang^="${locale}"]`).click(), language);
      for (const theme of themes) {
        await page.evaluate((wanted) => {
          if (document.documentElement.dataset.theme !== wanted) document.querySelector('header > button.quiet').click();
        }, theme);
        await page.waitForTimeout(REST_MS);
        await each?.(page);
        const file = `${view}-${size}-${language}-${theme}.png`;
        await page.screenshot({ path: `${folder}/${file}` });
        if (size === '390' && theme === themes[0]) await page.screenshot({ path: `${folder}/${view}-${size}-${language}-whole.png`, fullPage: true });
        taken.push({ view, size, language, theme, file });
        if (theme === themes[0]) note(await page.evaluate(flaws, width), `${view}-${size}-${language}`);
      }
    }
  }
}

function note(list, where) {
  for (const flaw of list) {
    if (!found.has(flaw)) found.set(flaw, new Set());
    found.get(flaw).add(where);
  }
}

function overview(all) {
  const figures = all.map(({ view, size, language, theme, file }) => `<figure><a href="${file}"><img loading="lazy" src="${file}" alt=""></a><figcaption>${view}, ${size}, ${language}, ${theme}</figcaption></figure>`);
  return `<!doctype html><meta charset="utf-8"><title>twinlog: views of the page</title><style>body{display:flex;flex-wrap:wrap;gap:1rem;font:14px system-ui}figure{margin:0}img{height:360px;border:1px solid #999}</style>${figures.join('\n')}`;
}
