import { own } from '../trace/reduce/maps';
import type { EnsembleServer, State } from '../trace/types';
import { nodeCards, type NodeCard } from './nodes';
import { byName } from './order';

export interface ServerCard extends NodeCard {
  /** leader, follower, candidate; empty when it does not run. */
  raftRole: string;
  term: number;
  commitIndex: number;
  /** Entries that it is behind the server that is furthest. */
  behind: number;
  /** Its log's last entry, committed or not. */
  lastIndex: number;
  log: RaftLog;
}

/** The end of a server's log, on the scale that all servers share. */
export interface RaftLog {
  /** Index of the first entry that is drawn. */
  from: number;
  cells: LogCell[];
}

export interface LogCell {
  index: number;
  term: number;
  committed: boolean;
  /** The first entry of its term. */
  begins: boolean;
}

export interface SessionCard {
  id: string;
  /** Node that it belongs to, "client" for one outside; empty before it is connected. */
  client: string;
  server: string;
  timeoutMS: number;
  ephemerals: number;
  watches: number;
}

/** A session that was told of a change, by the server that it is connected to. */
export interface FiredCard {
  server: string;
  session: string;
  client: string;
  path: string;
  event: string;
  zxid: number;
}

/** One change of a znode and everybody who was told of it. */
export interface Notice {
  path: string;
  event: string;
  zxid: number;
  told: { session: string; client: string; server: string }[];
}

/** Puts those together that were told of the same change; the newest change first. */
export function noticesOf(fired: readonly FiredCard[]): Notice[] {
  const notices: Notice[] = [];
  for (const { path, event, zxid, session, client, server } of fired) {
    let notice = notices.find((one) => one.path === path && one.zxid === zxid && one.event === event);
    if (!notice) notices.push((notice = { path, event, zxid, told: [] }));
    notice.told.push({ session, client, server });
  }
  for (const { told } of notices) told.sort((a, b) => byName(a.client, b.client));
  return notices;
}

export interface EndedCard {
  session: string;
  client: string;
  expired: boolean;
  ephemerals: string[];
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
  sessionCards: SessionCard[];
  /** The newest first. */
  fired: FiredCard[];
  ended: EndedCard[];
}

/** Entries of a log that are drawn. */
export const SHOWN_LOG = 24;

export function ensembleScene(state: State): EnsembleScene {
  const cards = nodeCards(state, 'ensemble');
  const furthest = Math.max(0, ...Object.values(state.ensemble.servers).map((server) => server.commitIndex));
  const end = Math.max(furthest, ...Object.values(state.ensemble.servers).map((server) => server.lastIndex));
  const servers = cards.map((card) => {
    const server = own(state.ensemble.servers, card.name);
    const commitIndex = server?.commitIndex ?? 0;
    return { ...card, raftRole: card.up ? (server?.role ?? '') : '', term: server?.term ?? 0, commitIndex, behind: furthest - commitIndex, lastIndex: server?.lastIndex ?? 0, log: raftLog(server, end) };
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
    sessionCards: sessionCards(state),
    fired: state.ensemble.fired.map((fired) => ({ ...fired })).reverse(),
    ended: state.ensemble.ended.map(({ session, client, expired, ephemerals }) => ({ session, client, expired, ephemerals: [...ephemerals] })).reverse(),
  };
}

function raftLog(server: EnsembleServer | undefined, end: number): RaftLog {
  const from = Math.max(1, end - SHOWN_LOG + 1);
  const cells: LogCell[] = [];
  for (let index = from; index <= (server?.lastIndex ?? 0); index++) {
    const began = server!.terms.findLast((one) => one.index <= index);
    cells.push({ index, term: began?.term ?? 0, committed: index <= server!.commitIndex, begins: began?.index === index });
  }
  return { from, cells };
}

function sessionCards(state: State): SessionCard[] {
  const owned = new Map<string, number>();
  for (const { session } of Object.values(state.ensemble.znodes)) if (session) owned.set(session, (owned.get(session) ?? 0) + 1);
  return Object.entries(state.ensemble.sessions)
    .map(([id, { client, server, timeoutMS, watches }]) => ({
      id,
      client,
      server,
      timeoutMS,
      ephemerals: owned.get(id) ?? 0,
      watches: Object.keys(watches).length,
    }))
    .sort((a, b) => Number(a.client === 'client' || a.client === '') - Number(b.client === 'client' || b.client === '') || byName(a.client, b.client) || byName(a.id, b.id));
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
