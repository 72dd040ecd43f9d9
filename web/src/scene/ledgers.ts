import type { Text } from '../i18n/message';
import { own } from '../trace/reduce/maps';
import type { Ledger, State } from '../trace/types';
import { restorationOf, type Restoration } from './autorecovery';
import { nodeCards, type NodeCard } from './nodes';
import { byName } from './order';

export interface BookieCard extends NodeCard {
  /** host:port, BookKeeper's name for it. */
  address: string;
  registered: boolean;
  /** Its disk is full: it refuses adds and serves reads. */
  readOnly: boolean;
  /** Its copies cannot be read: it is dead, or the ensemble has given it up. */
  gone: boolean;
  /** It marks the ledgers that lack copies. */
  auditor: boolean;
  /** Entries stored while the page was watching, over all ledgers. */
  entries: number;
}

/** One entry's place on one bookie: it belongs there by striping; stored tells whether the bookie is known to have it. */
export interface StripeCell {
  entry: number;
  belongs: boolean;
  stored: boolean;
  /** The first entry after an ensemble change. */
  afterChange: boolean;
}

/** A ledger's entries from one ensemble change to the next: they lie on the same bookies. */
export interface Fragment {
  firstEntry: number;
  /** The last one, so far; before firstEntry when there is none yet. */
  lastEntry: number;
  bookies: string[];
  /** Who took whose place, where the fragment begins by a change. */
  replaced: { gone: string; by: string }[];
  /** Bookies of it whose copies cannot be read. */
  missing: string[];
  /** Where it lies in the ledger, as fractions of it. */
  from: number;
  to: number;
}

/** Where a ledger is besides bookies, or instead of them. */
export interface Offloading {
  medium: string;
  /** It is whole there, and is read from there. */
  complete: boolean;
  /** The bookies have dropped it. */
  alone: boolean;
}

export interface LedgerRow {
  id: number;
  /** What the ledger belongs to: a topic's name, or a cursor. */
  label: string;
  managedLedger: string;
  cursor: string;
  /** open, recovering, closed */
  state: string;
  fenced: boolean;
  recovered: boolean;
  writer: string;
  ensembleSize: number;
  writeQuorum: number;
  ackQuorum: number;
  lastAddConfirmed: number;
  /** Last entry of a closed ledger, the last one confirmed of an open one. */
  end: number;
  changes: { firstEntry: number; bookies: string[] }[];
  fragments: Fragment[];
  /** Fragments of it with entries that have fewer readable copies than the write quorum asks for. */
  underReplicated: number;
  /** While autorecovery has it marked: what it does about it. */
  restoration: Restoration | undefined;
  /** On the medium of tiered storage, or on its way there. */
  offload: Offloading | undefined;
  /** By bookie node name; only bookies that are or were in the ensemble. */
  stripes: Record<string, { inEnsemble: boolean; fenced: boolean; cells: StripeCell[] }>;
}

export interface LedgersScene {
  bookies: BookieCard[];
  /** Those that take entries first, of a topic the newest first, cursors after the topics' own. */
  ledgers: LedgerRow[];
  /** Ledgers of topics and cursors with such fragments. */
  underReplicated: number;
}

/** What is said of a ledger's place on the medium. */
export function offloadText({ medium, complete, alone }: Offloading): Text {
  return { key: alone ? 'storage.mediumAlone' : complete ? 'storage.offloaded' : 'storage.offloading', params: { medium } };
}

/** Entries of a ledger that its row shows. */
export const SHOWN_ENTRIES = 12;

