import { typed } from './decode';
import { Flights } from './flights';
import { KeptState } from './kept-state';
import { RecordLog } from './record-log';
import { apply, emptyState } from './reducer';
import type { Records, SnapshotFrame, State, TypedRecord } from './types';

interface Checkpoint {
  n: number;
  state: KeptState;
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
 * Invariants: records have consecutive n; the time at which a record is shown never goes back although the nodes' own times may;
 * the first checkpoint is the state before the first record, so that every state of the window can be reached.
 */
export class TraceStore {
  readonly flights = new Flights();
  /** How often the server had to give a new snapshot because this page was too slow. */
  resynchronised = 0;

  /** Each with its place on the clock. */
  private log = new RecordLog();
  /** By node, the n of its records, in order: causes are named by node and seq. */
  private byNode = new Map<string, number[]>();
  private checkpoints: Checkpoint[] = [];
  private latest: { n: number; state: State } | undefined;
  private cursor: { n: number; state: State } | undefined;

  constructor(private readonly limits: StoreLimits = DEFAULT_LIMITS) {}

  /** Starts anew from a snapshot: the records before it are not known. */
  reset(frame: SnapshotFrame): void {
    this.log = new RecordLog();
    this.byNode.clear();
    this.flights.clear();
    this.cursor = undefined;
    this.latest = { n: frame.n, state: frame.state };
    this.checkpoints = [{ n: frame.n, state: new KeptState(frame.state) }];
    this.resynchronised = frame.resynchronised;
  }

  /** Takes records in order; returns how many were new. A gap is an error: the caller has to ask for a snapshot. Each is told with the state after it. */
  append(records: Records, told?: (record: TypedRecord, state: State) => void): number {
    const latest = this.latest;
    if (!latest) throw new Error('records came before the first snapshot');
    let fresh = 0;
    for (const one of records) {
      if (one.n <= latest.n) continue;
      if (one.n !== latest.n + 1) throw new Error(`record ${latest.n + 1} is missing: ${one.n} came instead`);
      const record = typed(one);
      this.keep(record);
      apply(latest.state, record);
      latest.n = record.n;
      fresh++;
      told?.(record, latest.state);
      if (record.n - this.checkpoints.at(-1)!.n >= this.limits.checkpointEvery) {
        this.checkpoints.push({ n: record.n, state: new KeptState(latest.state) });
      }
    }
    if (this.log.length > this.limits.records) this.forgetOldest();
    return fresh;
  }

  /**
   * Puts the records before the snapshot in front, up to firstN, folded from an earlier state: by default the one before anything
   * happened. False when they do not fit: there are others, or too many.
   */
  prepend(records: Records & { readonly length: number }, told?: (record: TypedRecord, state: State) => void, base: { n: number; state: State } = { n: 0, state: emptyState() }): boolean {
    if (!this.latest || records.length !== this.firstN - base.n) return false;
    let last = base.n;
    for (const { n } of records) if (n !== ++last) return false;
    if (records.length + this.log.length > this.limits.records) return false;
    const state = structuredClone(base.state);
    const later = this.log;
    this.log = new RecordLog();
    this.flights.clear();
    this.byNode.clear();
    const checkpoints: Checkpoint[] = [{ n: base.n, state: new KeptState(base.state) }];
    for (const one of records) {
      const record = typed(one);
      this.keep(record);
      apply(state, record);
      told?.(record, state);
      if (record.n < this.firstN && record.n % this.limits.checkpointEvery === 0) checkpoints.push({ n: record.n, state: new KeptState(state) });
    }
    for (let index = 0; index < later.length; index++) this.keep(later.glance(index));
    this.checkpoints.unshift(...checkpoints);
    return true;
  }

