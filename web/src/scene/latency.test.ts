import { expect, it } from 'vitest';
import { Latencies } from './latency';

it('adds up what several nodes counted, and tells percentiles by the upper bound of their bucket', () => {
  const latencies = new Latencies();
  expect(latencies.percentile(0.5)).toBeUndefined();
  latencies.add([{ upToMicros: 1000, count: 60 }, { upToMicros: 8000, count: 1 }]);
  latencies.add([{ upToMicros: 500, count: 38 }, { upToMicros: 90_000, count: 1 }]);
  expect(latencies.percentile(0.38)).toBe(0.5);
  expect(latencies.percentile(0.5)).toBe(1);
  expect(latencies.percentile(0.99)).toBe(8);
  expect(latencies.percentile(1)).toBe(90);
});
