import { describe, expect, it } from 'vitest';
import { en } from '../i18n/en';
import { zh } from '../i18n/zh';
import { craftedRecords, snapshotAt } from '../trace/run.fixture';
import { TraceStore } from '../trace/store';
import { characterOf, decodeBytes, fieldAtPath, fieldsAt, filesAbout, linesOf, plainName, questionAbout, valueLines, type Field } from './inside';

const field = (name: string, at: number, size: number, fields?: Field[]): Field => ({ name, type: 'x', at, size, ...(fields && { fields }) });
const fields = [field('header', 0, 4), field('body', 4, 12, [field('Topics', 4, 8, [field('Topics[0]', 8, 4)]), field('Records', 12, 4, [field('Record 0', -1, 0)])])];

describe('the fields of a message', () => {
  it('are lines of a tree, those of a closed field left out', () => {
    expect(linesOf(fields, new Set()).map(({ path, depth }) => `${path} ${depth}`)).toEqual(['0 0', '1 0', '1.0 1', '1.0.0 2', '1.1 1', '1.1.0 2']);
    expect(linesOf(fields, new Set(['1.0', '1.1'])).map(({ path, open }) => `${path} ${open}`)).toEqual(['0 false', '1 true', '1.0 false', '1.1 false']);
  });

  it('are found by a byte, the outermost first, and by their path', () => {
    expect(fieldsAt(fields, 9).map(({ field, path }) => `${field.name} ${path}`)).toEqual(['body 1', 'Topics 1.0', 'Topics[0] 1.0.0']);
    expect(fieldsAt(fields, 6).at(-1)?.field.name).toBe('Topics');
    expect(fieldsAt(fields, 13).at(-1)?.field.name).toBe('Records');
    expect(fieldsAt(fields, 16)).toEqual([]);
    for (const { path, field } of linesOf(fields, new Set())) expect(fieldAtPath(fields, path)).toBe(field);
    expect(fieldAtPath(fields, '7.1')).toBeUndefined();
  });

  it('are explained by their names, whichever element they are of', () => {
    expect(['Topics[12]', 'Record 1042', 'Acks'].map(plainName)).toEqual(['Topics', 'Record', 'Acks']);
    for (const key of ['field.Acks', 'field.lastAddConfirmed', 'field.xid', 'field.term'] as const) {
      expect(en[key]).toBeTruthy();
      expect(zh[key]).not.toBe(en[key]);
    }
  });

  it('have bytes that are told as characters where they are', () => {
    expect([...decodeBytes(btoa('k\x00\xff~'))].map(characterOf).join('')).toBe('k··~');
  });
});

describe('what there is now', () => {
  it('is asked of who knows it', () => {
    const store = new TraceStore();
    store.reset(snapshotAt(0));
    store.append(craftedRecords());
    const state = store.seek(store.lastN);
    expect(questionAbout({ type: 'ledger', ledger: 12 }, state)?.thing).toBe('znode /ledgers/00/0000/L0012');
    expect(questionAbout({ type: 'znode', path: '/controller' }, state)?.node).toMatch(/^ensemble-/);
    expect(questionAbout({ type: 'group', group: 'nobody' }, state)).toBeUndefined();
    expect(questionAbout({ type: 'node', node: 'kafka-1' }, state)).toBeUndefined();
    for (const group of Object.keys(state.kafka.groups)) expect(questionAbout({ type: 'group', group }, state)?.node).toMatch(/^kafka-\d/);
    for (const topic of Object.keys(state.pulsar.topics)) if (state.pulsar.topics[topic]!.owner) expect(questionAbout({ type: 'topic', topic }, state)).toEqual({ node: state.pulsar.topics[topic]!.owner, thing: `topic ${topic}` });
  });

  it('is in the files of a replica, the newest segment first', () => {
    const names = ['orders-0/00000000000000000000.log', 'orders-0/00000000000000000000.index', 'orders-0/00000000000000000042.log', 'orders-01/00000000000000000000.log', 'orders-0/start', 'VERSION'];
    expect(filesAbout({ type: 'replica', topic: 'orders', partition: 0, broker: 1 }, names)).toEqual(['orders-0/00000000000000000042.log', 'orders-0/00000000000000000000.log', 'orders-0/start']);
    expect(filesAbout({ type: 'node', node: 'kafka-1' }, names)).toHaveLength(3);
  });

  it('is told line by line', () => {
    expect(valueLines({ state: 'Stable', members: [{ id: 'a', assigned: { demo: [0, 1] } }], offsets: [], none: null }).map(({ depth, name, value }) => `${depth} ${name} ${value}`)).toEqual([
      '0 state Stable', '0 members ', '1 0 ', '2 id a', '2 assigned ', '3 demo 0, 1', '0 offsets –', '0 none null',
    ]);
    expect(valueLines(Array.from({ length: 9999 }, () => ({ a: 1 })))).toHaveLength(300);
  });
});