export function ledgersScene(state: State): LedgersScene {
  const nameOf = bookieNames(state);
  const entries = entriesByBookie(state);
  const addressOf = new Map([...nameOf].map(([address, name]) => [name, address]));
  const gone = goneBookies(state, nameOf);
  const bookies = nodeCards(state, 'bookie').map((card) => {
    const address = addressOf.get(card.name) ?? '';
    return { ...card, address, registered: isRegistered(state, address), readOnly: card.up && (own(state.pulsar.bookies, address)?.readOnly ?? false), gone: gone.has(card.name), auditor: state.pulsar.auditor === card.name, entries: entries.get(address) ?? 0 };
  });
  const ledgers = Object.entries(state.pulsar.ledgers).map(([id, ledger]) => ledgerRow(Number(id), ledger, nameOf, gone));
  ledgers.sort((a, b) => Number(a.cursor !== '') - Number(b.cursor !== '') || Number(a.state === 'closed') - Number(b.state === 'closed') || byName(a.label, b.label) || b.id - a.id);
  return { bookies, ledgers, underReplicated: ledgers.filter((ledger) => ledger.underReplicated > 0).length };
}

/** The same count without the picture, for a chart that has it of every second. */
export function underReplicatedLedgers(state: State): number {
  const nameOf = bookieNames(state);
  const gone = goneBookies(state, nameOf);
  if (gone.size === 0) return 0;
  return Object.values(state.pulsar.ledgers).filter((ledger) => lackingFragments(fragmentsOf(changesOf(ledger, nameOf), lastEntryOf(ledger), gone)) > 0).length;
}

/** The names of the bookies whose copies cannot be read. */
function goneBookies(state: State, nameOf: Map<string, string>): ReadonlySet<string> {
  const addressOf = new Map([...nameOf].map(([address, name]) => [name, address]));
  const cards = new Map(nodeCards(state, 'bookie').map((card) => [card.name, card]));
  const gone = new Set<string>();
  for (const card of cards.values()) if (isGone(card, isRegistered(state, addressOf.get(card.name) ?? ''))) gone.add(card.name);
  // One that was taken away has no node any more.
  for (const [address, { registered }] of Object.entries(state.pulsar.bookies)) {
    const name = nameOf.get(address) ?? address;
    if (!cards.has(name) && !registered) gone.add(name);
  }
  return gone;
}

function isRegistered(state: State, address: string): boolean {
  return own(state.pulsar.bookies, address)?.registered ?? false;
}

/** A bookie that starts or is frozen may answer soon; one that is down does not, nor does one whose registration has expired. */
function isGone(card: NodeCard, registered: boolean): boolean {
  if (card.state === 'starting' || card.state === 'paused') return false;
  return !card.up || !registered;
}

function bookieNames(state: State): Map<string, string> {
  const names = new Map<string, string>();
  for (const [address, bookie] of Object.entries(state.pulsar.bookies)) if (bookie.node) names.set(address, bookie.node);
  for (const [name, node] of Object.entries(state.nodes)) {
    const address = node.role === 'bookie' ? node.addresses.bookie : undefined;
    if (address) names.set(address, name);
  }
  return names;
}

function entriesByBookie(state: State): Map<string, number> {
  const sums = new Map<string, number>();
  for (const ledger of Object.values(state.pulsar.ledgers)) {
    for (const [address, stored] of Object.entries(ledger.stored)) sums.set(address, (sums.get(address) ?? 0) + stored.entries);
  }
  return sums;
}

function ledgerRow(id: number, ledger: Ledger, nameOf: Map<string, string>, gone: ReadonlySet<string>): LedgerRow {
  const named = (address: string) => nameOf.get(address) ?? address;
  const changes = changesOf(ledger, nameOf);
  const last = lastEntryOf(ledger);
  const fragments = fragmentsOf(changes, last, gone);
  return {
    id,
    label: ledgerLabel(ledger),
    managedLedger: ledger.managedLedger,
    cursor: ledger.cursor,
    state: ledger.state,
    fenced: ledger.fencedBy.length > 0,
    recovered: ledger.recovered,
    writer: ledger.writer,
    ensembleSize: ledger.ensembles.at(-1)?.bookies.length ?? 0,
    writeQuorum: ledger.writeQuorum,
    ackQuorum: ledger.ackQuorum,
    lastAddConfirmed: ledger.lastAddConfirmed,
    end: ledger.state === 'closed' ? ledger.lastEntry : ledger.lastAddConfirmed,
    changes,
    fragments,
    underReplicated: lackingFragments(fragments),
    restoration: restorationOf(ledger, named),
    offload: ledger.offload && { medium: ledger.offload.medium, complete: ledger.offload.complete, alone: ledger.offload.deletedFromBookies },
    stripes: stripes(ledger, changes, last, named),
  };
}

