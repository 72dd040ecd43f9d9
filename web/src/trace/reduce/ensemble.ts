import type { EnsembleServer, EventData, Session, State, TypedRecord } from '../types';
import { kafkaBrokerUnregistered } from './kafka';
import { keepLast, own, put } from './maps';
import { pulsarZnodeDeleted } from './pulsar';

/** What the state remembers of what is over. */
const KEPT = { fired: 12, ended: 6, ephemerals: 16, terms: 8 };

export function applyEnsemble(state: State, record: TypedRecord): void {
  const { node } = record;
  const { ensemble } = state;
  switch (record.kind) {
    case 'ensemble.roleChanged':
      return roleChanged(state, node, record.data);
    case 'ensemble.voteCast': {
      const server = serverOf(state, node);
      server.votedFor = record.data.for;
      server.voteTerm = record.data.term;
      return;
    }
    case 'ensemble.commitAdvanced': {
      const server = serverOf(state, node);
      server.term = record.data.term;
      server.commitIndex = record.data.index;
      server.zxid = record.data.zxid;
      return;
    }
    case 'ensemble.logAppended':
      return appended(serverOf(state, node), record.data);
    case 'ensemble.sessionConnected': {
      const session = own(ensemble.sessions, record.data.session);
      if (session) Object.assign(session, { client: record.data.client, address: record.data.address, server: node });
      return;
    }
    case 'ensemble.sessionDisconnected': {
      const session = own(ensemble.sessions, record.data.session);
      if (session && session.server === node) disconnect(session);
      return;
    }
    case 'ensemble.watchSet': {
      const session = own(ensemble.sessions, record.data.session);
      if (session) watch(session, record.data.path, record.data.type);
      return;
    }
    case 'ensemble.watchFired': {
      const { session: id, path, event, zxid } = record.data;
      const session = own(ensemble.sessions, id);
      if (!session) return;
      watchFired(session, path, event);
      ensemble.fired = keepLast(ensemble.fired, { server: node, session: id, client: session.client, path, event, zxid }, KEPT.fired);
      return;
    }
    default:
      return applyReplicated(state, record);
  }
}

/** A change that every server reports is taken once. */
function applyReplicated(state: State, record: TypedRecord): void {
  const { ensemble } = state;
  const { node } = record;
  switch (record.kind) {
    case 'ensemble.sessionCreated':
      if (firstReport(state, record.data.zxid, node)) {
        put(ensemble.sessions, record.data.session, { timeoutMS: record.data.timeoutMS, client: '', address: '', server: '', watches: {} });
      }
      return;
    case 'ensemble.sessionEnded':
      if (firstReport(state, record.data.zxid, node)) sessionEnded(state, record.data);
      return;
    case 'ensemble.znodeCreated': {
      if (!firstReport(state, record.data.zxid, node)) return;
      const { path, mode, session, data, bytes, zxid } = record.data;
      put(ensemble.znodes, path, { mode, session, data, bytes, version: 0, czxid: zxid, mzxid: zxid });
      return;
    }
    case 'ensemble.znodeChanged': {
      const { path, data, bytes, version, zxid } = record.data;
      const znode = own(ensemble.znodes, path);
      if (firstReport(state, zxid, node) && znode) Object.assign(znode, { data, bytes, version, mzxid: zxid });
      return;
    }
    case 'ensemble.znodeDeleted':
      if (firstReport(state, record.data.zxid, node)) znodeDeleted(state, record.data.path, record.data.zxid);
      return;
  }
}

function serverOf(state: State, node: string): EnsembleServer {
  const none = { role: '', term: 0, leader: '', commitIndex: 0, zxid: 0, lastIndex: 0, terms: [], votedFor: '', voteTerm: 0, reported: { zxid: 0, parts: 0 } };
  return own(state.ensemble.servers, node) ?? put(state.ensemble.servers, node, none);
}

/** Entries that were there from the first one on are overwritten, and with them the terms that began there. */
function appended(server: EnsembleServer, { term, firstIndex, lastIndex }: EventData['ensemble.logAppended']): void {
  server.lastIndex = lastIndex;
  const terms = server.terms.filter((one) => one.index < firstIndex || one.term === term);
  server.terms = terms.at(-1)?.term === term ? terms : keepLast(terms, { term, index: firstIndex }, KEPT.terms);
}

