import { typed } from './decode';
import { Flights } from './flights';
import { apply, emptyState } from './reducer';
import type { SnapshotFrame, State, TypedRecord, WireRecord } from './types';

interface Checkpoint {
  n: number;
  state: State;
}

export interface StoreLimits {
  /** Records that are kept; the oldest go first. */
  records: number;
  /** Records between two checkpoints: seek replays at most so many. */
  checkpointEvery: number;
}

const DEFAULT_LIMITS: StoreLimits = { records: 150_000, checkpointEvery: 4_000 };

/**
 * A bounded window of the trace that can be asked for the state after any of its records.
 *
 * Invariants: records have consecutive n; clock[i] (the time at which record i is shown) never goes back although the nodes' own times may;
 * the first checkpoint is the state before the first record, so that every state of the window can be reached.
 */
export class TraceStore {
  readonly flights = new Flights();
  /** How often the server had to give a new snapshot because this page was too slow. */
  resynchronised = 0;

  private records: TypedRecord[] = [];
  /** By node, the n of its records, in order: causes are named by node and seq. */
  private byNode = new Map<string, number[]>();
  private clock: number[] = [];
  private checkpoints: Checkpoint[] = [];
  private latest: { n: number; state: State } | undefined;
  private cursor: Checkpoint | undefined;

  constructor(private readonly limits: StoreLimits = DEFAULT_LIMITS) {}

  /** Starts anew from a snapshot: the records before it are not known. */
  reset(frame: SnapshotFrame): void {
    this.records = [];
    this.byNode.clear();
    this.clock = [];
    this.flights.clear();
    this.cursor = undefined;
    this.latest = { n: frame.n, state: frame.state };
    this.checkpoints = [{ n: frame.n, state: structuredClone(frame.state) }];
    this.resynchronised = frame.resynchronised;
  }

  /** Takes records in order; returns those that were new. A gap is an error: the caller has to ask for a snapshot. Each is told with the state after it. */
  append(wire: WireRecord[], told?: (record: TypedRecord, state: State) => void): TypedRecord[] {
    const latest = this.latest;
    if (!latest) throw new Error('records came before the first snapshot');
    const fresh: TypedRecord[] = [];
    for (const one of wire) {
      if (one.n <= latest.n) continue;
      if (one.n !== latest.n + 1) throw new Error(`record ${latest.n + 1} is missing: ${one.n} came instead`);
      const record = typed(one);
      this.records.push(record);
      this.index(record);
      this.clock.push(Math.max(record.time, this.clock.at(-1) ?? -Infinity));
      this.flights.take(record);
      apply(latest.state, record);
      latest.n = record.n;
      fresh.push(record);
      told?.(record, latest.state);
      if (record.n - this.checkpoints.at(-1)!.n >= this.limits.checkpointEvery) {
        this.checkpoints.push({ n: record.n, state: structuredClone(latest.state) });
      }
    }
    if (this.records.length > this.limits.records) this.forgetOldest();
    return fresh;
  }

  /**
   * Puts the records before the snapshot in front, up to firstN, folded from an earlier state: by default the one before anything
   * happened. False when they do not fit: there are others, or too many.
   */
  prepend(wire: WireRecord[], told?: (record: TypedRecord, state: State) => void, base: { n: number; state: State } = { n: 0, state: emptyState() }): boolean {
    if (!this.latest || wire.length !== this.firstN - base.n || wire.some(({ n }, index) => n !== base.n + index + 1)) return false;
    if (wire.length + this.records.length > this.limits.records) return false;
    const state = structuredClone(base.state);
    const early = wire.map(typed);
    const checkpoints: Checkpoint[] = [{ n: base.n, state: structuredClone(base.state) }];
    for (const record of early) {
      apply(state, record);
      told?.(record, state);
      if (record.n < this.firstN && record.n % this.limits.checkpointEvery === 0) checkpoints.push({ n: record.n, state: structuredClone(state) });
    }
    this.checkpoints.unshift(...checkpoints);
    this.records = [...early, ...this.records];
    this.clock = [];
    this.flights.clear();
    this.byNode.clear();
    for (const record of this.records) {
      this.index(record);
      this.clock.push(Math.max(record.time, this.clock.at(-1) ?? -Infinity));
      this.flights.take(record);
    }
    return true;
  }

  get ready(): boolean {
    return this.latest !== undefined;
  }

  /** n of the state before the first record. */
  get firstN(): number {
    return this.checkpoints[0]?.n ?? 0;
  }

  get lastN(): number {
    return this.latest?.n ?? 0;
  }

  /** The times that can be shown; undefined while there is no record. */
  get span(): { from: number; to: number } | undefined {
    return this.clock.length === 0 ? undefined : { from: this.clock[0]!, to: this.clock.at(-1)! };
  }

  /** The state now. It is the store's own: read it, do not keep or change it. */
  get state(): State | undefined {
    return this.latest?.state;
  }

