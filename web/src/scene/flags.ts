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

/**
 * Finds rows for the names, from the right to the left, so that no pole crosses another name: who does not fit beside the next name on
 * its right goes a row up, is shortened, or is left out.
 */
export function placeFlags(topics: readonly { topic: string; label: string; at: number }[], { width, character, rows }: FlagSpace): Flag[] {
  const free = Array.from({ length: rows }, () => width); // up to where each row is free
  const flags: Flag[] = [];
  for (const { topic, label, at } of [...topics].sort((a, b) => b.at - a.at)) {
    const x = at * width;
    const flag = { topic, at, text: '', row: 0, left: false };
    search: for (const text of new Set([label, shortLabel(label)])) {
      const size = text.length * character + GAP;
      for (let row = 0; row < rows; row++) {
        if (x + size <= free[row]!) {
          Object.assign(flag, { text, row });
          free[row] = x - GAP;
          break search;
        }
      }
      // At the right end a name may stand to the left of its pole.
      if (free[0] === width && x + size > width && x - size >= 0) {
        Object.assign(flag, { text, left: true });
        free[0] = x - size;
        break search;
      }
    }
    flags.push(flag);
  }
  return flags.reverse();
}
