import { expect, it } from 'vitest';
import { RecordLog } from './record-log';
import type { TypedRecord } from './types';

/** Two words of its own each, so that several dictionaries fill up. */
function record(n: number): TypedRecord {
  const cause = n % 3 === 0 ? { node: `kafka-${n % 5}`, seq: n - 1 } : undefined;
  const data = { path: `/names/${n}`, size: n % 7 === 0 ? 'long '.repeat(20 + (n % 50)) : n, parts: [n / 4, null, `part ${n}`] };
  return { n, node: `kafka-${n % 4}`, seq: n * 2, cause, kind: 'ensemble.znodeCreated', data, time: 1_770_000_000_000 + n / 10 } as unknown as TypedRecord;
}

it('has the records that were pushed and not dropped, across chunks and dictionaries', () => {
  const log = new RecordLog();
  let first = 1;
  let next = 1;
  const check = () => {
    expect(log.length).toBe(next - first);
    for (let index = 0; index < log.length; index += 37) {
      const wanted = record(first + index);
      expect(log.at(index)).toStrictEqual(wanted);
      const { n, node, kind, cause, data } = log.glance(index);
      expect({ n, node, kind, cause, data }).toEqual({ n: wanted.n, node: wanted.node, kind: wanted.kind, cause: wanted.cause, data: wanted.data });
      expect([log.clockAt(index), log.seqAt(index), log.causeSeqAt(index)]).toEqual([wanted.n, wanted.seq, wanted.cause?.seq ?? NaN]);
    }
  };
  for (const [push, drop] of [[1023, 0], [1, 0], [1, 1025], [3000, 10], [5000, 6000], [4000, 3000], [2000, 4990]] as const) {
    for (let count = 0; count < push; count++) log.push(record(next), next++);
    check();
    log.drop(drop);
    first += drop;
    check();
  }
  expect([...log].map(({ n }) => n)).toEqual(Array.from({ length: log.length }, (_, index) => first + index));
});

it('keeps what was read when its bytes are used again', () => {
  const log = new RecordLog();
  for (let n = 1; n <= 2048; n++) log.push(record(n), n);
  const kept = log.at(5);
  log.drop(2048);
  for (let n = 2049; n <= 4096; n++) log.push(record(n), n);
  expect(kept).toStrictEqual(record(6));
});
