import { describe, expect, it } from 'vitest';
import { en } from '../i18n/en';
import { format, type Text } from '../i18n/message';
import { typed } from '../trace/decode';
import { apply, emptyState } from '../trace/reducer';
import type { State, WireRecord } from '../trace/types';
import { restorationText } from './autorecovery';
import { factsOf } from './facts';
import { ledgersScene } from './ledgers';
import { sentenceOf } from './story';

const say = ({ key, params }: Text) => format(en, 'en', key, params);

/** Four bookies, and a ledger on the first three of them. */
function classroom(): State {
  const state = emptyState();
  for (const id of [1, 2, 3, 4]) {
    state.nodes[`bookie-${id}`] = { role: 'bookie', id, state: 'running', detail: '', addresses: { bookie: `b${id}` } } as never;
    state.pulsar.bookies[`b${id}`] = { node: `bookie-${id}`, registered: true, readOnly: false };
  }
  const ensembles = [{ firstEntry: 0, bookies: ['b1', 'b2', 'b3'] }];
  state.pulsar.ledgers[7] = { state: 'closed', writeQuorum: 2, ackQuorum: 2, ensembles, writer: '', lastAddConfirmed: 9, lastEntry: 9, length: 0, recovered: false, managedLedger: 'x', cursor: '', fencedBy: [], stored: {} };
  return state;
}

describe('autorecovery', () => {
  const moved = { ledger: 7, firstEntry: 0, lastEntry: 9, lost: ['b2'], replacements: ['b4'] };
  const play = (state: State) => {
    let n = 0;
    return (node: string, kind: string, data: object) => {
      const record = typed({ n: ++n, run: 'r', node, seq: n, at: new Date(0).toISOString(), kind, data } as unknown as WireRecord);
      apply(state, record);
      const told = sentenceOf(record, state);
      return told && say(told.text);
    };
  };
  const row = (state: State) => ledgersScene(state).ledgers[0]!;
  const restoration = (state: State) => row(state).restoration && say(restorationText(row(state).restoration!));

  it('is told and drawn from the mark to the copies', () => {
    const state = classroom();
    const at = play(state);
    expect(at('bookie-3', 'bookkeeper.auditorElected', { bookie: 'b3' })).toContain('bookie-3 is the auditor');
    expect(ledgersScene(state).bookies.filter(({ auditor }) => auditor).map(({ name }) => name)).toEqual(['bookie-3']);
    at('bookie-2', 'node.stopped', { reason: 'killed' });
    const lacking = () => factsOf({ type: 'ledger', ledger: 7 }, state)!.find(({ label }) => label === 'fact.underReplication')?.lines!.map((line) => say(line as Text));
    expect(lacking()).toEqual(['copies on bookie-2 cannot be read', 'not marked by the auditor yet']);
    expect(at('bookie-3', 'bookkeeper.underReplicated', { ledger: 7, missing: ['b2'] })).toContain('its copies on bookie-2 are lost');
    expect(restoration(state)).toBe('marked by the auditor, waits for a worker');
    expect(at('bookie-1', 'bookkeeper.replicationPostponed', { ledger: 7, reason: 'noBookie' })).toContain('no other bookie');
    expect(restoration(state)).toBe('no other bookie is there to take the copies');
    expect(at('bookie-1', 'bookkeeper.replicationStarted', moved)).toContain('copied to bookie-4');
    expect(restoration(state)).toBe('entries 0 to 9 are being copied: bookie-2 → bookie-4');
    expect(row(state).underReplicated).toBe(1);
    const done = at('bookie-1', 'bookkeeper.fragmentReplicated', { ...moved, ensemble: ['b1', 'b4', 'b3'], entries: 7, bytes: 700 });
    expect(done).toBe('Entries 0 to 9 of ledger 7 have all their copies again: 7 were copied, and the metadata names bookie-4 in place of bookie-2.');
    expect([row(state).underReplicated, row(state).fragments[0]!.bookies]).toEqual([0, ['bookie-1', 'bookie-4', 'bookie-3']]);
    expect(at('bookie-1', 'bookkeeper.replicated', { ledger: 7 })).toContain('lacks no copies any more');
    expect([row(state).restoration, lacking()]).toEqual([undefined, undefined]);
  });

  it('is somebody else’s when the worker dies', () => {
    const state = classroom();
    const at = play(state);
    at('bookie-3', 'bookkeeper.auditorElected', { bookie: 'b3' });
    at('bookie-3', 'bookkeeper.underReplicated', { ledger: 7, missing: ['b2'] });
    at('bookie-3', 'bookkeeper.replicationStarted', moved);
    at('bookie-3', 'node.stopped', { reason: 'killed' });
    expect([restoration(state), state.pulsar.auditor]).toEqual(['marked by the auditor, waits for a worker', '']);
  });
});
