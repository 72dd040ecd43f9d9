import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { en } from './en';
import { format, formatTime, type Catalogue, type Forms, type Key } from './message';
import { zh } from './zh';

const source = new URL('../', import.meta.url);

/** All code that may use a key: everything but the catalogues and the tests. */
const code = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(ts|svelte)$/.test(name) && !/\.test\.ts$|i18n\/(en|zh)(\/\w+)?\.ts$|gen\.ts$/.test(name))
  .map((name) => readFileSync(new URL(name, source), 'utf8'))
  .join('\n');

const parameters = (message: string | Forms): string[] => {
  const texts = typeof message === 'string' ? [message] : [message.other, message.one ?? ''];
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]!)))].sort();
};

describe('the catalogues', () => {
  it('have the same keys', () => expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort()));

  it.each(Object.keys(en) as Key[])('%s has the same parameters in both', (key) => {
    const count = (names: string[]) => names.filter((name) => name !== 'count');
    expect(count(parameters(zh[key]))).toEqual(count(parameters(en[key])));
    expect(zh[key]).not.toBe('');
  });

  it('have no key that nothing uses', () => {
    // A key is used when it is written out, or when its family is: `state.${…}`.
    const families = [...code.matchAll(/`([a-z]+(?:\.[a-zA-Z]+)*\.)\$\{/g)].map((found) => found[1]!);
    const unused = Object.keys(en).filter(
      (key) => !code.includes(`'${key}'`) && !families.some((family) => key.startsWith(family) && !key.slice(family.length).includes('.')),
    );
    expect(unused).toEqual([]);
  });
});

describe('a message', () => {
  const both: [Catalogue, 'en' | 'zh'][] = [[en, 'en'], [zh, 'zh']];

  it('takes the form that the number asks for', () => {
    expect(format(en, 'en', 'ensemble.sessions', { count: 1 })).toBe('1 session');
    expect(format(en, 'en', 'ensemble.sessions', { count: 1234 })).toBe('1,234 sessions');
    expect(format(zh, 'zh', 'ensemble.sessions', { count: 1 })).toBe('1 个会话');
  });

  it('joins lists and tells nested messages in the language', () => {
    const isr = ['kafka-1', 'kafka-2'];
    expect(format(en, 'en', 'story.isrExpanded', { brokers: ['kafka-3'], partition: 'o-0', isr })).toContain('kafka-1 and kafka-2');
    expect(format(zh, 'zh', 'story.isrExpanded', { brokers: ['kafka-3'], partition: 'o-0', isr })).toContain('kafka-1 和 kafka-2');
    const status = { key: 'replica.leader' } as const;
    expect(format(en, 'en', 'kafka.strip', { partition: 'o-0', status, leo: 5000, highWatermark: 1 })).toBe('o-0: leader, log end 5,000, high watermark 1');
  });

  it.each(both)('tells a time with its milliseconds', (_, language) => expect(formatTime(language, 1_700_000_000_123)).toMatch(/^\d\d:\d\d:\d\d[.]123$/));
});