  private keep(record: TypedRecord): void {
    const { log } = this;
    log.push(record, Math.max(record.time, log.length === 0 ? -Infinity : log.clockAt(log.length - 1)));
    this.index(record);
    this.flights.take(record);
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
    const { log } = this;
    return log.length === 0 ? undefined : { from: log.clockAt(0), to: log.clockAt(log.length - 1) };
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
      this.cursor = { n: nearest.n, state: nearest.state.copy() };
    }
    for (let index = this.cursor.n - this.firstN; index < target - this.firstN; index++) apply(this.cursor.state, this.log.glance(index));
    this.cursor.n = target;
    return this.cursor.state;
  }

  record(n: number): TypedRecord | undefined {
    const index = n - this.firstN - 1;
    return this.holds(index) ? this.log.at(index) : undefined;
  }

  /** The time at which the state after record n is shown. */
  timeOf(n: number): number | undefined {
    const index = n - this.firstN - 1;
    return this.holds(index) ? this.log.clockAt(index) : undefined;
  }

  /** n of the last record that is shown at the time; firstN when the time is before all of them. */
  nAt(time: number): number {
    let low = 0;
    let high = this.log.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.log.clockAt(middle) <= time) low = middle + 1;
      else high = middle;
    }
    return this.firstN + low;
  }

  /** The newest records up to n that pass the test, newest first, at most limit of them out of the last reach records. */
  preceding(n: number, test: (record: TypedRecord) => boolean, limit: number, reach = Infinity): TypedRecord[] {
    const found: TypedRecord[] = [];
    const last = Math.min(n, this.lastN) - this.firstN - 1;
    for (let index = last; index >= 0 && last - index < reach && found.length < limit; index--) {
      if (test(this.log.glance(index))) found.push(this.log.at(index));
    }
    return found;
  }

  /** The first records after n that pass the test, at most limit of them out of the next reach records. */
  following(n: number, test: (record: TypedRecord) => boolean, limit: number, reach: number): TypedRecord[] {
    const found: TypedRecord[] = [];
    const first = Math.max(0, n - this.firstN);
    for (let index = first; index < this.log.length && index - first < reach && found.length < limit; index++) {
      if (test(this.log.glance(index))) found.push(this.log.at(index));
    }
    return found;
  }

  /** Tells every record at hand anew, oldest first, each with the state after it. The state is the walk's own. */
  replay(begin: (state: State) => void, told: (record: TypedRecord, state: State) => void): void {
    const start = this.checkpoints[0];
    if (!start) return;
    const state = start.state.copy();
    begin(state);
    for (let index = 0; index < this.log.length; index++) {
      const record = this.log.glance(index);
      apply(state, record);
      told(record, state);
    }
  }

  private holds(index: number): boolean {
    return Number.isInteger(index) && index >= 0 && index < this.log.length;
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
    const last = this.seqOf(numbers[high - 1]);
    if (last === undefined) return undefined;
    const guess = numbers[high - 1 - (last - cause.seq)];
    if (this.seqOf(guess) === cause.seq) return this.record(guess!);
    for (; high > 0; high--) if (this.seqOf(numbers[high - 1]) === cause.seq) return this.record(numbers[high - 1]!);
    return undefined;
  }

  private seqOf(n: number | undefined): number | undefined {
    const index = (n ?? 0) - this.firstN - 1;
    return this.holds(index) ? this.log.seqAt(index) : undefined;
  }

  /** The first record that names a record as its cause, out of the next reach records. */
  firstEffectOf({ n, node, seq }: TypedRecord, reach = 30_000): TypedRecord | undefined {
    const { log } = this;
    const first = Math.max(0, n - this.firstN);
    for (let index = first; index < log.length && index - first < reach; index++) {
      if (log.causeSeqAt(index) === seq && log.glance(index).cause?.node === node) return log.at(index);
    }
    return undefined;
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
    const surplus = this.log.length - this.limits.records;
    const keepFrom = this.checkpoints.findIndex((checkpoint) => checkpoint.n - this.firstN >= surplus);
    if (keepFrom <= 0) return;
    const dropped = this.checkpoints[keepFrom]!.n - this.firstN;
    for (const { state } of this.checkpoints.splice(0, keepFrom)) state.drop();
    this.log.drop(dropped);
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
