import { describe, expect, it } from 'vitest';
import { typed } from '../trace/decode';
import { apply, emptyState } from '../trace/reducer';
import type { EventData, Kind, WireRecord } from '../trace/types';
import { Series } from './series';

function player() {
  const series = new Series();
  const state = emptyState();
  let n = 0;
  const begin = Date.UTC(2026, 2, 2);
  return {
    at<K extends Kind>(seconds: number, kind: K, data: EventData[K]) {
      const record = typed({ n: ++n, run: 'r', node: 'kafka-1', seq: n, at: new Date(begin + seconds * 1000).toISOString(), kind, data } as unknown as WireRecord);
      apply(state, record);
      series.take(record, state);
      return this;
    },
    of: (seconds = 1e6) => series.upTo(begin + seconds * 1000),
  };
}

const acked = (baseOffset: number, lastOffset: number, topic = 'o') => ({ topic, partition: 0, acks: -1, baseOffset, lastOffset });
const sent = (from: string, to: string, protocol: string) => ({ exchange: { connection: 'c', correlation: 1, response: false }, from, to, protocol, name: 'Fetch', bytes: 100, offset: -1, count: 1 });

describe('the series', () => {
  it('counts what was acknowledged in each second, of clients’ topics', () => {
    const play = player().at(0.1, 'kafka.acknowledged', acked(0, 4)).at(0.9, 'kafka.acknowledged', acked(5, 5)).at(0.9, 'kafka.acknowledged', acked(0, 9, '__consumer_offsets'));
    play.at(1.5, 'pulsar.published', { topic: 't', ledger: 1, entry: 0, messages: 7, bytes: 1 }).at(2, 'node.ready', {});
    expect(play.of().map(({ kafka, pulsar }) => [kafka, pulsar])).toEqual([[6, 0], [0, 7]]);
  });

  it('counts bytes between nodes, not those of clients', () => {
    const play = player().at(0, 'message.sent', sent('kafka-1', 'kafka-2', 'kafka')).at(0, 'message.sent', sent('kafka-1', 'client', 'kafka'));
    play.at(0, 'message.sent', sent('pulsar-1', 'bookie-1', 'bookkeeper')).at(0, 'message.sent', sent('ensemble-1', 'ensemble-2', 'raft')).at(1, 'node.ready', {});
    expect(play.of().map(({ kafkaBytes, pulsarBytes }) => [kafkaBytes, pulsarBytes])).toEqual([[100, 100]]);
  });

  it('has a second for each that nothing was recorded in, and none of the second that is not over', () => {
    const play = player().at(0, 'node.ready', {}).at(4.5, 'node.ready', {});
    expect(play.of().length).toBe(4);
    expect(play.of(2).length).toBe(2);
  });

  it('is bounded, also over a long silence', () => {
    expect(player().at(0, 'node.ready', {}).at(1e6, 'node.ready', {}).of(2e6).length).toBe(1800);
  });

  it('tells where records are missing', () => {
    expect(player().at(0, 'trace.recordsDropped', { count: 4 }).at(1, 'node.ready', {}).of().map(({ hole }) => hole)).toEqual([true]);
  });

  it('takes how things stand from the state', () => {
    const play = player().at(0, 'kafka.partitionStateChanged', { topic: 'o', partition: 0, leader: 1, leaderEpoch: 0, isr: [1], replicas: [1, 2], partitionEpoch: 0, controllerEpoch: 1, reason: 'created' });
    expect(play.at(1, 'node.ready', {}).of()[0]!.underReplicated).toBe(1);
  });
});
