import type { State, TypedRecord } from '../../trace/types';
import type { Check, Findings } from '../invariants';

/**
 * A fenced ledger takes no adds. Two records contradict it: a bookie stores an ordinary add after it fenced the ledger (adds of a recovery
 * are allowed), or a writer counts an entry as confirmed that lies behind the end at which the ledger was closed for ever.
 */
export class FenceCheck implements Check {
  readonly roles = ['pulsar', 'bookie'];
  /** By ledger, the bookies' nodes that have fenced it. */
  private readonly fenced = new Map<number, Set<string>>();
  private readonly closed = new Map<number, number>();
  private readonly confirmed = new Map<number, number>();

  constructor(private readonly findings: Findings) {}

  begin(state: State): void {
    for (const [id, ledger] of Object.entries(state.pulsar.ledgers)) {
      const nodes = ledger.fencedBy.map((address) => state.pulsar.bookies[address]?.node ?? address);
      if (nodes.length > 0) this.fenced.set(Number(id), new Set(nodes));
      if (ledger.state === 'closed') this.closed.set(Number(id), ledger.lastEntry);
    }
  }

  take(record: TypedRecord): void {
    switch (record.kind) {
      case 'bookkeeper.ledgerFenced': {
        const nodes = this.fenced.get(record.data.ledger);
        if (nodes) nodes.add(record.node);
        else this.fenced.set(record.data.ledger, new Set([record.node]));
        return this.findings.held(record);
      }
      case 'bookkeeper.entryStored': {
        const { ledger, entry, recovery } = record.data;
        if (recovery || !this.fenced.get(ledger)?.has(record.node)) return;
        return this.findings.broken(record, { key: 'breach.fence', params: { node: record.node, ledger: String(ledger), entry } });
      }
      case 'bookkeeper.lastAddConfirmedAdvanced': {
        const { ledger, lastAddConfirmed } = record.data;
        this.confirmed.set(ledger, Math.max(lastAddConfirmed, this.confirmed.get(ledger) ?? -1));
        return this.compare(record, ledger);
      }
      case 'bookkeeper.ledgerClosed':
        this.closed.set(record.data.ledger, record.data.lastEntry);
        return this.compare(record, record.data.ledger);
      case 'bookkeeper.ledgerDeleted':
        this.fenced.delete(record.data.ledger);
        this.closed.delete(record.data.ledger);
        this.confirmed.delete(record.data.ledger);
        return;
    }
  }

  private compare(record: TypedRecord, ledger: number): void {
    const end = this.closed.get(ledger);
    const confirmed = this.confirmed.get(ledger);
    if (end === undefined || confirmed === undefined || confirmed <= end) return;
    this.findings.broken(record, { key: 'breach.closed', params: { ledger: String(ledger), end, entry: confirmed } });
  }
}
