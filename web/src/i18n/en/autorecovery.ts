import type { Forms } from '../message';

/** Autorecovery: the auditor's marks, copies that are made again. */
export const autorecovery = {
  'story.auditorElected': '{node} is the auditor: it marks the ledgers that a lost bookie leaves short of copies.',
  'story.underReplicated': '{node}, the auditor, marks ledger {ledger} as under-replicated: its copies on {bookies} are lost.',
  'story.replicationStarted': '{node} takes ledger {ledger} in hand: what {lost} had of entries {first} to {last} is copied to {bookies} from the bookies that are left.',
  'story.fragmentReplicated': 'Entries {first} to {last} of ledger {ledger} have all their copies again: {count} {count|was|were} copied, and the metadata names {bookies} in place of {lost}.',
  'story.postponed.open': 'Ledger {ledger} is open and waits for its writer: that one may replace the lost bookie itself. If it does not, the ledger will be closed and copied.',
  'story.postponed.noCopy': 'Ledger {ledger} cannot be copied: no bookie that is there has a copy of some entry. It stays marked until one comes back.',
  'story.postponed.noBookie': 'Ledger {ledger} cannot be copied: there is no other bookie that could take the copies. It stays marked until one comes.',
  'story.postponed.failed': '{node} could not copy ledger {ledger} and will try again: {detail}',
  'story.replicated': 'Ledger {ledger} lacks no copies any more: its mark is deleted.',
  'storage.auditor': 'auditor',
  'storage.auditorAbout': 'The auditor: the bookie that marks the ledgers which a lost bookie leaves short of copies',
  'storage.restoring': 'entries {first} to {last} are being copied: {moves}',
  'storage.restoringShort': 'being copied',
  'storage.arriving': 'copies of {first} to {last} arrive',
  'storage.arrivingShort': '← {first}–{last}',
  'storage.waits.marked': 'marked by the auditor, waits for a worker',
  'storage.waits.open': 'waits for its writer to replace the lost bookie',
  'storage.waits.noCopy': 'no bookie that is there has a copy of some entry',
  'storage.waits.noBookie': 'no other bookie is there to take the copies',
  'storage.waits.failed': 'could not be copied, will be tried again',
  'fact.underReplication': 'Under-replicated',
  'fact.auditor': 'Auditor',
} as const satisfies Record<string, string | Forms>;
