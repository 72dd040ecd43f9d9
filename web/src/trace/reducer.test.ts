import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { typed } from './decode';
import { apply, emptyState } from './reducer';
import { readLines, runsFolder } from './run.fixture';
import type { State, WireRecord } from './types';

const runs = readdirSync(runsFolder)
  .filter((name) => name.includes('.states.jsonl'))
  .map((states) => ({ states, records: states.replace('.states', '') }));

describe('the reducer, held against the states that engine/world recorded', () => {
  it('has runs to be held against', () => expect(runs.map(({ records }) => records)).toEqual(['classroom.jsonl.gz', 'crafted.jsonl']));

  it.each(runs)('reaches the same states as Go: $records', (run) => {
    const records = readLines(run.records) as WireRecord[];
    const states = readLines(run.states) as { n: number; state: State }[];
    expect(states.length).toBeGreaterThan(0);
    expect(states.at(-1)!.n).toBe(records.length);
    const expected = new Map(states.map(({ n, state }) => [n, state]));
    const state = emptyState();
    records.forEach((record, index) => {
      apply(state, typed(record));
      const want = expected.get(index + 1);
      if (want) expect(state, `after record ${index + 1}, ${record.kind}`).toEqual(want);
    });
  });
});

describe('names that are also names of JavaScript', () => {
  it('takes a topic called constructor and one called __proto__ for topics', () => {
    const state = emptyState();
    for (const topic of ['constructor', '__proto__']) {
      const data = { topic, topicID: 'id', replicas: [[1, 2, 3]] };
      apply(state, typed({ n: 1, run: 'r', node: 'kafka-1', seq: 1, at: '2026-01-01T00:00:00Z', kind: 'kafka.topicCreated', data }));
    }
    expect(Object.keys(state.kafka.topics)).toEqual(['constructor', '__proto__']);
    expect(Object.getPrototypeOf(state.kafka.topics)).toBe(Object.prototype);
  });
});
