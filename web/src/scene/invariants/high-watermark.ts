import type { State, TypedRecord } from '../../trace/types';
import type { Check, Findings } from '../invariants';

/**
 * The high watermark of a leader never goes back while it leads: what a consumer has read stays readable. A new leader may begin with a
 * lower one than the old leader had, because followers learn it one fetch later; so each leadership is a beginning.
 */
export class HighWatermarkCheck implements Check {
  readonly roles = ['kafka'];
  /** By node, by partition: the highest that was seen of its leadership. */
  private readonly highest = new Map<string, Map<string, number>>();

  constructor(private readonly findings: Findings) {}

  begin(state: State): void {
    for (const [topic, { partitions }] of Object.entries(state.kafka.topics)) {
      for (const [number, { logs }] of Object.entries(partitions)) {
        for (const [broker, log] of Object.entries(logs)) if (log.role === 'leader') this.of(`kafka-${broker}`).set(`${topic}-${number}`, log.highWatermark);
      }
    }
  }

  take(record: TypedRecord): void {
    switch (record.kind) {
      case 'kafka.replicaRoleChanged': {
        const { topic, partition, role, highWatermark } = record.data;
        const known = this.of(record.node);
        if (role === 'leader') known.set(`${topic}-${partition}`, highWatermark);
        else known.delete(`${topic}-${partition}`);
        return;
      }
      case 'node.started':
      case 'node.stopped':
      case 'trace.recordsDropped': // the end of a leadership may be among them
        this.highest.delete(record.node);
        return;
      case 'kafka.topicDeleted':
        return this.forget(record.data.topic);
      case 'kafka.highWatermarkAdvanced':
        if (record.data.role === 'leader') this.advanced(record);
        return;
    }
  }

  private advanced(record: Extract<TypedRecord, { kind: 'kafka.highWatermarkAdvanced' }>): void {
    const { topic, partition, highWatermark } = record.data;
    const known = this.of(record.node);
    const name = `${topic}-${partition}`;
    const before = known.get(name);
    known.set(name, highWatermark);
    if (before === undefined || highWatermark >= before) return this.findings.held(record);
    this.findings.broken(record, { key: 'breach.highWatermark', params: { node: record.node, partition: name, from: before, to: highWatermark } });
  }

  private of(node: string): Map<string, number> {
    let known = this.highest.get(node);
    if (!known) this.highest.set(node, (known = new Map()));
    return known;
  }

  private forget(topic: string): void {
    for (const known of this.highest.values()) {
      for (const name of known.keys()) if (name.slice(0, name.lastIndexOf('-')) === topic) known.delete(name);
    }
  }
}
