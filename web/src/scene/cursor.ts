import { own } from '../trace/reduce/maps';
import type { Ledger, Subscription } from '../trace/types';

/** What is told of a stretch of entries: acknowledged, with a consumer, or waiting. */
export type Reach = 'acknowledged' | 'pending' | 'waiting';

export interface Stretch {
  reach: Reach;
  /** Fractions of the bar. */
  from: number;
  to: number;
}

/**
 * A subscription's cursor drawn on its topic's managed ledger, all ledgers end to end. The bar shows the newest entries, and the whole
 * backlog where that is longer.
 */
export interface CursorBar {
  stretches: Stretch[];
  /** Where the mark-delete position is: everything before it is acknowledged. */
  markDelete: number;
  /** Where ledgers end within the bar. */
  ledgerEnds: number[];
  /** Entries of the managed ledger, and the first of them that the bar shows. */
  entries: number;
  first: number;
}

/** Entries that a bar shows at least: with few a step is to be seen. */
const LEAST = 40;

/** Counts positions through all ledgers of a topic: the number of entries up to and including one. */
export class Ranks {
  readonly entries: number;
  private readonly before = new Map<number, number>();
  private readonly order: { ledger: number; entries: number }[] = [];

  constructor(ids: readonly number[], ledgers: Record<string, Ledger>) {
    let sum = 0;
    for (const id of [...ids].sort((a, b) => a - b)) {
      const ledger = own(ledgers, id);
      const entries = ledger ? Math.max(0, (ledger.state === 'closed' ? ledger.lastEntry : ledger.lastAddConfirmed) + 1) : 0;
      this.before.set(id, sum);
      this.order.push({ ledger: id, entries });
      sum += entries;
    }
    this.entries = sum;
  }

  /** Entries up to and including a position; one in a ledger that is gone counts as before the ones that are there. */
  of({ ledger, entry }: { ledger: number; entry: number }): number {
    const before = this.before.get(ledger);
    if (before !== undefined) return Math.max(0, before + entry + 1);
    const next = this.order.find((one) => one.ledger > ledger);
    return next ? this.before.get(next.ledger)! : ledger < 0 ? 0 : this.entries;
  }

  /** The ranks at which one ledger ends and another begins. */
  get ends(): number[] {
    return this.order.slice(1).map(({ ledger }) => this.before.get(ledger)!).filter((rank) => rank > 0);
  }
}

export function cursorBar(ranks: Ranks, subscription: Subscription): CursorBar {
  const marked = ranks.of(subscription.markDelete);
  // Confirmed to the writer, then recorded: for a moment the cursor knows of an entry before its ledger does.
  const entries = Math.max(ranks.entries, marked, marked + Math.max(0, subscription.backlog));
  const first = Math.max(0, Math.min(entries - LEAST, marked - 4));
  const span = Math.max(LEAST, entries - first);
  const at = (rank: number) => Math.min(1, Math.max(0, (rank - first) / span));
  const stretches: Stretch[] = [];
  const add = (reach: Reach, from: number, to: number) => {
    if (at(to) > at(from)) stretches.push({ reach, from: at(from), to: at(to) });
  };
  add('acknowledged', first, marked);
  const single = subscription.acknowledged
    .map(({ ledger, first, last }) => ({ from: ranks.of({ ledger, entry: first - 1 }), to: ranks.of({ ledger, entry: last }) }))
    .filter(({ to }) => to > marked);
  // What consumers hold is taken to be the first entries behind the mark-delete position that are not acknowledged.
  let held = subscription.pending;
  let reached = marked;
  for (const { from, to } of [...single, { from: entries, to: entries }]) {
    const start = Math.max(reached, from);
    const taken = Math.max(0, Math.min(held, start - reached));
    add('pending', reached, reached + taken);
    add('waiting', reached + taken, start);
    held -= taken;
    add('acknowledged', start, to);
    reached = Math.max(start, to);
  }
  return { stretches, markDelete: at(marked), ledgerEnds: ranks.ends.filter((rank) => rank > first && rank < entries).map(at), entries, first };
}
