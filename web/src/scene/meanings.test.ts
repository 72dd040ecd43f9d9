import { describe, expect, it } from 'vitest';
import { en } from '../i18n/en';
import { meaningText } from './meanings';

/** The engine's own source: what it says of a value in words has to be known here, or a Chinese reader gets English. */
const sources = import.meta.glob('../../../engine/dissect/*.go', { query: '?raw', import: 'default', eager: true }) as Record<string, string>;
/** Words of the protocols, which stay as they are in every language. */
const TERMS = new Set(['read_uncommitted', 'read_committed', 'latest', 'earliest', 'max timestamp', 'earliest local', 'latest tiered', 'group', 'transaction', 'container', 'TTL', 'TTL sequential', 'ping', 'auth', 'fence', 'recovery', 'high priority', 'gzip', 'snappy', 'lz4', 'zstd']);

describe('what values mean', () => {
  it('is told by keys', () => {
    expect(meaningText('all in-sync replicas')).toEqual([{ key: 'meaning.allInSync' }]);
    expect(meaningText('the first 12 records')).toEqual([{ key: 'meaning.firstRecords', params: { count: 12 } }]);
  });

  it('keeps the words of protocols among others', () => {
    expect(meaningText('snappy, create time')).toEqual(['snappy', { key: 'meaning.createTime' }]);
    expect(meaningText('2026-11-30 13:06:47.524 UTC')).toEqual(['2026-11-30 13:06:47.524 UTC']);
  });

  it('knows all words that the engine has for values', () => {
    const words = Object.entries(sources)
      .filter(([path]) => !path.endsWith('_test.go'))
      .flatMap(([, source]) => [...source.matchAll(/map\[int64\]string\{([^}]*)\}/g)])
      .flatMap(([, entries]) => [...entries!.matchAll(/"([^"]*)"/g)].map(([, word]) => word!));
    expect(words.length).toBeGreaterThan(30);
    expect(words.filter((word) => !TERMS.has(word) && typeof meaningText(word)[0] === 'string')).toEqual([]);
  });

  it('says in English what the engine says', () => {
    const told = en[(meaningText('the ledger is fenced')[0] as { key: keyof typeof en }).key];
    expect(told).toBe('the ledger is fenced');
  });
});
