import type { Ledger, State } from '../trace/types';

/**
 * Ledgers of which some entries are on fewer bookies than the write quorum, because a bookie of their fragment is not there now.
 * A fragment without entries misses nothing.
 */
export function underReplicatedLedgers(state: State): number {
  const there = (address: string) => state.pulsar.bookies[address]?.registered ?? false;
  return Object.values(state.pulsar.ledgers).filter((ledger) => fragmentsWithEntries(ledger).some(({ bookies }) => !bookies.every(there))).length;
}

function fragmentsWithEntries(ledger: Ledger): Ledger['ensembles'] {
  const end = ledger.state === 'closed' ? ledger.lastEntry : ledger.lastAddConfirmed;
  return ledger.ensembles.filter(({ firstEntry }, index) => firstEntry <= end && ledger.ensembles[index + 1]?.firstEntry !== firstEntry);
}
