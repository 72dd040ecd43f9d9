import type { Text } from '../i18n/message';
import { own } from '../trace/reduce/maps';
import type { State, TypedRecord } from '../trace/types';
import { ControllerCheck } from './invariants/controller';
import { FenceCheck } from './invariants/fence';
import { HighWatermarkCheck } from './invariants/high-watermark';
import { IsrCheck } from './invariants/isr';
import { OwnerCheck } from './invariants/owner';

export type InvariantName = 'isr' | 'highWatermark' | 'controller' | 'owner' | 'fence';

export const INVARIANTS: readonly InvariantName[] = ['isr', 'highWatermark', 'controller', 'owner', 'fence'];

/** One thing that an invariant has to say, with the record that decides it. */
export interface Finding {
  n: number;
  time: number;
  text: Text;
}

/**
 * holds: it was checked and never broken. broken: a record contradicts it. unknown: records that would tell are missing. idle: nothing has
 * happened yet that it is about.
 */
export type Verdict = 'holds' | 'broken' | 'unknown' | 'idle';

export interface Light {
  invariant: InvariantName;
  verdict: Verdict;
  /** Why it is broken, or why it cannot be told; the last few, oldest first. */
  findings: Finding[];
}

/** Where a check puts what it finds. */
export interface Findings {
  /** The invariant was looked at and held. */
  held(record: Pick<TypedRecord, 'n'>): void;
  broken(record: Pick<TypedRecord, 'n' | 'time'>, text: Text): void;
  unknown(record: Pick<TypedRecord, 'n' | 'time'>, text: Text): void;
}

export interface Check {
  /** Begins with a state whose records are not known. */
  begin(state: State): void;
  /** Takes a record and the state after it. */
  take(record: TypedRecord, state: State): void;
  /** The role of the nodes whose missing records leave it in doubt. */
  readonly roles: readonly string[];
}

/** Findings that are kept of each invariant; a fault that repeats would fill the memory. */
const KEPT = 50;
const SHOWN = 5;

class Ledger implements Findings {
  firstHeld = Infinity;
  readonly breaches: Finding[] = [];
  readonly doubts: Finding[] = [];

  held({ n }: Pick<TypedRecord, 'n'>): void {
    this.firstHeld = Math.min(this.firstHeld, n);
  }

  broken({ n, time }: Pick<TypedRecord, 'n' | 'time'>, text: Text): void {
    if (this.breaches.length < KEPT) this.breaches.push({ n, time, text });
  }

  unknown({ n, time }: Pick<TypedRecord, 'n' | 'time'>, text: Text): void {
    if (this.doubts.length < KEPT) this.doubts.push({ n, time, text });
  }

  at(invariant: InvariantName, n: number): Light {
    const upTo = (all: readonly Finding[]) => all.filter((finding) => finding.n <= n).slice(-SHOWN);
    const breaches = upTo(this.breaches);
    if (breaches.length > 0) return { invariant, verdict: 'broken', findings: breaches };
    const doubts = upTo(this.doubts);
    if (doubts.length > 0) return { invariant, verdict: 'unknown', findings: doubts };
    return { invariant, verdict: this.firstHeld <= n ? 'holds' : 'idle', findings: [] };
  }
}

/**
 * The promises of the two systems, checked against every record of the trace. A light turns red only on records that contradict each other;
 * where records are missing, the answer is that it cannot be told.
 */
export class Invariants {
  private readonly ledgers = new Map(INVARIANTS.map((name) => [name, new Ledger()]));
  private readonly checks: readonly { name: InvariantName; check: Check }[];

  constructor() {
    const of = (name: InvariantName) => this.ledgers.get(name)!;
    this.checks = [
      { name: 'isr', check: new IsrCheck(of('isr')) },
      { name: 'highWatermark', check: new HighWatermarkCheck(of('highWatermark')) },
      { name: 'controller', check: new ControllerCheck(of('controller')) },
      { name: 'owner', check: new OwnerCheck(of('owner')) },
      { name: 'fence', check: new FenceCheck(of('fence')) },
    ];
  }

  begin(state: State): void {
    for (const { check } of this.checks) check.begin(state);
  }

  take(record: TypedRecord, state: State): void {
    if (record.kind === 'trace.recordsDropped') this.doubt(record, state);
    for (const { check } of this.checks) check.take(record, state);
  }

  private doubt(record: Extract<TypedRecord, { kind: 'trace.recordsDropped' }>, state: State): void {
    const role = own(state.nodes, record.node)?.role ?? record.node.slice(0, record.node.lastIndexOf('-'));
    const text: Text = { key: 'doubt.dropped', params: { node: record.node, count: record.data.count } };
    for (const { name, check } of this.checks) if (check.roles.includes(role)) this.ledgers.get(name)!.unknown(record, text);
  }

  /** The lights at the instant after record n. */
  at(n: number): Light[] {
    return INVARIANTS.map((name) => this.ledgers.get(name)!.at(name, n));
  }
}
