import type { EventData, Ledger, State, TypedRecord } from '../types';
import { events, own, put } from './maps';
import { ledgerForgotten, leftBookies } from './offload';
import { topicOf } from './pulsar';
import { applyReplication } from './replication';

export function applyBookKeeper(state: State, record: TypedRecord): void {
  const { pulsar } = state;
  const { node } = record;
  if (record.kind === 'bookkeeper.bookieRegistered') {
    // A bookie that comes back under another address is another bookie to BookKeeper, and the old one is gone.
    for (const [name, bookie] of Object.entries(pulsar.bookies)) if (bookie.node === node) delete pulsar.bookies[name];
    put(pulsar.bookies, record.data.bookie, { node, registered: true, readOnly: record.data.readOnly ?? false });
    return;
  }
  if (record.kind === 'bookkeeper.bookieModeChanged') {
    const bookie = own(pulsar.bookies, bookieOf(state, node));
    if (bookie) bookie.readOnly = record.data.readOnly;
    return;
  }
  if (record.kind === 'bookkeeper.ledgerOpened') return ledgerOpened(state, node, record.data);
  if (record.kind === 'bookkeeper.auditorElected') {
    pulsar.auditor = node;
    return;
  }
  if (record.kind === 'bookkeeper.metadataRead') return ledgerMetadataRead(state, record.data);
  const { ledger: id } = record.data as { ledger: number };
  const ledger = own(pulsar.ledgers, id);
  if (!ledger) return;
  switch (record.kind) {
    case 'bookkeeper.ledgerDeleted':
      return ledgerDeleted(state, id, ledger);
    case 'bookkeeper.ensembleChanged':
      return placed(ledger, record.data.firstEntry, record.data.ensemble);
    case 'bookkeeper.ledgerFenced': {
      const bookie = bookieOf(state, node);
      if (!ledger.fencedBy.includes(bookie)) ledger.fencedBy = [...ledger.fencedBy, bookie].sort();
      return;
    }
    case 'bookkeeper.recoveryStarted':
      if (ledger.state === 'open') ledger.state = 'recovering';
      return;
    case 'bookkeeper.ledgerClosed': {
      const { lastEntry, length, recovered } = record.data;
      Object.assign(ledger, { state: 'closed', lastEntry, lastAddConfirmed: lastEntry, length, recovered });
      return;
    }
    case 'bookkeeper.lastAddConfirmedAdvanced':
      if (ledger.state !== 'closed') ledger.lastAddConfirmed = Math.max(ledger.lastAddConfirmed, record.data.lastAddConfirmed);
      return;
    case 'bookkeeper.entryStored': {
      const bookie = bookieOf(state, node);
      const stored = own(ledger.stored, bookie) ?? put(ledger.stored, bookie, { lastEntry: -1, entries: 0, bytes: 0 });
      stored.lastEntry = Math.max(stored.lastEntry, record.data.entry);
      stored.entries += events(record.data.folded);
      stored.bytes += record.data.bytes;
      return;
    }
    default:
      return applyReplication(ledger, record);
  }
}

/** A ledger is opened once; its id is never used again, so that a second report says nothing new. */
function ledgerOpened(state: State, node: string, event: EventData['bookkeeper.ledgerOpened']): void {
  const { ledgers } = state.pulsar;
  if (own(ledgers, event.ledger)) return;
  put(ledgers, event.ledger, {
    state: 'open',
    writeQuorum: event.writeQuorum,
    ackQuorum: event.ackQuorum,
    ensembles: [{ firstEntry: 0, bookies: [...(event.ensemble ?? [])] }],
    writer: node,
    lastAddConfirmed: -1,
    lastEntry: -1,
    length: 0,
    recovered: false,
    managedLedger: event.managedLedger,
    cursor: event.cursor ?? '',
    fencedBy: [],
    stored: {},
  });
  const topic = topicOf(state, event.managedLedger);
  if (topic && !event.cursor && !topic.ledgers.includes(event.ledger)) topic.ledgers = [...topic.ledgers, event.ledger];
}

/** A ledger that came about before this state began to watch. Its writer is gone or not known. */
function ledgerMetadataRead(state: State, event: EventData['bookkeeper.metadataRead']): void {
  const { ledgers } = state.pulsar;
  if (own(ledgers, event.ledger)) return;
  put(ledgers, event.ledger, {
    state: event.state,
    writeQuorum: event.writeQuorum,
    ackQuorum: event.ackQuorum,
    ensembles: (event.ensembles ?? []).map(({ firstEntry, bookies }) => ({ firstEntry, bookies: [...(bookies ?? [])] })),
    writer: '',
    lastAddConfirmed: event.lastEntry,
    lastEntry: event.lastEntry,
    length: event.length,
    recovered: false,
    managedLedger: event.managedLedger,
    cursor: event.cursor ?? '',
    fencedBy: [],
    stored: {},
  });
}

function ledgerDeleted(state: State, id: number, ledger: Ledger): void {
  if (ledger.offload?.complete) leftBookies(ledger); // its owner tells when the medium's copy is gone, too
  else ledgerForgotten(state, id);
}

/** From its first entry on another ensemble; when that is the first entry of one that is there, the new one takes its place. */
export function placed(ledger: Ledger, firstEntry: number, bookies: readonly string[] | null): void {
  const changed = { firstEntry, bookies: [...(bookies ?? [])] };
  const others = ledger.ensembles.filter((one) => one.firstEntry !== firstEntry);
  ledger.ensembles = [...others, changed].sort((a, b) => a.firstEntry - b.firstEntry);
}

/** BookKeeper's name of the bookie that runs on a node; the node's name until it has registered. */
function bookieOf(state: State, node: string): string {
  for (const [name, bookie] of Object.entries(state.pulsar.bookies)) if (bookie.node === node) return name;
  return node;
}
