import { describe, expect, it } from 'vitest';
import { emptyState } from '../trace/reducer';
import type { Ledger, Lookup, State, Subscription } from '../trace/types';
import { cursorBar, Ranks } from './cursor';
import { placeFlags } from './flags';
import { ledgersScene, underReplicatedLedgers } from './ledgers';
import { lastLookup, lookupChains } from './lookups';
import { pulsarFindings, pulsarTables } from './pulsar-tables';
import { sceneOf } from './scene';
import { shortLabel } from './topics';

function ledger(change: Partial<Ledger>): Ledger {
  return {
    state: 'open', writeQuorum: 2, ackQuorum: 2, ensembles: [{ firstEntry: 0, bookies: ['a', 'b', 'c'] }], writer: 'pulsar-1', lastAddConfirmed: -1, lastEntry: -1,
    length: 0, recovered: false, managedLedger: 'public/default/persistent/orders', cursor: '', fencedBy: [], stored: {}, ...change,
  };
}

function subscription(change: Partial<Subscription>): Subscription {
  const nowhere = { ledger: -1, entry: -1 };
  return {
    type: 'Shared', active: '', consumers: {}, markDelete: nowhere, backlog: 0, read: nowhere, acknowledged: [], acknowledgedEntries: 0, pending: 0, replay: 0,
    delayed: 0, redelivered: 0, ...change,
  };
}

describe('a cursor on its managed ledger', () => {
  const ledgers = { 3: ledger({ state: 'closed', lastEntry: 9 }), 5: ledger({ lastAddConfirmed: 29 }) };
  const ranks = new Ranks([3, 5], ledgers);

  it('counts through the ledgers, whatever is gone before them', () => {
    expect(ranks.entries).toBe(40);
    expect(ranks.of({ ledger: 3, entry: 9 })).toBe(10);
    expect(ranks.of({ ledger: 5, entry: 0 })).toBe(11);
    expect(ranks.of({ ledger: 5, entry: -1 })).toBe(10);
    expect(ranks.of({ ledger: 1, entry: 7 }), 'in a ledger that was trimmed').toBe(0);
    expect(ranks.of({ ledger: -1, entry: -1 })).toBe(0);
  });

  it('shows what is acknowledged, what consumers have and what waits, in their order', () => {
    const bar = cursorBar(ranks, subscription({
      markDelete: { ledger: 3, entry: 9 }, backlog: 27, pending: 4, acknowledgedEntries: 3,
      acknowledged: [{ ledger: 5, first: 2, last: 3 }, { ledger: 5, first: 10, last: 10 }],
    }));
    expect(bar.entries).toBe(40);
    expect(bar.first).toBe(0);
    const told = bar.stretches.map(({ reach, from, to }) => [reach, Math.round(from * 40), Math.round(to * 40)]);
    expect(told).toEqual([
      ['acknowledged', 0, 10],
      ['pending', 10, 12],
      ['acknowledged', 12, 14],
      ['pending', 14, 16],
      ['waiting', 16, 20],
      ['acknowledged', 20, 21],
      ['waiting', 21, 40],
    ]);
    expect(bar.markDelete * 40).toBe(10);
    expect(bar.ledgerEnds.map((end) => end * 40)).toEqual([10]);
  });

  it('adds up to the backlog: what is neither acknowledged is either with a consumer or waits', () => {
    const bar = cursorBar(ranks, subscription({ markDelete: { ledger: 5, entry: 4 }, backlog: 25, pending: 7 }));
    const size = (reach: string) => bar.stretches.filter((one) => one.reach === reach).reduce((sum, { from, to }) => sum + (to - from) * (bar.entries - bar.first), 0);
    expect(Math.round(size('pending'))).toBe(7);
    expect(Math.round(size('pending') + size('waiting'))).toBe(25);
  });

  it('shows the whole of a long backlog, and of a short one the newest entries', () => {
    const long = new Ranks([1], { 1: ledger({ lastAddConfirmed: 9999 }) });
    expect(cursorBar(long, subscription({ markDelete: { ledger: 1, entry: 4999 }, backlog: 5000 })).first).toBe(4996);
    expect(cursorBar(long, subscription({ markDelete: { ledger: 1, entry: 9999 } })).first).toBe(9960);
  });

  it('does not break where there is nothing', () => {
    const bar = cursorBar(new Ranks([], {}), subscription({}));
    expect(bar).toMatchObject({ stretches: [], markDelete: 0, entries: 0 });
  });
});