/** The leader of the highest term is the leader: a server that is cut off may still believe in the one before. */
function roleChanged(state: State, node: string, event: { term: number; role: string; leader: string }): void {
  const server = serverOf(state, node);
  server.role = event.role;
  server.term = event.term;
  server.leader = event.role === 'leader' ? node : event.leader;
  const leader = server.leader;
  const { ensemble } = state;
  if (leader !== '' && event.term >= ensemble.term) {
    ensemble.leader = leader;
    ensemble.term = event.term;
  } else if (ensemble.leader === node && event.role !== 'leader' && event.term >= ensemble.term) {
    ensemble.leader = ''; // it stepped down
  }
}

export function forgetEnsembleServer(state: State, node: string): void {
  const server = own(state.ensemble.servers, node);
  if (!server) return;
  server.role = '';
  server.leader = '';
  server.reported = { zxid: 0, parts: 0 }; // it will report again what it applies again
  if (state.ensemble.leader === node) state.ensemble.leader = '';
  for (const session of Object.values(state.ensemble.sessions)) if (session.server === node) disconnect(session);
}

/** A server drops the watches of a connection that ends. */
function disconnect(session: Session): void {
  session.server = '';
  session.watches = {};
}

function watch(session: Session, path: string, type: string): void {
  const types = own(session.watches, path) ?? [];
  if (!types.includes(type)) put(session.watches, path, [...types, type].sort());
}

/** Takes away the watches that fire once: which ones is ZooKeeper's rule. */
function watchFired(session: Session, path: string, event: string): void {
  let fired = ['data', 'exists'];
  if (event === 'childrenChanged') fired = ['children'];
  if (event === 'deleted') fired = ['data', 'exists', 'children'];
  const left = (own(session.watches, path) ?? []).filter((type) => !fired.includes(type));
  if (left.length === 0) delete session.watches[path];
  else put(session.watches, path, left);
}

/** Notes that a server reported a change and tells whether it is the first server to report it. */
function firstReport(state: State, zxid: number, node: string): boolean {
  const server = serverOf(state, node);
  const parts = zxid === server.reported.zxid ? server.reported.parts + 1 : 1;
  server.reported = { zxid, parts };
  const { applied } = state.ensemble;
  if (zxid < applied.zxid || (zxid === applied.zxid && parts <= applied.parts)) return false;
  state.ensemble.applied = { zxid, parts };
  return true;
}

function sessionEnded(state: State, { session, expired, zxid }: EventData['ensemble.sessionEnded']): void {
  const { ensemble } = state;
  const client = own(ensemble.sessions, session)?.client ?? '';
  delete ensemble.sessions[session];
  const owned = Object.entries(ensemble.znodes).filter(([, znode]) => znode.session === session).map(([path]) => path).sort();
  ensemble.ended = keepLast(ensemble.ended, { session, client, expired, zxid, ephemerals: owned.slice(0, KEPT.ephemerals) }, KEPT.ended);
  for (const path of owned) znodeDeleted(state, path, zxid);
}

/** Also ends what lives exactly as long as its ephemeral znode. */
function znodeDeleted(state: State, path: string, zxid: number): void {
  delete state.ensemble.znodes[path];
  const slash = path.lastIndexOf('/');
  const parent = slash <= 0 ? '/' : path.slice(0, slash);
  const name = path.slice(slash + 1);
  const { kafka, pulsar } = state;
  switch (parent) {
    case '/':
      if (name === 'controller') kafka.controller.broker = -1;
      return;
    case '/brokers/ids': {
      // The deletion of an old registration may be seen after the new one: the epoch is the znode's czxid.
      const broker = own(kafka.brokers, name);
      if (broker && zxid > broker.epoch) kafkaBrokerUnregistered(state, name);
      return;
    }
    case '/loadbalance':
      if (name === 'leader') pulsar.leader = '';
      return;
    case '/loadbalance/brokers':
      for (const broker of Object.values(pulsar.brokers)) if (broker.broker === name) broker.registered = false;
      return;
    case '/ledgers/available':
    case '/ledgers/available/readonly': {
      // A bookie that changes its mode makes its new znode before it deletes the old one.
      const bookie = own(pulsar.bookies, name);
      if (bookie && bookie.readOnly === (parent !== '/ledgers/available')) bookie.registered = false;
      return;
    }
    default:
      return pulsarZnodeDeleted(state, path);
  }
}
