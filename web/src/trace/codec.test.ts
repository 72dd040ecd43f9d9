import { describe, expect, it } from 'vitest';
import { Dictionary, ValueReader, ValueWriter } from './codec';
import { readLines } from './run.fixture';

const reader = new ValueReader();
function through(value: unknown, writer = new ValueWriter()): unknown {
  const from = writer.length;
  writer.value(value);
  const read = reader.from(writer.bytes, writer.dictionary, from).value();
  expect(reader.at, 'all that was written is read').toBe(writer.length);
  return read;
}

describe('a value as bytes', () => {
  it.each([
    [0, 127, 128, -1, -128, 16_383, 16_384, 2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1), 1e300, 0.1, -0, 2 ** 53],
    ['', 'name', '教室', 'a lone \ud800', 'x'.repeat(64), 'x'.repeat(65), 'long '.repeat(3000)],
    [null, true, false, undefined, [], {}, [[[]]]],
    { a: 1, b: { c: [{ d: 'e' }, { d: 'f' }] } },
    Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`znode ${index}`, { zxid: index }])),
    JSON.parse('{"__proto__":{"x":1},"2":0,"1":0,"constructor":3}'),
    { cause: undefined, folded: 3 },
  ])('comes back as it was: %#', (value) => {
    expect(through(value)).toStrictEqual(value);
  });

  it('comes back in the same order, for all records of a run', () => {
    const writer = new ValueWriter();
    const lines = readLines('classroom.jsonl.gz').slice(0, 2000);
    const size = JSON.stringify(lines).length;
    expect(lines.filter((line) => JSON.stringify(through(line, writer)) !== JSON.stringify(line))).toEqual([]);
    expect(writer.length).toBeLessThan(size / 3);
  });

  it('does without a place in a dictionary that is full', () => {
    const writer = new ValueWriter();
    for (let index = 0; !writer.dictionary.full; index++) writer.dictionary.indexOf(`word ${index}`);
    expect(through({ a: 'one more', b: ['one more'] }, writer)).toEqual({ a: 'one more', b: ['one more'] });
    for (const dictionary = (writer.dictionary = new Dictionary()); !dictionary.full; ) through({ [`member ${dictionary.shapes.length}`]: 1 }, writer);
    expect(through({ another: 1 }, writer)).toEqual({ another: 1 });
  });
});