describe('lookups', () => {
  const lookup = (node: string, result: string, target: string, topic = 'orders'): Lookup => ({
    node, topic: `persistent://public/default/${topic}`, namespace: 'public/default', bundle: '0x00000000_0x80000000', hash: 77, asked: false, result, target, authoritative: result === 'redirect',
  });

  it('joins a redirect with the answer of the broker that it names', () => {
    const chains = lookupChains([lookup('pulsar-1', 'redirect', 'pulsar-2'), lookup('pulsar-1', 'connect', 'pulsar-1', 'other'), lookup('pulsar-2', 'connect', 'pulsar-2')]);
    expect(chains.map(({ label, steps }) => [label, steps.map(({ node, result }) => `${node} ${result}`)])).toEqual([
      ['orders', ['pulsar-1 redirect', 'pulsar-2 connect']],
      ['other', ['pulsar-1 connect']],
    ]);
  });

  it('does not join what another broker answered, nor what was answered after the end', () => {
    expect(lookupChains([lookup('pulsar-1', 'redirect', 'pulsar-2'), lookup('pulsar-3', 'connect', 'pulsar-3')]).length).toBe(2);
    expect(lookupChains([lookup('pulsar-1', 'connect', 'pulsar-1'), lookup('pulsar-1', 'connect', 'pulsar-1')]).length).toBe(2);
  });

  it('shows of the topic that was looked up last the way that tells most', () => {
    const chains = lookupChains([lookup('pulsar-1', 'redirect', 'pulsar-2'), lookup('pulsar-2', 'connect', 'pulsar-2'), lookup('pulsar-2', 'connect', 'pulsar-2')]);
    expect(lastLookup(chains, 'public/default')?.steps.length).toBe(2);
    expect(lastLookup(chains, 'public/other')).toBeUndefined();
  });
});

describe('names above the hash space', () => {
  const topic = (label: string, at: number) => ({ topic: label, label, at });
  const space = { width: 600, character: 7, rows: 2 };

  it('stand in one row while they have room, and go a row up where they would meet the next', () => {
    expect(placeFlags([topic('orders', 0.1), topic('events', 0.5)], space).map(({ row }) => row)).toEqual([0, 0]);
    expect(placeFlags([topic('demo-partition-0', 0.23), topic('demo-partition-1', 0.3)], space).map(({ text, row }) => [text, row])).toEqual([['demo-partition-0', 1], ['demo-partition-1', 0]]);
  });

  it('stand left of their pole at the right end', () => expect(placeFlags([topic('orders', 0.99)], space)[0]).toMatchObject({ left: true, text: 'orders' }));

  it('never meet, however many there are; who has no room has a pole without a name', () => {
    const many = Array.from({ length: 200 }, (_, index) => topic(`demo-partition-${index}`, (index * 0.618) % 1));
    const flags = placeFlags(many, space);
    expect(flags.length).toBe(200);
    expect(flags.map(({ at }) => at)).toEqual(flags.map(({ at }) => at).sort((a, b) => a - b));
    const named = flags.filter(({ text }) => text !== '');
    expect(named.length).toBeGreaterThan(6);
    const span = ({ at, text, left }: (typeof named)[number]) => (left ? [at * 600 - text.length * 7, at * 600] : [at * 600, at * 600 + text.length * 7]) as [number, number];
    for (const low of named.filter(({ row }) => row === 0)) {
      const [from, to] = span(low);
      for (const high of named.filter(({ row }) => row === 1)) expect(high.at * 600 > from && high.at * 600 < to, `the pole of ${high.text} crosses ${low.text}`).toBe(false);
    }
    for (const row of [0, 1]) {
      const spans = named.filter((flag) => flag.row === row).map(span);
      spans.forEach(([from], index) => expect(from).toBeGreaterThanOrEqual(index === 0 ? 0 : spans[index - 1]![1]));
    }
  });

  it('are shortened where the whole name has no room', () => {
    expect(shortLabel('demo-partition-12')).toBe('demo-12');
    expect(placeFlags([topic('demo-partition-0', 0.2)], { width: 100, character: 7, rows: 1 })[0]!.text).toBe('demo-0');
  });

  it('are all shortened where one of them has to be', () => {
    const beside = [topic('demo-partition-0', 0.1), topic('demo-partition-1', 0.3), topic('demo-partition-2', 0.9)];
    expect(placeFlags(beside, { width: 400, character: 7, rows: 1 }).map(({ text }) => text)).toEqual(['demo-0', 'demo-1', 'demo-2']);
  });
});

