import type { Key, Text } from '../i18n/message';
import type { Ledger, State, TypedRecord } from '../trace/types';
import type { Moment } from './story';

/** What autorecovery does about a ledger now, with the bookies by their nodes' names. */
export interface Restoration {
  /** Lost bookies, as the auditor has marked it. */
  missing: string[];
  /** The entries that are being copied now, and whose place is taken by whom. */
  copying: { worker: string; firstEntry: number; lastEntry: number; moves: { lost: string; bookie: string }[] } | undefined;
  /** Why nothing is copied now: open, noCopy, noBookie, failed, or marked when it has not been tried. */
  waits: 'marked' | 'open' | 'noCopy' | 'noBookie' | 'failed' | '';
}

export function restorationOf({ underReplication }: Ledger, named: (address: string) => string): Restoration | undefined {
  if (!underReplication) return undefined;
  const { missing, worker, firstEntry, lastEntry, lost, replacements, postponed } = underReplication;
  const moves = lost.map((one, index) => ({ lost: named(one), bookie: named(replacements[index] ?? '') }));
  return {
    missing: missing.map(named),
    copying: worker ? { worker, firstEntry, lastEntry, moves } : undefined,
    waits: worker ? '' : ((postponed || 'marked') as Restoration['waits']),
  };
}

/** It in words: what is copied from whose place to whom, or why it waits. */
export function restorationText({ copying, waits }: Restoration): Text {
  if (!copying) return { key: `storage.waits.${waits}` as Key };
  const moves = copying.moves.map(({ lost, bookie }) => `${lost} → ${bookie}`);
  return { key: 'storage.restoring', params: { first: copying.firstEntry, last: copying.lastEntry, moves } };
}

/** The sentence of something that autorecovery said. */
export function tellAutorecovery(record: TypedRecord, state: State): { side: 'pulsar'; moment: Moment; text: Text } | undefined {
  const { node } = record;
  const side = 'pulsar';
  const moment = 'ledger';
  const names = (addresses: readonly string[] | null) => (addresses ?? []).map((address) => state.pulsar.bookies[address]?.node ?? address);
  switch (record.kind) {
    case 'bookkeeper.auditorElected':
      return { side, moment: 'election', text: { key: 'story.auditorElected', params: { node } } };
    case 'bookkeeper.underReplicated':
      return { side, moment, text: { key: 'story.underReplicated', params: { node, ledger: String(record.data.ledger), bookies: names(record.data.missing) } } };
    case 'bookkeeper.replicationStarted': {
      const { ledger, firstEntry, lastEntry, lost, replacements } = record.data;
      const params = { node, ledger: String(ledger), first: firstEntry, last: lastEntry, lost: names(lost), bookies: names(replacements) };
      return { side, moment, text: { key: 'story.replicationStarted', params } };
    }
    case 'bookkeeper.fragmentReplicated': {
      const { ledger, firstEntry, lastEntry, lost, replacements, entries } = record.data;
      const params = { ledger: String(ledger), first: firstEntry, last: lastEntry, lost: names(lost), bookies: names(replacements), count: entries };
      return { side, moment, text: { key: 'story.fragmentReplicated', params } };
    }
    case 'bookkeeper.replicationPostponed': {
      const { ledger, reason, detail } = record.data;
      const known = ['open', 'noCopy', 'noBookie'].includes(reason) ? reason : 'failed';
      return { side, moment: known === 'open' ? moment : 'fault', text: { key: `story.postponed.${known}` as Key, params: { node, ledger: String(ledger), detail: detail ?? '' } } };
    }
    case 'bookkeeper.replicated':
      return { side, moment, text: { key: 'story.replicated', params: { ledger: String(record.data.ledger) } } };
    default:
      return undefined;
  }
}
