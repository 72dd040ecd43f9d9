import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { dirname, join } from 'node:path';
import { emptyState } from './reducer';
import type { SnapshotFrame, WireRecord } from './types';

/** The engine's recorded runs, which both reducers are held against. */
export const runsFolder = join(dirname(fileURLToPath(import.meta.url)), '../../../engine/world/testdata');

export function readLines(name: string): unknown[] {
  const file = readFileSync(join(runsFolder, name));
  return (name.endsWith('.gz') ? gunzipSync(file) : file)
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
}

/** The crafted run as the stream would carry it. */
export function craftedRecords(): WireRecord[] {
  return (readLines('crafted.jsonl') as Omit<WireRecord, 'n'>[]).map((record, index) => ({ ...record, n: index + 1 }) as WireRecord);
}

export function snapshotAt(n: number, state = emptyState()): SnapshotFrame {
  return { type: 'snapshot', n, at: '2026-03-02T09:00:00Z', state, window: { firstN: 1, lastN: n }, resynchronised: 0 };
}
