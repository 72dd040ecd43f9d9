import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { typed } from '../trace/decode';
import type { WireNotable } from '../trace/events.gen';
import { apply, emptyState } from '../trace/reducer';
import { readLines } from '../trace/run.fixture';
import type { WireRecord } from '../trace/types';
import { earlierSentences } from './earlier';
import { Story } from './story';

/** What the server keeps of the engine's recorded runs. */
function kept(name: string): WireNotable[] {
  const file = readFileSync(fileURLToPath(new URL(`../../../visualizer/hub/testdata/${name}.notable.json.gz`, import.meta.url)));
  return gunzipSync(file)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as WireNotable);
}

it.each([['crafted', 'crafted.jsonl'], ['classroom', 'classroom.jsonl.gz']])('what the server keeps of a run tells what the whole run tells: %s', (name, records) => {
  const story = new Story();
  const state = emptyState();
  (readLines(records) as WireRecord[]).forEach((record, index) => {
    const one = typed({ ...record, n: index + 1 });
    apply(state, one);
    story.take(one, state);
  });
  const told = story.all.map(({ held: _held, since: _since, ...sentence }) => sentence);
  expect(told.length).toBeGreaterThan(100);
  const earlier = earlierSentences(kept(name));
  expect(earlier.map(({ n }) => n)).toEqual(told.map(({ n }) => n));
  expect(earlier).toEqual(told);
});