function changesOf(ledger: Ledger, nameOf: Map<string, string>): LedgerRow['changes'] {
  return ledger.ensembles.map(({ firstEntry, bookies }) => ({ firstEntry, bookies: bookies.map((address) => nameOf.get(address) ?? address) }));
}

/** The last entry of a closed ledger, the last one that is known to be anywhere of an open one. */
function lastEntryOf({ state, lastEntry, lastAddConfirmed, stored }: Ledger): number {
  return state === 'closed' ? lastEntry : Math.max(-1, lastAddConfirmed, ...Object.values(stored).map((one) => one.lastEntry));
}

function lackingFragments(fragments: readonly Fragment[]): number {
  return fragments.filter(({ missing, firstEntry, lastEntry }) => missing.length > 0 && lastEntry >= firstEntry).length;
}

function fragmentsOf(changes: LedgerRow['changes'], last: number, gone: ReadonlySet<string>): Fragment[] {
  const entries = Math.max(1, last + 1);
  return changes.map(({ firstEntry, bookies }, index) => {
    const before = changes[index - 1]?.bookies ?? [];
    const lastEntry = (changes[index + 1]?.firstEntry ?? last + 1) - 1;
    return {
      firstEntry,
      lastEntry,
      bookies,
      replaced: before.flatMap((bookie, place) => (bookie === bookies[place] ? [] : [{ gone: bookie, by: bookies[place] ?? '' }])),
      missing: bookies.filter((bookie) => gone.has(bookie)),
      from: Math.min(1, firstEntry / entries),
      to: Math.min(1, (lastEntry + 1) / entries),
    };
  });
}

function stripes(ledger: Ledger, changes: LedgerRow['changes'], last: number, named: (address: string) => string): LedgerRow['stripes'] {
  const first = Math.max(0, last - SHOWN_ENTRIES + 1);
  const storedBy = new Map(Object.entries(ledger.stored).map(([address, stored]) => [named(address), stored.lastEntry]));
  const fenced = new Set(ledger.fencedBy.map(named));
  const now = changes.at(-1)?.bookies ?? [];
  // Where every bookie of the write set has to acknowledge, what is confirmed is on all of them, even before their own reports come.
  const confirmed = ledger.ackQuorum >= ledger.writeQuorum ? ledger.lastAddConfirmed : -1;
  const rows: LedgerRow['stripes'] = {};
  for (const bookie of new Set(changes.flatMap((change) => change.bookies))) {
    const cells: StripeCell[] = [];
    for (let entry = first; entry <= last; entry++) {
      const belongs = writeSet(changes, entry, ledger.writeQuorum).includes(bookie);
      const afterChange = changes.some((change, index) => index > 0 && change.firstEntry === entry);
      cells.push({ entry, belongs, stored: belongs && Math.max(storedBy.get(bookie) ?? -1, confirmed) >= entry, afterChange });
    }
    rows[bookie] = { inEnsemble: now.includes(bookie), fenced: fenced.has(bookie), cells };
  }
  return rows;
}

/** BookKeeper's round robin: entry e goes to write-quorum bookies from position e mod ensemble size on. */
export function writeSet(ensembles: { firstEntry: number; bookies: string[] }[], entry: number, writeQuorum: number): string[] {
  const ensemble = ensembles.findLast((candidate) => candidate.firstEntry <= entry)?.bookies ?? [];
  const set: string[] = [];
  for (let replica = 0; replica < Math.min(writeQuorum, ensemble.length); replica++) {
    set.push(ensemble[(entry + replica) % ensemble.length]!);
  }
  return set;
}

function ledgerLabel(ledger: Ledger): string {
  const name = ledger.managedLedger.slice(ledger.managedLedger.lastIndexOf('/') + 1);
  const label = name === '' ? '' : decodeURIComponent(name);
  return ledger.cursor === '' ? label : `${label} · ${ledger.cursor}`;
}
