import type { State, TypedRecord } from '../trace/types';
import type { Told } from './story';
import { tellVote } from './votes';

/** The sentence of something that the ensemble's servers did. */
export function tellEnsemble(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = 'ensemble';
  switch (record.kind) {
    case 'message.sent':
    case 'ensemble.voteCast': {
      const text = tellVote(record);
      return text && { side, moment: 'election', text };
    }
    case 'ensemble.roleChanged':
      if (record.data.role === 'candidate') return { side, moment: 'election', text: tellVote(record)! };
      if (record.data.role !== 'leader') return undefined;
      return { side, moment: 'election', text: { key: 'story.ensembleLeader', params: { node, term: String(record.data.term) } } };
    case 'ensemble.sessionEnded': {
      if (!record.data.expired) return undefined;
      return { side, moment: 'fault', text: { key: 'story.sessionExpired', params: { session: record.data.session } } };
    }
    case 'ensemble.znodeDeleted': {
      const { path, session } = record.data;
      if (!session || !isSignpost(path)) return undefined;
      return { side, moment: 'election', text: { key: 'story.ephemeralGone', params: { path } } };
    }
    case 'ensemble.watchFired': {
      const { path, session } = record.data;
      if (path !== '/controller') return undefined;
      const client = state.ensemble.sessions[session]?.client || session;
      return { side, moment: 'election', text: { key: 'story.watchFired', params: { node, client, path } } };
    }
    default:
      return undefined;
  }
}

function isSignpost(path: string): boolean {
  return path === '/controller' || path.startsWith('/brokers/ids/') || path.startsWith('/loadbalance/') || path.startsWith('/ledgers/available/');
}
