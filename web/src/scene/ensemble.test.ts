import { describe, expect, it } from 'vitest';
import { typed } from '../trace/decode';
import { apply, emptyState } from '../trace/reducer';
import type { EventData, Kind, State, WireRecord } from '../trace/types';
import { ensembleScene, noticesOf } from './ensemble';
import { ancestorsOf, readableData, znodeScene } from './znodes';

/** Folds events as servers would report them. */
function fold(state: State, ...events: { [K in Kind]: [string, K, EventData[K]] }[Kind][]): State {
  for (const [node, kind, data] of events) apply(state, typed({ n: 1, run: 'r', node, seq: 1, at: '2026-01-01T00:00:00Z', kind, data } as WireRecord));
  return state;
}

function threeServers(): State {
  const state = emptyState();
  for (const id of [1, 2, 3]) {
    fold(state, [`ensemble-${id}`, 'node.started', { role: 'ensemble', id, addresses: {} }], [`ensemble-${id}`, 'node.ready', {}]);
  }
  return state;
}

describe('the servers’ logs', () => {
  it('share one scale: who lags ends early, and what is not committed is told apart', () => {
    const state = threeServers();
    for (const [node, last, commit] of [['ensemble-1', 30, 29], ['ensemble-2', 30, 28], ['ensemble-3', 20, 20]] as const) {
      fold(state, [node, 'ensemble.logAppended', { term: 1, firstIndex: 1, lastIndex: last }], [node, 'ensemble.commitAdvanced', { term: 1, index: commit, zxid: 1 }]);
    }
    const { servers } = ensembleScene(state);
    expect(servers.map(({ log }) => log.from)).toEqual([7, 7, 7]);
    expect(servers.map(({ log }) => log.cells.at(-1)!.index)).toEqual([30, 30, 20]);
    expect(servers.map(({ log }) => log.cells.filter(({ committed }) => !committed).map(({ index }) => index))).toEqual([[30], [29, 30], []]);
    expect(servers.map(({ behind }) => behind)).toEqual([0, 1, 9]);
  });

  it('show where a term begins, and forget what a later leader overwrote', () => {
    const state = threeServers();
    fold(state,
      ['ensemble-1', 'ensemble.logAppended', { term: 1, firstIndex: 1, lastIndex: 5 }],
      ['ensemble-1', 'ensemble.logAppended', { term: 2, firstIndex: 6, lastIndex: 9 }],
      ['ensemble-1', 'ensemble.logAppended', { term: 3, firstIndex: 6, lastIndex: 7 }],
    );
    const { cells } = ensembleScene(state).servers[0]!.log;
    expect(cells.map(({ index, term }) => `${index}:${term}`)).toEqual(['1:1', '2:1', '3:1', '4:1', '5:1', '6:3', '7:3']);
    expect(cells.filter(({ begins }) => begins).map(({ index }) => index)).toEqual([1, 6]);
  });
});