describe('ledgers in fragments', () => {
  function fourBookies(): State {
    const state = emptyState();
    'abcd'.split('').forEach((name, index) => {
      state.nodes[`bookie-${index + 1}`] = { ...emptyNode(), role: 'bookie', id: index + 1, addresses: { bookie: name } };
      state.pulsar.bookies[name] = { node: `bookie-${index + 1}`, registered: true, readOnly: false };
    });
    state.pulsar.ledgers[7] = ledger({ lastAddConfirmed: 9, ensembles: [{ firstEntry: 0, bookies: ['a', 'b', 'c'] }, { firstEntry: 6, bookies: ['a', 'd', 'c'] }] });
    return state;
  }
  const emptyNode = () => ({ role: '', id: 0, state: 'running', detail: '', addresses: {} }) as State['nodes'][string];

  it('begin where the ensemble changed, with who came for whom', () => {
    const { fragments } = ledgersScene(fourBookies()).ledgers[0]!;
    expect(fragments.map(({ firstEntry, lastEntry }) => [firstEntry, lastEntry])).toEqual([[0, 5], [6, 9]]);
    expect(fragments[1]!.replaced).toEqual([{ gone: 'bookie-2', by: 'bookie-4' }]);
    expect(fragments.map(({ from, to }) => [from, to])).toEqual([[0, 0.6], [0.6, 1]]);
  });

  it('lack copies when a bookie of theirs is dead, and not when one is frozen or only out of the newest ensemble', () => {
    const state = fourBookies();
    const lacking = () => ledgersScene(state).ledgers[0]!.fragments.map(({ missing }) => missing);
    expect(lacking()).toEqual([[], []]);
    expect(ledgersScene(state).underReplicated).toBe(0);
    state.nodes['bookie-2']!.state = 'paused';
    expect(lacking()).toEqual([[], []]);
    state.nodes['bookie-2']!.state = 'killed';
    expect(lacking()).toEqual([['bookie-2'], []]);
    expect(ledgersScene(state).underReplicated).toBe(1);
    state.nodes['bookie-2']!.state = 'running';
    state.pulsar.bookies.b!.registered = false;
    expect(lacking(), 'given up by the ensemble').toEqual([['bookie-2'], []]);
  });

  it('are not under-replicated while nothing is in them', () => {
    const state = fourBookies();
    state.pulsar.ledgers[7]!.lastAddConfirmed = -1;
    state.pulsar.ledgers[7]!.ensembles = [{ firstEntry: 0, bookies: ['a', 'b', 'c'] }];
    state.nodes['bookie-1']!.state = 'killed';
    expect(ledgersScene(state).ledgers[0]!.underReplicated).toBe(0);
  });

  it('are counted alike by the grid and by the chart, whatever state a bookie is in', () => {
    for (const nodeState of ['running', 'starting', 'paused', 'stopped', 'killed', 'failed', 'lost']) {
      for (const registered of [true, false]) {
        const state = fourBookies();
        state.nodes['bookie-2']!.state = nodeState;
        state.pulsar.bookies.b!.registered = registered;
        const lacks = nodeState === 'running' ? !registered : nodeState !== 'starting' && nodeState !== 'paused';
        expect([ledgersScene(state).underReplicated, underReplicatedLedgers(state)], `${nodeState}, ${registered}`).toEqual([Number(lacks), Number(lacks)]);
      }
    }
  });

  it('lack the copies of a bookie that was taken away', () => {
    const state = fourBookies();
    delete state.nodes['bookie-2'];
    state.pulsar.bookies.b!.registered = false;
    expect([ledgersScene(state).underReplicated, underReplicatedLedgers(state)]).toEqual([1, 1]);
  });

  it('count once a ledger, and not where a fragment is empty', () => {
    const state = fourBookies();
    state.nodes['bookie-2']!.state = 'killed';
    state.pulsar.ledgers[8] = ledger({ lastAddConfirmed: 5, ensembles: [{ firstEntry: 0, bookies: ['a', 'b', 'c'] }, { firstEntry: 0, bookies: ['a', 'd', 'c'] }] });
    state.pulsar.ledgers[9] = ledger({ lastAddConfirmed: -1 });
    expect([ledgersScene(state).underReplicated, underReplicatedLedgers(state)]).toEqual([1, 1]);
  });

  it('are told in the table and in a sentence', () => {
    const state = fourBookies();
    state.nodes['bookie-2']!.state = 'killed';
    const scene = sceneOf(state);
    const rows = pulsarTables(scene).find(({ title }) => title === 'table.fragments')!.rows;
    expect(rows.map((row) => [row[3], row[4], row[6]])).toEqual([[0, 5, ['bookie-2']], [6, 9, []]]);
    expect(pulsarFindings(scene)).toContainEqual({ key: 'sentence.underReplicated', params: { count: 1, bookies: ['bookie-2'] } });
  });
});
