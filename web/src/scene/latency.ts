import type { EventData } from '../trace/types';

/** Counts by the bucket's upper bound in microseconds; see LatencyMeasured in the trace. */
export class Latencies {
  private readonly counts = new Map<number, number>();

  add(buckets: EventData['trace.latencyMeasured']['buckets']): void {
    for (const { upToMicros, count } of buckets ?? []) this.counts.set(upToMicros, (this.counts.get(upToMicros) ?? 0) + count);
  }

  /** The share (0 to 1) of all took at most so many milliseconds; undefined when there were none. */
  percentile(share: number): number | undefined {
    const sorted = [...this.counts].sort(([a], [b]) => a - b);
    const total = sorted.reduce((sum, [, count]) => sum + count, 0);
    let seen = 0;
    for (const [bound, count] of sorted) {
      seen += count;
      if (seen >= share * total) return bound / 1000;
    }
    return undefined;
  }
}
