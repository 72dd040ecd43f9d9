import type { State } from '../trace/types';
import { nodeCards, type NodeCard } from './nodes';

export interface ServerCard extends NodeCard {
  /** leader, follower, candidate; empty when it does not run. */
  raftRole: string;
  term: number;
  commitIndex: number;
  /** Entries that it is behind the server that is furthest. */
  behind: number;
}

/** A znode that one of many holds: whoever created it first. */
export interface HeldZnode {
  path: string;
  /** Node name of the holder, empty while nobody holds it. */
  holder: string;
  session: string;
  epoch: number | undefined;
}

export interface EnsembleScene {
  servers: ServerCard[];
  leader: string;
  term: number;
  /** Servers that run are a majority, so writes are served. */
  quorum: boolean;
  controller: HeldZnode;
  loadManager: HeldZnode;
  sessions: number;
  znodes: number;
  ephemerals: number;
  watches: number;
}

export function ensembleScene(state: State): EnsembleScene {
  const cards = nodeCards(state, 'ensemble');
  const furthest = Math.max(0, ...Object.values(state.ensemble.servers).map((server) => server.commitIndex));
  const servers = cards.map((card) => {
    const server = state.ensemble.servers[card.name];
    const commitIndex = server?.commitIndex ?? 0;
    return { ...card, raftRole: card.up ? (server?.role ?? '') : '', term: server?.term ?? 0, commitIndex, behind: furthest - commitIndex };
  });
  const znodes = Object.values(state.ensemble.znodes);
  const sessions = Object.values(state.ensemble.sessions);
  return {
    servers,
    leader: state.ensemble.leader,
    term: state.ensemble.term,
    quorum: servers.filter((server) => server.up).length * 2 > servers.length,
    controller: controllerZnode(state),
    loadManager: loadManagerZnode(state),
    sessions: sessions.length,
    znodes: znodes.length,
    ephemerals: znodes.filter((znode) => znode.session !== '').length,
    watches: sessions.reduce((sum, session) => sum + Object.keys(session.watches).length, 0),
  };
}

function controllerZnode(state: State): HeldZnode {
  const path = '/controller';
  const znode = state.ensemble.znodes[path];
  const { broker, epoch } = state.kafka.controller;
  if (!znode) return { path, holder: '', session: '', epoch: epoch || undefined };
  const named = brokerInData(znode.data);
  const id = named ?? broker;
  return { path, holder: id < 0 ? '' : `kafka-${id}`, session: znode.session, epoch: broker === id ? epoch : undefined };
}

/** Kafka's payload of /controller: {"version":1,"brokerid":2,"timestamp":"…"}. */
function brokerInData(data: string): number | undefined {
  const found = /"brokerid"\s*:\s*(\d+)/.exec(data);
  return found ? Number(found[1]) : undefined;
}

function loadManagerZnode(state: State): HeldZnode {
  const path = '/loadbalance/leader';
  const session = state.ensemble.znodes[path]?.session ?? '';
  return { path, holder: state.pulsar.leader, session, epoch: undefined };
}
