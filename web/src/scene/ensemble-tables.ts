import type { Key, Text } from '../i18n/message';
import type { Scene } from './scene';
import type { Cell, Table } from './tables';

/** The ensemble as tables: each server's log, the sessions, and what was told and ended last. */
export function ensembleTables(scene: Scene): Table[] {
  return [logTable(scene), sessionTable(scene), firedTable(scene), endedTable(scene)];
}

function logTable({ ensemble }: Scene): Table {
  return {
    title: 'table.raftLogs',
    columns: ['table.node', 'table.role', 'table.term', 'table.lastIndex', 'table.commitIndex'],
    rows: ensemble.servers.map((server): Cell[] => [
      server.name,
      server.raftRole ? { key: `ensemble.${server.raftRole}` as Key } : '',
      String(server.term),
      server.lastIndex,
      server.commitIndex,
    ]),
  };
}

function sessionTable({ ensemble }: Scene): Table {
  return {
    title: 'table.sessions',
    columns: ['table.session', 'table.client', 'table.server', 'table.timeout', 'table.ephemerals', 'table.watches'],
    rows: ensemble.sessionCards.map(({ id, client, server, timeoutMS, ephemerals, watches }): Cell[] => [
      id,
      client,
      server || ({ key: 'ensemble.disconnected' } as Text),
      timeoutMS,
      ephemerals,
      watches,
    ]),
  };
}

function firedTable({ ensemble }: Scene): Table {
  return {
    title: 'table.fired',
    columns: ['table.path', 'table.event', 'table.client', 'table.server'],
    rows: ensemble.fired.map(({ path, event, client, session, server }): Cell[] => [path, { key: `watch.${event}` as Key }, client || session, server]),
  };
}

function endedTable({ ensemble }: Scene): Table {
  return {
    title: 'table.ended',
    columns: ['table.session', 'table.client', 'table.reason', 'table.goneWithIt'],
    rows: ensemble.ended.map(({ session, client, expired, ephemerals }): Cell[] => [
      session,
      client,
      { key: expired ? 'ensemble.expired' : 'ensemble.closed' },
      ephemerals,
    ]),
  };
}

/** Who lags, and whose ephemerals went last. */
export function ensembleFindings({ ensemble }: Scene): Text[] {
  const told: Text[] = ensemble.servers
    .filter(({ up, behind }) => up && behind > 0)
    .map(({ name, behind }) => ({ key: 'sentence.serverBehind', params: { node: name, count: behind } }));
  const [last] = ensemble.ended;
  if (last && last.ephemerals.length > 0) {
    told.push({ key: last.expired ? 'sentence.sessionExpired' : 'sentence.sessionClosed', params: { client: last.client || last.session, paths: last.ephemerals } });
  }
  return told;
}
