import { isClient } from '../trace/flights';
import type { State, TypedRecord } from '../trace/types';
import { kafkaScene } from './kafka';
import { pulsarScene } from './pulsar';

/** What happened in one second of the recorded clock, and how things stood at its end. */
export interface Second {
  /** Its begin, in milliseconds. */
  time: number;
  /** Messages acknowledged. */
  kafka: number;
  pulsar: number;
  /** Bytes sent from node to node. */
  kafkaBytes: number;
  pulsarBytes: number;
  /** Messages that the consumer groups have not read yet. */
  lag: number;
  /** Entries that the subscriptions have not acknowledged yet. */
  backlog: number;
  underReplicated: number;
  /** Records of nodes are missing: the counts are too low. */
  hole: boolean;
}

const SECOND_MS = 1000;
/** Seconds that are kept: half an hour. */
const KEPT = 1800;

/** The figures of both sides over time, a second at a time, from the records alone. */
export class Series {
  private readonly done: Second[] = [];
  private open: Second | undefined;

  take(record: TypedRecord, state: State): void {
    const begin = Math.floor(record.time / SECOND_MS) * SECOND_MS;
    if (!this.open) this.open = emptySecond(begin);
    else if (begin > this.open.time) this.close(begin, state); // an earlier time is another node's clock, a little behind
    this.count(this.open, record);
  }

  /** The seconds that are over, oldest first, up to a time. */
  upTo(time: number): readonly Second[] {
    return this.done.filter((second) => second.time + SECOND_MS <= time);
  }

  /** Ends the second that is open; where nothing was recorded for a while, nothing happened and things stood as they stand now. */
  private close(next: number, state: State): void {
    const stands = gauges(state);
    const last = this.open!;
    this.done.push({ ...last, ...stands });
    const first = Math.max(last.time + SECOND_MS, next - KEPT * SECOND_MS);
    for (let time = first; time < next; time += SECOND_MS) this.done.push({ ...emptySecond(time), ...stands });
    if (this.done.length > KEPT) this.done.splice(0, this.done.length - KEPT);
    this.open = emptySecond(next);
  }

  private count(second: Second, record: TypedRecord): void {
    switch (record.kind) {
      case 'kafka.acknowledged':
        if (!record.data.topic.startsWith('__')) second.kafka += Math.max(0, record.data.lastOffset - record.data.baseOffset + 1);
        return;
      case 'pulsar.published':
        second.pulsar += record.data.messages;
        return;
      case 'message.sent': {
        const { from, to, protocol, bytes } = record.data;
        if (isClient(from) || isClient(to)) return;
        if (protocol === 'kafka') second.kafkaBytes += bytes;
        else if (protocol === 'pulsar' || protocol === 'bookkeeper') second.pulsarBytes += bytes;
        return;
      }
      case 'trace.recordsDropped':
        second.hole = true;
        return;
    }
  }
}

function emptySecond(time: number): Second {
  return { time, kafka: 0, pulsar: 0, kafkaBytes: 0, pulsarBytes: 0, lag: 0, backlog: 0, underReplicated: 0, hole: false };
}

function gauges(state: State): Pick<Second, 'lag' | 'backlog' | 'underReplicated'> {
  const kafka = kafkaScene(state);
  return { lag: kafka.groups.reduce((sum, { lag }) => sum + lag, 0), backlog: pulsarScene(state).backlog, underReplicated: kafka.underReplicated };
}
