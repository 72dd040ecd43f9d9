import { own } from '../../trace/reduce/maps';
import type { State, TypedRecord } from '../../trace/types';
import type { Check, Findings } from '../invariants';

/**
 * How long the records that prove a follower's log may come after the acknowledgement: a node counts what is frequent together and hands its
 * records over by itself.
 */
const GRACE_MS = 3000;
/** Claims that wait for their proof, of one replica; while so many wait, later ones are not looked at. */
const WAITING = 64;

interface Claim {
  name: string;
  broker: number;
  leader: string;
  /** The log of the broker has to reach it. */
  end: number;
  record: TypedRecord;
}

/**
 * A record acknowledged with acks=all is on every member of the ISR. Proof is the follower's own log end, or what it fetched from the
 * leader; later, no member of the ISR may cut such a record off, and no new leader may be without it.
 */
export class IsrCheck implements Check {
  readonly roles = ['kafka'];
  /** By partition, where the log of every member of the ISR has to reach. */
  private readonly required = new Map<string, number>();
  /** By partition and broker, what it has fetched under the leader that leads now. */
  private readonly fetched = new Map<string, Map<number, number>>();
  private claims: Claim[] = [];
  private readonly disturbed = new Map<string, number>();

  constructor(private readonly findings: Findings) {}

  begin(state: State): void {
    for (const [topic, { partitions }] of Object.entries(state.kafka.topics)) {
      for (const [number, { acknowledged }] of Object.entries(partitions)) {
        const last = own(acknowledged, '-1');
        if (last !== undefined) this.required.set(`${topic}-${number}`, last + 1);
      }
    }
  }

  take(record: TypedRecord, state: State): void {
    switch (record.kind) {
      case 'kafka.acknowledged':
        if (record.data.acks === -1) this.acknowledged(record, state);
        break;
      case 'kafka.appended':
        this.prove(nameOf(record.data), brokerOf(record.node), record.data.leo);
        break;
      case 'kafka.followerFetched':
        this.followerFetched(record);
        break;
      case 'kafka.truncated':
        this.truncated(record, state);
        break;
      case 'kafka.replicaRoleChanged':
        this.roleChanged(record);
        break;
      case 'kafka.topicDeleted':
        this.forget(record.data.topic);
        break;
      case 'node.stopped':
      case 'node.paused':
      case 'trace.recordsDropped':
        this.disturbed.set(record.node, record.time);
        break;
    }
    if (this.claims.length > 0 && record.time - this.claims[0]!.record.time > GRACE_MS) this.decide(record.time);
  }

  private acknowledged(record: Extract<TypedRecord, { kind: 'kafka.acknowledged' }>, state: State): void {
    const { topic, partition, lastOffset } = record.data;
    const name = nameOf(record.data);
    const end = lastOffset + 1;
    this.required.set(name, Math.max(end, this.required.get(name) ?? 0));
    const known = own(state.kafka.topics, topic)?.partitions[partition];
    if (!known) return;
    let proved = true;
    for (const broker of known.isr) {
      const reached = Math.max(own(known.logs, broker)?.leo ?? 0, this.fetched.get(name)?.get(broker) ?? 0);
      if (reached >= end) continue;
      proved = false;
      if (this.claims.filter((claim) => claim.name === name && claim.broker === broker).length < WAITING) {
        this.claims.push({ name, broker, leader: record.node, end, record });
      }
    }
    if (proved) this.findings.held(record);
  }

  private followerFetched(record: Extract<TypedRecord, { kind: 'kafka.followerFetched' }>): void {
    const { replica, leo } = record.data;
    const name = nameOf(record.data);
    let known = this.fetched.get(name);
    if (!known) this.fetched.set(name, (known = new Map()));
    known.set(replica, leo);
    this.prove(name, replica, leo);
  }

  private prove(name: string, broker: number, end: number): void {
    if (this.claims.length === 0) return;
    this.claims = this.claims.filter((claim) => {
      const proved = claim.name === name && claim.broker === broker && claim.end <= end;
      if (proved) this.findings.held(claim.record);
      return !proved;
    });
  }

  private truncated(record: Extract<TypedRecord, { kind: 'kafka.truncated' }>, state: State): void {
    const { topic, partition, to } = record.data;
    const name = nameOf(record.data);
    const required = this.required.get(name) ?? 0;
    const isr = own(state.kafka.topics, topic)?.partitions[partition]?.isr ?? [];
    if (to >= required || !isr.includes(brokerOf(record.node))) return;
    this.required.set(name, to);
    this.findings.broken(record, { key: 'breach.truncated', params: { node: record.node, partition: name, to, offset: required - 1 } });
  }

  private roleChanged(record: Extract<TypedRecord, { kind: 'kafka.replicaRoleChanged' }>): void {
    const { role, leo } = record.data;
    const name = nameOf(record.data);
    if (role !== 'leader') return;
    this.fetched.delete(name);
    const required = this.required.get(name) ?? 0;
    if (leo >= required) return;
    this.required.set(name, leo); // told once
    this.findings.broken(record, { key: 'breach.leader', params: { node: record.node, partition: name, end: leo, offset: required - 1 } });
  }

  /** A claim that nothing has proved in time is a breach, unless the records that would prove it may be missing. */
  private decide(now: number): void {
    const due = this.claims.filter(({ record }) => now - record.time > GRACE_MS);
    this.claims = this.claims.filter(({ record }) => now - record.time <= GRACE_MS);
    for (const { name, broker, leader, end, record } of due) {
      const params = { node: `kafka-${broker}`, partition: name, offset: end - 1 };
      const doubtful = [leader, `kafka-${broker}`].some((node) => (this.disturbed.get(node) ?? -Infinity) >= record.time - GRACE_MS);
      if (doubtful) this.findings.unknown(record, { key: 'doubt.isr', params });
      else this.findings.broken(record, { key: 'breach.isr', params });
    }
  }

  private forget(topic: string): void {
    const ofTopic = (name: string) => name.slice(0, name.lastIndexOf('-')) === topic;
    for (const names of [this.required, this.fetched]) for (const name of names.keys()) if (ofTopic(name)) names.delete(name);
    this.claims = this.claims.filter(({ name }) => !ofTopic(name));
  }
}

function nameOf({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}-${partition}`;
}

function brokerOf(node: string): number {
  return Number(/\d+$/.exec(node)?.[0] ?? -1);
}
