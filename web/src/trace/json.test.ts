import { describe, expect, it } from 'vitest';
import { JsonReader } from './json';
import { readLines } from './run.fixture';

const reader = new JsonReader();
const bytesOf = (text: string) => new TextEncoder().encode(text);

describe('JSON from bytes', () => {
  it.each([
    '{"a":[1,-2,0,12.5,-1e3,1E+2,123456789012345,12345678901234567890,0.1],"b":{"c":null,"d":true,"e":false},"":""}',
    ' [ ] ',
    '{ }',
    '"教室 \\u6559 \\"quoted\\" \\\\ \\n"',
    '{"__proto__":{"x":1},"constructor":2}',
    `["${'long '.repeat(100)}","é","\\ud83d\\ude00","at"]`,
    '{"at":"2026-11-30T13:08:13.123456Z","kind":"at"}\n',
    '-0',
  ])('is what JSON.parse makes of the text: %s', (text) => {
    expect(reader.read(bytesOf(text))).toStrictEqual(JSON.parse(text));
  });

  it('holds for the records of a run', () => {
    const wrong = readLines('classroom.jsonl.gz').slice(0, 2000).filter((line) => JSON.stringify(reader.read(bytesOf(JSON.stringify(line)))) !== JSON.stringify(line));
    expect(wrong).toEqual([]);
  });

  it('keeps an own member that is called __proto__', () => {
    const value = reader.read(bytesOf('{"__proto__":{"x":1}}')) as object;
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value)).toEqual(['__proto__']);
  });

  it.each(['', '{', '[1,', '{"a"}', '{"a":1,}', '[1 2]', '"open', '"a\\', '"\u0001"', 'tru', '-', '01', '1.', '1e', 'undefined', '{} x', '{1:2}', '"\\x"', '[1,]'])('refuses what is none: %j', (text) => {
    expect(() => JSON.parse(text) as unknown).toThrow(SyntaxError);
    expect(() => reader.read(bytesOf(text))).toThrow(SyntaxError);
  });

  it('hands out a list value by value, and refuses what is behind it as late as that', () => {
    const read = (text: string) => reader.readWithList(bytesOf(text), 'records');
    const { type, records } = read(' {"type":"x","records": [ {"n":1} , {"n":2},[3] ],"more":{"n":4}} ');
    expect(type).toBe('x');
    const seen: unknown[] = [];
    for (const one of records as Iterable<unknown>) {
      seen.push(one);
      reader.read(bytesOf('[true]'));
    }
    expect(seen).toEqual([{ n: 1 }, { n: 2 }, [3]]);
    expect([...(read('{"records":[]}').records as Iterable<unknown>)]).toEqual([]);
    for (const whole of ['{}', '{"records":null}', '{"type":"snapshot","state":{"records":[1]}}', '[1]']) expect(read(whole)).toEqual(JSON.parse(whole));
    for (const torn of ['{"records":[1', '{"records":[1,]}', '{"records":[1]', '{"records":[1]}x', '{"records":[1],"a"}']) expect(() => [...(read(torn).records as Iterable<unknown>)], torn).toThrow(SyntaxError);
  });
});
