import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { en } from './en';
import { format, formatTime, type Catalogue, type Forms, type Key, type Language } from './message';
import { zh } from './zh';

const source = new URL('../', import.meta.url);

/** All code that may use a key: everything but the catalogues and the tests. */
const code = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.(ts|svelte)$/.test(name) && !/\.test\.ts$|i18n\/(en|zh)(\/\w+)?\.ts$|gen\.ts$/.test(name))
  .map((name) => readFileSync(new URL(name, source), 'utf8'))
  .join('\n');

const parameters = (message: string | Forms): string[] => {
  const texts = typeof message === 'string' ? [message] : [message.other, message.one ?? ''];
  return [...new Set(texts.flatMap((text) => [...text.matchAll(/\{(\w+)(?:\|[^{}]*)?\}/g)].map((found) => found[1]!)))].sort();
};

describe('the catalogues', () => {
  it('have the same keys', () => expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort()));

  it.each(Object.keys(en) as Key[])('%s has the same parameters in both', (key) => {
    const count = (names: string[]) => names.filter((name) => name !== 'count');
    expect(count(parameters(zh[key]))).toEqual(count(parameters(en[key])));
    expect(zh[key]).not.toBe('');
  });

  // Field terms stay English, what a node suffers is told in one word, and a Chinese sentence has Chinese marks.
  it.each(Object.keys(zh) as Key[])('%s is written in Chinese as the others are', (key) => {
    const message = zh[key] as string | Forms;
    const text = (typeof message === 'string' ? message : message.other).replace(/\{\w+\}/g, 'x').replace(/`[^`]*`/g, '');
    expect(text).not.toMatch(/主题|控制器|纪元|偏移量|位移|杀掉|\bkill\b/);
    expect(text).not.toMatch(/[\u4e00-\u9fff] ?[,;:!?]|[,;:!?] ?[\u4e00-\u9fff]/);
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

  it('takes the word that goes with each of its numbers', () => {
    const told = (factor: number, count: number) => format(en, 'en', 'story.topicCreated', { topic: 'o', count, factor });
    expect(told(1, 1)).toBe('Topic o was created with 1 partition and 1 replica.');
    expect(told(3, 1)).toBe('Topic o was created with 1 partition and 3 replicas.');
    expect(told(1, 4)).toBe('Topic o was created with 4 partitions, 1 replica each.');
    expect(format(en, 'en', 'sentence.ledgers', { open: 1, closed: 2 })).toBe('1 ledger is open, 2 are closed.');
    expect(format(en, 'en', 'record.brokerMeasured', { node: 'pulsar-1', in: 1.002, out: 0 })).toBe('pulsar-1 takes 1 message a second and sends 0');
  });

  // What is counted has a form for one: "1 replicas" is what a reader stumbles over.
  it.each(Object.keys(en) as Key[])('%s says nothing like "1 replicas"', (key) => {
    const message = en[key] as string | Forms;
    for (const text of typeof message === 'string' ? [message] : [message.one ?? message.other, message.other]) {
      const counted = /\{(\w+)\} (?:replicas|partitions|records|messages|entries|ledgers|nodes|members|brokers|bookies|topics|bundles|consumers|producers|sessions|steps|tasks|predictions|events|seconds|bytes|handlers|connections|segments|requests|znodes)\b(?![./])/.exec(text.replace('{operation} ', ''));
      if (counted && !(typeof message !== 'string' && text === message.other && counted[1] === 'count')) expect.fail(text);
    }
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

describe('a client as the other end of a message', () => {
  const told = (language: Language) =>
    format(language === 'en' ? en : zh, language, 'record.received', {
      to: 'kafka-2', from: { key: 'record.client' }, what: { key: 'record.request', params: { name: 'JoinGroup', subject: '' } },
    }).trim();
  it('is told in words of the language', () => {
    expect(told('zh')).toBe('kafka-2 收到客户端的 JoinGroup');
    expect(told('en')).toContain('a client');
  });
});
