import { describe, expect, it } from 'vitest';
import { en } from './en';
import { format, type Language } from './message';
import { saidText } from './said';
import { zh } from './zh';

const told = (language: Language, said: Parameters<typeof saidText>[0], quoted = 'no such thing') => {
  const { key, params } = saidText(said, quoted);
  return format(language === 'en' ? en : zh, language, key, params);
};

describe('what the server said', () => {
  const said = {
    key: 'cannot',
    params: { doing: { key: 'stopNode', params: { node: 'kafka-1' } }, why: { key: 'isPausedToStop' } },
  };

  it('is told in the language of the reader, and so is what is within it', () => {
    expect(told('en', said)).toBe('cannot stop kafka-1: it is paused, and what is paused cannot shut down in order; resume it first, or kill it');
    expect(told('zh', said)).toBe('无法停止 kafka-1：它已暂停，而暂停的节点无法按顺序关闭；请先让它继续，或者杀死它');
    expect(told('zh', { key: 'noSuchRole', params: { role: 'x', roles: ['kafka', 'pulsar'] } })).toBe('没有角色“x”；节点的角色有 kafka 和 pulsar');
  });

  it('is quoted when the page has no words for it', () => {
    expect(told('en', undefined)).toBe('no such thing');
    expect(told('zh', undefined)).toContain('no such thing');
    expect(told('en', { key: 'ofANewerServer' })).toBe('no such thing');
    expect(told('en', { key: 'couldNot', params: { doing: { key: 'ofANewerServer' }, why: 'x' } })).toBe('no such thing');
  });
});
