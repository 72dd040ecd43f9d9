import { expect, it } from 'vitest';
import { emptyState } from '../trace/reducer';
import { underReplicatedLedgers } from './replication';

const ledger = (ensembles: { firstEntry: number; bookies: string[] }[], lastAddConfirmed: number) =>
  ({ state: 'open', writeQuorum: 2, ackQuorum: 2, ensembles, writer: '', lastAddConfirmed, lastEntry: -1, length: 0, recovered: false, managedLedger: '', cursor: '', fencedBy: [], stored: {} });

it('counts ledgers with entries on a bookie that is gone', () => {
  const state = emptyState();
  state.pulsar.bookies = { a: { node: 'bookie-1', registered: true }, b: { node: 'bookie-2', registered: true }, c: { node: 'bookie-3', registered: false } } as never;
  state.pulsar.ledgers = {
    1: ledger([{ firstEntry: 0, bookies: ['a', 'b'] }], 5),
    2: ledger([{ firstEntry: 0, bookies: ['a', 'c'] }, { firstEntry: 3, bookies: ['a', 'b'] }], 5),
    3: ledger([{ firstEntry: 0, bookies: ['a', 'c'] }], -1),
    4: ledger([{ firstEntry: 0, bookies: ['a', 'c'] }, { firstEntry: 0, bookies: ['a', 'b'] }], 5),
  } as never;
  expect(underReplicatedLedgers(state)).toBe(1);
});
