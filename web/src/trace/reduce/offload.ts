import type { EventData, Ledger, State, TypedRecord } from '../types';
import { own, put } from './maps';
import { topicOf } from './pulsar';

/** What the owner of a managed ledger says about its ledgers on the medium of tiered storage. */
export function applyOffload(state: State, record: TypedRecord): boolean {
  const { node } = record;
  const { ledgers } = state.pulsar;
  switch (record.kind) {
    case 'pulsar.ledgerOffloadStarted': {
      const ledger = own(ledgers, record.data.ledger);
      if (ledger) ledger.offload = { by: node, medium: record.data.medium, complete: false, object: '', bytes: 0, deletedFromBookies: false };
      return true;
    }
    case 'pulsar.ledgerOffloaded': {
      const { medium, object, bytes } = record.data;
      const ledger = own(ledgers, record.data.ledger);
      if (ledger) ledger.offload = { by: node, medium, complete: true, object, bytes, deletedFromBookies: false };
      return true;
    }
    case 'pulsar.ledgerOffloadFailed': {
      // Somebody else may have succeeded meanwhile.
      const ledger = own(ledgers, record.data.ledger);
      if (ledger?.offload?.by === node) delete ledger.offload;
      return true;
    }
    case 'pulsar.ledgerDeletedFromBookies': {
      const ledger = own(ledgers, record.data.ledger);
      if (ledger) leftBookies(ledger);
      return true;
    }
    case 'pulsar.offloadedLedgerDeleted':
      ledgerForgotten(state, record.data.ledger);
      return true;
    default:
      return false;
  }
}

/** An offloaded ledger whose metadata in BookKeeper is gone is on the medium alone. */
export function leftBookies(ledger: Ledger): void {
  if (!ledger.offload?.complete) return;
  ledger.offload = { ...ledger.offload, deletedFromBookies: true };
  Object.assign(ledger, { ensembles: [], fencedBy: [], stored: {} });
  delete ledger.underReplication;
}

/**
 * The owner of a topic has read in the managed ledger's metadata which ledgers are on the medium. What its predecessor had begun and did
 * not complete is nothing.
 */
export function offloadedFound(state: State, node: string, event: EventData['pulsar.topicLoaded']): void {
  const { ledgers } = state.pulsar;
  for (const id of event.ledgers ?? []) {
    const ledger = own(ledgers, id);
    if (ledger?.offload && !ledger.offload.complete) delete ledger.offload;
  }
  for (const found of event.offloaded ?? []) {
    // One that came about before this state began to watch.
    const ledger = own(ledgers, found.ledger) ?? put(ledgers, found.ledger, before(found));
    ledger.offload = { medium: found.medium, complete: true, object: found.object, bytes: 0, deletedFromBookies: false, ...ledger.offload, by: node };
    if (found.deletedFromBookies) leftBookies(ledger);
  }
}

function before({ entries, bytes, managedLedger }: { entries: number; bytes: number; managedLedger: string }): Ledger {
  return {
    state: 'closed',
    writeQuorum: 0,
    ackQuorum: 0,
    ensembles: [],
    writer: '',
    lastAddConfirmed: entries - 1,
    lastEntry: entries - 1,
    length: bytes,
    recovered: false,
    managedLedger,
    cursor: '',
    fencedBy: [],
    stored: {},
  };
}

/** Nobody has the ledger any more. */
export function ledgerForgotten(state: State, id: number): void {
  const ledger = own(state.pulsar.ledgers, id);
  if (!ledger) return;
  delete state.pulsar.ledgers[id];
  const topic = topicOf(state, ledger.managedLedger);
  if (topic) topic.ledgers = topic.ledgers.filter((one) => one !== id);
}