describe('sessions, watches and znodes', () => {
  function watched(): State {
    const state = threeServers();
    return fold(state,
      ['ensemble-1', 'ensemble.sessionCreated', { session: '0x1', timeoutMS: 4000, zxid: 1 }],
      ['ensemble-1', 'ensemble.sessionCreated', { session: '0x2', timeoutMS: 4000, zxid: 2 }],
      ['ensemble-2', 'ensemble.sessionConnected', { session: '0x1', client: 'kafka-1', address: '' }],
      ['ensemble-3', 'ensemble.sessionConnected', { session: '0x2', client: 'kafka-2', address: '' }],
      ['ensemble-1', 'ensemble.znodeCreated', { path: '/brokers', mode: 'persistent', session: '', data: '', bytes: 0, zxid: 3 }],
      ['ensemble-1', 'ensemble.znodeCreated', { path: '/brokers/ids', mode: 'persistent', session: '', data: '', bytes: 0, zxid: 4 }],
      ['ensemble-1', 'ensemble.znodeCreated', { path: '/brokers/ids/1', mode: 'ephemeral', session: '0x1', data: '{}', bytes: 2, zxid: 5 }],
      ['ensemble-1', 'ensemble.znodeCreated', { path: '/controller', mode: 'ephemeral', session: '0x1', data: '{}', bytes: 2, zxid: 6 }],
      ['ensemble-3', 'ensemble.watchSet', { session: '0x2', path: '/controller', type: 'data' }],
      ['ensemble-3', 'ensemble.watchSet', { session: '0x2', path: '/admin/reassign', type: 'exists' }],
    );
  }

  it('tell whose an ephemeral is, who watches, and where a session is connected', () => {
    const state = watched();
    expect(ensembleScene(state).sessionCards).toMatchObject([
      { client: 'kafka-1', server: 'ensemble-2', ephemerals: 2, watches: 0 },
      { client: 'kafka-2', server: 'ensemble-3', ephemerals: 0, watches: 2 },
    ]);
    const { rows } = znodeScene(state, new Set(['/brokers', '/brokers/ids', '/admin']), '/controller');
    expect(rows.map(({ path, level, exists }) => [path, level, exists])).toEqual([
      ['/admin', 1, false],
      ['/admin/reassign', 2, false],
      ['/brokers', 1, true],
      ['/brokers/ids', 2, true],
      ['/brokers/ids/1', 3, true],
      ['/controller', 1, true],
    ]);
    expect(rows.at(-1)).toMatchObject({ client: 'kafka-1', watchers: [{ client: 'kafka-2', types: ['data'] }], position: 3, siblings: 3 });
  });

  it('keep closed what is not open, and count what is in it', () => {
    const { rows, chosen } = znodeScene(watched(), new Set(), '/brokers/ids');
    expect(rows.map(({ path, children }) => [path, children])).toEqual([['/admin', 1], ['/brokers', 1], ['/controller', 0]]);
    expect(chosen).toBeUndefined();
  });

  it('an expired session’s ephemerals go with it, and who watched them is told', () => {
    const state = watched();
    fold(state,
      ['ensemble-1', 'ensemble.sessionEnded', { session: '0x1', expired: true, zxid: 7 }],
      ['ensemble-3', 'ensemble.watchFired', { session: '0x2', path: '/controller', event: 'deleted', zxid: 7 }],
    );
    const scene = ensembleScene(state);
    expect(scene.ended).toEqual([{ session: '0x1', client: 'kafka-1', expired: true, ephemerals: ['/brokers/ids/1', '/controller'] }]);
    expect(noticesOf(scene.fired)).toEqual([{ path: '/controller', event: 'deleted', zxid: 7, told: [{ session: '0x2', client: 'kafka-2', server: 'ensemble-3' }] }]);
    expect(znodeScene(state, new Set(['/brokers', '/brokers/ids']), undefined).rows.map(({ path }) => path)).toEqual(['/admin', '/brokers', '/brokers/ids']);
    expect(scene.sessionCards[0]!.watches, 'a data watch fires once').toBe(1);
  });

  it('puts those together that were told of one change, the newest first', () => {
    const fired = (session: string, path: string, zxid: number) => ({ server: 's', session, client: session, path, event: 'dataChanged', zxid });
    const notices = noticesOf([fired('b', '/a', 9), fired('a', '/a', 9), fired('a', '/a', 3)]);
    expect(notices.map(({ zxid, told }) => [zxid, told.map(({ client }) => client)])).toEqual([[9, ['a', 'b']], [3, ['a']]]);
  });

  it('leaves lines out beyond its bound, and says how many', () => {
    const state = emptyState();
    for (let index = 0; index < 2000; index++) state.ensemble.znodes[`/n${index}`] = { mode: 'persistent', session: '', data: '', bytes: 0, version: 0, czxid: 1, mzxid: 1 };
    const { rows, surplus } = znodeScene(state, new Set(), undefined);
    expect([rows.length, surplus]).toEqual([1500, 500]);
  });

  it('knows text from other bytes, and the way to a path', () => {
    expect(readableData('{"version":1}\n')).toBe('{"version":1}\n');
    expect(readableData('a\u0001b')).toBeUndefined();
    expect(readableData('\ufffd')).toBeUndefined();
    expect(ancestorsOf('/a/b/c')).toEqual(['/a', '/a/b']);
    expect(ancestorsOf('/a')).toEqual([]);
  });
});
