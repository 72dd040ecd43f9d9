import { isClient } from '../trace/flights';
import type { State, TypedRecord } from '../trace/types';
import { kafkaScene } from './kafka';
import { Latencies } from './latency';
import { pulsarScene } from './pulsar';
import { underReplicatedLedgers } from './ledgers';

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
  /** Ledgers of which a fragment lies on a bookie that is not there. */
  underReplicatedLedgers: number;
  /** Milliseconds in which a broker answered half, and 99 of 100, of what producers sent; undefined when nobody sent anything. */
  kafkaP50?: number | undefined;
  kafkaP99?: number | undefined;
  pulsarP50?: number | undefined;
  pulsarP99?: number | undefined;
  /** By broker: partitions that it leads, and bundles that it owns. */
  leaders: Readonly<Record<string, number>>;
  bundles: Readonly<Record<string, number>>;
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
  private produce = new Latencies();
  private publish = new Latencies();

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
    this.done.push({ ...last, ...stands, ...this.latencies() });
    const first = Math.max(last.time + SECOND_MS, next - KEPT * SECOND_MS);
    for (let time = first; time < next; time += SECOND_MS) this.done.push({ ...emptySecond(time), ...stands });
    if (this.done.length > KEPT) this.done.splice(0, this.done.length - KEPT);
    this.open = emptySecond(next);
  }

  private latencies(): Pick<Second, 'kafkaP50' | 'kafkaP99' | 'pulsarP50' | 'pulsarP99'> {
    const { produce, publish } = this;
    this.produce = new Latencies();
    this.publish = new Latencies();
    return { kafkaP50: produce.percentile(0.5), kafkaP99: produce.percentile(0.99), pulsarP50: publish.percentile(0.5), pulsarP99: publish.percentile(0.99) };
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
      case 'trace.latencyMeasured':
        (record.data.operation === 'produce' ? this.produce : this.publish).add(record.data.buckets);
        return;
      case 'trace.recordsDropped':
        second.hole = true;
        return;
    }
  }
}

function emptySecond(time: number): Second {
  return { time, kafka: 0, pulsar: 0, kafkaBytes: 0, pulsarBytes: 0, lag: 0, backlog: 0, underReplicated: 0, underReplicatedLedgers: 0, leaders: {}, bundles: {}, hole: false };
}

type Gauges = Pick<Second, 'lag' | 'backlog' | 'underReplicated' | 'underReplicatedLedgers' | 'leaders' | 'bundles'>;

function gauges(state: State): Gauges {
  const kafka = kafkaScene(state);
  const pulsar = pulsarScene(state);
  return {
    lag: kafka.groups.flatMap(({ partitions }) => partitions).reduce((sum, { lag }) => sum + lag, 0),
    backlog: pulsar.backlog,
    underReplicated: kafka.underReplicated,
    underReplicatedLedgers: underReplicatedLedgers(state),
    leaders: Object.fromEntries(kafka.brokers.map(({ name, id }) => [name, ledBy(state, id)])),
    bundles: Object.fromEntries(pulsar.brokers.map(({ name, bundles }) => [name, bundles.length])),
  };
}

function ledBy(state: State, broker: number): number {
  let led = 0;
  for (const { partitions } of Object.values(state.kafka.topics)) for (const { leader } of Object.values(partitions)) if (leader === broker) led++;
  return led;
}
