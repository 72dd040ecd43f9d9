import { shortLabel } from './topics';

/** A topic's name at its hash: a flag on a pole, in one of a few rows above the hash space. */
export interface Flag {
  topic: string;
  at: number;
  /** Empty where there is no room for a name: then the pole alone stands there. */
  text: string;
  /** 0 is next to the hash space. */
  row: number;
  /** The name is left of its pole. */
  left: boolean;
}

export interface FlagSpace {
  /** Pixels. */
  width: number;
  character: number;
  rows: number;
}

const GAP = 8;

/** Where a name would stand. */
interface Place {
  from: number;
  to: number;
  row: number;
  pole: number;
}

interface Named {
  topic: string;
  label: string;
  at: number;
}

/** Finds rows for the names; where one of them does not fit as it is, all are shortened: a topic's partitions are named alike. */
export function placeFlags(topics: readonly Named[], space: FlagSpace): Flag[] {
  const whole = place(topics, space, (label) => label);
  return whole.every(({ text }) => text !== '') ? whole : place(topics, space, shortLabel);
}

/**
 * From the right to the left, so that no pole crosses another name: who does not fit beside the next name on its right goes a row up, or
 * to the left of its pole, or is left out.
 */
function place(topics: readonly Named[], { width, character, rows }: FlagSpace, named: (label: string) => string): Flag[] {
  const taken: Place[] = [];
  const flags: Flag[] = [];
  for (const { topic, label, at } of [...topics].sort((a, b) => b.at - a.at)) {
    const pole = at * width;
    const flag = { topic, at, text: '', row: 0, left: false };
    const text = named(label);
    const size = text.length * character + GAP;
    search: for (const left of [false, true]) {
      for (let row = 0; row < rows; row++) {
        const there = { from: left ? pole - size : pole, to: left ? pole : pole + size, row, pole };
        if (there.from < 0 || there.to > width || taken.some((other) => collide(there, other))) continue;
        Object.assign(flag, { text, row, left });
        taken.push(there);
        break search;
      }
    }
    flags.push(flag);
  }
  return flags.reverse();
}

/** Whether two names lie over each other, or the pole of the one that is higher crosses the other. */
function collide(a: Place, b: Place): boolean {
  if (a.row === b.row) return a.from < b.to + GAP && b.from < a.to + GAP;
  const [higher, lower] = a.row > b.row ? [a, b] : [b, a];
  return higher.pole > lower.from - GAP / 2 && higher.pole < lower.to + GAP / 2;
}
