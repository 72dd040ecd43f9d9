import type { State, TypedRecord } from '../../trace/types';
import type { Check, Findings } from '../invariants';

/**
 * How long the records of the old owner's loss may come after those of the new owner: each node hands its records over by itself, and no
 * message between the two says which came first.
 */
const GRACE_MS = 3000;

interface Conflict {
  bundle: string;
  old: string;
  owner: string;
  record: TypedRecord;
}

/** One owner a bundle: its znode is ephemeral and created by one broker alone. */
export class OwnerCheck implements Check {
  readonly roles = ['pulsar', 'ensemble'];
  private readonly owners = new Map<string, string>();
  /** By bundle, the change that deleted its znode last: every server of the ensemble tells it. */
  private readonly deleted = new Map<string, number>();
  private conflicts: Conflict[] = [];
  private lastDrop = -Infinity;

  constructor(private readonly findings: Findings) {}

  begin(state: State): void {
    for (const [bundle, { owner }] of Object.entries(state.pulsar.bundles)) if (owner) this.owners.set(bundle, owner);
  }

  take(record: TypedRecord, state: State): void {
    switch (record.kind) {
      case 'pulsar.bundleOwned':
        this.owned(record, `${record.data.namespace}/${record.data.bundle}`);
        break;
      case 'pulsar.bundleReleased':
        this.released(`${record.data.namespace}/${record.data.bundle}`, record.node);
        break;
      case 'ensemble.znodeDeleted':
        this.znodeDeleted(record.data.path, record.data.zxid);
        break;
      case 'node.stopped':
        for (const [bundle, owner] of this.owners) if (owner === record.node) this.released(bundle, record.node);
        this.conflicts = this.conflicts.filter(({ old }) => old !== record.node);
        break;
      case 'trace.recordsDropped':
        this.lastDrop = record.time;
        break;
    }
    if (this.conflicts.length > 0) this.decide(record.time, state);
  }

  private owned(record: TypedRecord, bundle: string): void {
    const old = this.owners.get(bundle);
    this.owners.set(bundle, record.node);
    if (old === undefined || old === record.node) this.findings.held(record);
    else this.conflicts.push({ bundle, old, owner: record.node, record });
  }

  private released(bundle: string, node: string): void {
    if (this.owners.get(bundle) === node) this.owners.delete(bundle);
    this.conflicts = this.conflicts.filter((conflict) => conflict.bundle !== bundle || conflict.old !== node);
  }

  private znodeDeleted(path: string, zxid: number): void {
    if (!path.startsWith('/namespace/')) return;
    const bundle = path.slice('/namespace/'.length);
    if (zxid <= (this.deleted.get(bundle) ?? -1)) return;
    this.deleted.set(bundle, zxid);
    const waiting = this.conflicts.some((conflict) => conflict.bundle === bundle);
    if (waiting) this.conflicts = this.conflicts.filter((conflict) => conflict.bundle !== bundle);
    else this.owners.delete(bundle);
  }

  /** A conflict that nothing has explained in time is a breach, unless the records that would explain it may be missing. */
  private decide(now: number, state: State): void {
    const due = this.conflicts.filter(({ record }) => now - record.time > GRACE_MS);
    if (due.length === 0) return;
    this.conflicts = this.conflicts.filter((conflict) => !due.includes(conflict));
    const ensembleSeen = Object.keys(state.ensemble.znodes).length > 0;
    for (const { bundle, old, owner, record } of due) {
      const params = { bundle, brokers: [old, owner] };
      if (ensembleSeen && this.lastDrop < record.time - GRACE_MS) this.findings.broken(record, { key: 'breach.owner', params });
      else this.findings.unknown(record, { key: 'doubt.owner', params });
    }
  }
}
