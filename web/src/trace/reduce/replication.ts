import type { Ledger, State, TypedRecord, UnderReplication } from '../types';
import { placed } from './bookkeeper';

/** What autorecovery says of a ledger. */
export function applyReplication(ledger: Ledger, record: TypedRecord): void {
  switch (record.kind) {
    case 'bookkeeper.underReplicated':
      underReplication(ledger, record.data.missing).missing = [...(record.data.missing ?? [])];
      return;
    case 'bookkeeper.replicationStarted': {
      const { firstEntry, lastEntry, lost, replacements } = record.data;
      const { missing } = underReplication(ledger, lost);
      ledger.underReplication = { missing, worker: record.node, firstEntry, lastEntry, lost: [...(lost ?? [])], replacements: [...(replacements ?? [])], postponed: '' };
      return;
    }
    case 'bookkeeper.fragmentReplicated':
      placed(ledger, record.data.firstEntry, record.data.ensemble);
      ledger.underReplication = atRest(underReplication(ledger, record.data.lost).missing);
      return;
    case 'bookkeeper.replicationPostponed':
      ledger.underReplication = atRest(underReplication(ledger, []).missing, record.data.reason);
      return;
    case 'bookkeeper.replicated':
      delete ledger.underReplication;
      return;
  }
}

/** What is known of a ledger that lacks copies. A state that began to watch late has not seen the mark. */
function underReplication(ledger: Ledger, missing: readonly string[] | null): UnderReplication {
  return (ledger.underReplication ??= atRest([...(missing ?? [])]));
}

/** Nobody copies. */
function atRest(missing: string[], postponed = ''): UnderReplication {
  return { missing, worker: '', firstEntry: -1, lastEntry: -1, lost: [], replacements: [], postponed };
}

/** What a bookie's autorecovery was about to do when it died, somebody else will. */
export function forgetAutorecovery(state: State, node: string): void {
  const { pulsar } = state;
  if (pulsar.auditor === node) pulsar.auditor = '';
  for (const ledger of Object.values(pulsar.ledgers)) {
    if (ledger.underReplication?.worker === node) ledger.underReplication = atRest(ledger.underReplication.missing);
  }
}