  /** The state after record n, n kept within the window. Going forward from the last call is cheap; the result is the store's own. */
  seek(n: number): State {
    const latest = this.latest;
    if (!latest) throw new Error('seek before the first snapshot');
    const target = Math.min(Math.max(n, this.firstN), latest.n);
    if (target === latest.n) return latest.state;
    const nearest = this.checkpointBefore(target);
    // A clock that goes on passes checkpoints: to apply the records in between takes less than to copy a state.
    if (!this.cursor || this.cursor.n > target || (this.cursor.n < nearest.n && target - this.cursor.n > this.limits.checkpointEvery)) {
      this.cursor = { n: nearest.n, state: structuredClone(nearest.state) };
    }
    const first = this.records[0]!.n;
    for (let next = this.cursor.n + 1; next <= target; next++) apply(this.cursor.state, this.records[next - first]!);
    this.cursor.n = target;
    return this.cursor.state;
  }

  record(n: number): TypedRecord | undefined {
    const first = this.records[0]?.n;
    return first === undefined ? undefined : this.records[n - first];
  }

  /** The time at which the state after record n is shown. */
  timeOf(n: number): number | undefined {
    const first = this.records[0]?.n;
    return first === undefined ? undefined : this.clock[n - first];
  }

  /** n of the last record that is shown at the time; firstN when the time is before all of them. */
  nAt(time: number): number {
    let low = 0;
    let high = this.clock.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.clock[middle]! <= time) low = middle + 1;
      else high = middle;
    }
    return this.firstN + low;
  }

  /** The newest records up to n that pass the test, newest first, at most limit of them out of the last reach records. */
  preceding(n: number, test: (record: TypedRecord) => boolean, limit: number, reach = Infinity): TypedRecord[] {
    const found: TypedRecord[] = [];
    const last = Math.min(n, this.lastN) - this.firstN - 1;
    for (let index = last; index >= 0 && last - index < reach && found.length < limit; index--) {
      const record = this.records[index]!;
      if (test(record)) found.push(record);
    }
    return found;
  }

  /** The first records after n that pass the test, at most limit of them out of the next reach records. */
  following(n: number, test: (record: TypedRecord) => boolean, limit: number, reach: number): TypedRecord[] {
    const found: TypedRecord[] = [];
    const first = Math.max(0, n - this.firstN);
    for (let index = first; index < this.records.length && index - first < reach && found.length < limit; index++) {
      const record = this.records[index]!;
      if (test(record)) found.push(record);
    }
    return found;
  }

  /** Tells every record at hand anew, oldest first, each with the state after it. The state is the walk's own. */
  replay(begin: (state: State) => void, told: (record: TypedRecord, state: State) => void): void {
    const start = this.checkpoints[0];
    if (!start) return;
    const state = structuredClone(start.state);
    begin(state);
    for (const record of this.records) {
      apply(state, record);
      told(record, state);
    }
  }

  private index({ node, n }: TypedRecord): void {
    const known = this.byNode.get(node);
    if (known) known.push(n);
    else this.byNode.set(node, [n]);
  }

  /** The record that led to a record; undefined when that is not known or no longer at hand. */
  causeOf(record: TypedRecord): TypedRecord | undefined {
    const { cause } = record;
    if (!cause?.node) return undefined;
    const numbers = this.byNode.get(cause.node);
    if (!numbers) return undefined;
    // A node numbers its records without a gap, so that its place is a subtraction away, unless the node began anew in between.
    let high = countUpTo(numbers, record.n - 1);
    const last = this.record(numbers[high - 1] ?? 0);
    if (!last) return undefined;
    const guess = this.record(numbers[high - 1 - (last.seq - cause.seq)] ?? 0);
    if (guess?.seq === cause.seq) return guess;
    for (; high > 0; high--) {
      const found = this.record(numbers[high - 1]!)!;
      if (found.seq === cause.seq) return found;
    }
    return undefined;
  }

  /** The first record that names a record as its cause, out of the next reach records. */
  firstEffectOf({ n, node, seq }: TypedRecord, reach = 30_000): TypedRecord | undefined {
    return this.following(n, ({ cause }) => cause?.seq === seq && cause.node === node, 1, reach)[0];
  }

  private checkpointBefore(n: number): Checkpoint {
    let found = this.checkpoints[0]!;
    for (const checkpoint of this.checkpoints) {
      if (checkpoint.n > n) break;
      found = checkpoint;
    }
    return found;
  }

  /** Drops the records up to a checkpoint, so that the first checkpoint stays the state before the first record. */
  private forgetOldest(): void {
    const surplus = this.records.length - this.limits.records;
    const keepFrom = this.checkpoints.findIndex((checkpoint) => checkpoint.n - this.firstN >= surplus);
    if (keepFrom <= 0) return;
    const dropped = this.checkpoints[keepFrom]!.n - this.firstN;
    // In place: a copy of a hundred thousand records several times a second is what the garbage would be made of.
    this.checkpoints.splice(0, keepFrom);
    this.records.splice(0, dropped);
    this.clock.splice(0, dropped);
    this.flights.forget(this.firstN + 1);
    for (const [node, numbers] of this.byNode) {
      const keep = numbers.findIndex((n) => n > this.firstN);
      if (keep < 0) this.byNode.delete(node);
      else numbers.splice(0, keep);
    }
    if (this.cursor && this.cursor.n < this.firstN) this.cursor = undefined;
  }
}

/** How many of the numbers, which go up, are at most limit. */
function countUpTo(numbers: readonly number[], limit: number): number {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
