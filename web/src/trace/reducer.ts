import { applyBookKeeper } from './reduce/bookkeeper';
import { applyEnsemble } from './reduce/ensemble';
import { applyKafka } from './reduce/kafka';
import { applyNode } from './reduce/node';
import { applyPulsar } from './reduce/pulsar';
import type { State, TypedRecord } from './types';

/**
 * Folds one record into the state, exactly as engine/world does in Go; a test runs both over the same recorded runs. A record about
 * something that the state does not know changes nothing; so does a kind that says nothing lasting, or that this page does not know.
 */
export function apply(state: State, record: TypedRecord): void {
  switch (record.kind.slice(0, record.kind.indexOf('.'))) {
    case 'node':
    case 'trace':
      return applyNode(state, record);
    case 'ensemble':
      return applyEnsemble(state, record);
    case 'kafka':
      return applyKafka(state, record);
    case 'pulsar':
      return applyPulsar(state, record);
    case 'bookkeeper':
      return applyBookKeeper(state, record);
  }
}

export function emptyState(): State {
  return {
    nodes: {},
    links: {},
    ensemble: { leader: '', term: 0, servers: {}, applied: { zxid: 0, parts: 0 }, znodes: {}, sessions: {}, fired: [], ended: [] },
    kafka: { controller: { broker: -1, epoch: 0 }, brokers: {}, topics: {}, groups: {}, reactors: {} },
    pulsar: { leader: '', brokers: {}, bundles: {}, topics: {}, ledgers: {}, bookies: {}, lookups: [], auditor: '' },
    dropped: {},
  };
}
