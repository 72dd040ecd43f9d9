import { describe, expect, it } from 'vitest';
import type { Key } from '../i18n/message';
import { differenceOf, faultsOf, WINDOW_MS } from './difference';
import type { Second } from './series';
import type { Sentence } from './story';

let n = 0;
const said = (at: number, side: Sentence['side'], key: Key, params: Record<string, string> = {}): Sentence => ({ n: ++n, time: 1_000_000 + at, node: 'x', side, moment: 'node', text: { key, params } });
const led = (at: number, partition: string) => said(at, 'kafka', 'story.leaderChanged', { partition });
const loaded = (at: number, topic: string) => said(at, 'pulsar', 'story.topicLoaded', { topic });
const second = (at: number, kafkaBytes: number, pulsarBytes: number) => ({ time: 1_000_000 + at, kafkaBytes, pulsarBytes }) as Second;

const killedKafka = { ...said(0, 'kafka', 'story.nodeKilled'), held: ['orders-0', 'orders-1'] };
const killedPulsar = { ...said(10, 'pulsar', 'story.nodeKilled'), held: ['orders'] };
const story = [
  killedKafka,
  killedPulsar,
  said(4000, 'ensemble', 'story.sessionExpired'),
  led(4200, 'orders-0'),
  loaded(4310, 'orders'),
  led(5000, 'orders-1'),
  said(9000, 'kafka', 'story.nodeReady'),
  said(9500, 'kafka', 'story.isrExpanded'),
];

describe('the difference between two faults', () => {
  it('tells what followed on each side, how long after, and when clients were served again', () => {
    const { kafka, pulsar } = differenceOf(story, [], killedKafka.n, killedPulsar.n);
    expect(kafka?.steps.map(({ sentence, afterMS }) => [sentence.text.key, afterMS])).toEqual([
      ['story.sessionExpired', 4000],
      ['story.leaderChanged', 4200],
      ['story.leaderChanged', 5000],
    ]);
    expect(kafka?.hands).toEqual({ held: 2, changed: 2, afterMS: 5000 });
    expect(pulsar?.hands).toEqual({ held: 1, changed: 1, afterMS: 4300 });
  });

  it('counts the first change of what the node had, and nothing else that changed hands', () => {
    const later = [
      led(6000, 'orders-0'), // a preferred election, long after
      led(7000, 'payments-3'), // another broker led it
      loaded(8000, 'orders'),
      loaded(8500, 'new-topic'),
      said(8600, 'pulsar', 'story.ensembleChanged', { ledger: '9' }),
    ];
    const { kafka, pulsar } = differenceOf([...story.slice(0, 6), ...later], [], killedKafka.n, killedPulsar.n);
    expect([kafka?.hands.afterMS, pulsar?.hands.afterMS]).toEqual([5000, 4300]);
  });

  it('counts the ledgers of a bookie', () => {
    const bookie = { ...said(0, 'pulsar', 'story.nodeKilled'), held: ['ledger 7', 'ledger 8'] };
    const changed = (at: number, ledger: string) => said(at, 'pulsar', 'story.ensembleChanged', { ledger });
    expect(differenceOf([bookie, changed(300, '7'), changed(900, '9'), changed(1200, '7')], [], undefined, bookie.n).pulsar?.hands).toEqual({ held: 2, changed: 1, afterMS: 300 });
  });

  it('of an orderly stop begins with what the node handed over before it was gone', () => {
    const before = led(-200, 'payments-0');
    const moved = [led(-100, 'orders-0'), led(-90, 'orders-1')];
    const stopped: Sentence = { ...said(0, 'kafka', 'story.nodeStopped'), held: ['orders-0', 'orders-1'], since: { n: moved[0]!.n, time: moved[0]!.time } };
    const expired = said(40, 'ensemble', 'story.ephemeralGone', { path: '/brokers/ids/1' });
    const { kafka } = differenceOf([before, ...moved, stopped, expired], [], stopped.n, undefined);
    expect(kafka?.hands).toEqual({ held: 2, changed: 2, afterMS: 10 });
    expect(kafka?.steps.map(({ sentence, afterMS }) => [sentence.text.key, afterMS])).toEqual([['story.leaderChanged', 0], ['story.leaderChanged', 10], ['story.ephemeralGone', 140]]);
  });

  it('leaves out what the ensemble did for the other side', () => {
    const gone = (path: string): Sentence => ({ ...said(100, 'ensemble', 'story.ephemeralGone'), text: { key: 'story.ephemeralGone', params: { path } } });
    const { kafka, pulsar } = differenceOf([killedKafka, killedPulsar, gone('/brokers/ids/1'), gone('/loadbalance/leader')], [], killedKafka.n, killedPulsar.n);
    expect([kafka, pulsar].map((one) => one?.steps.map(({ sentence }) => sentence.text.params?.path))).toEqual([['/brokers/ids/1'], ['/loadbalance/leader']]);
  });

  it('ends with the next thing done to a node of the side, or with the window', () => {
    const late = [...story.slice(0, 5), led(WINDOW_MS + 100, 'orders-1')];
    expect(differenceOf(late, [], killedKafka.n, undefined).kafka?.hands).toEqual({ held: 2, changed: 1, afterMS: 4200 });
    expect(differenceOf(story, [], killedKafka.n, undefined).kafka?.steps.some(({ sentence }) => sentence.text.key === 'story.isrExpanded')).toBe(false);
  });

  it('adds up the bytes between nodes meanwhile', () => {
    const seconds = [second(-2000, 1, 1), second(0, 10, 20), second(3000, 100, 200), second(9000, 1000, 2000)];
    expect(differenceOf(story, seconds, killedKafka.n, killedPulsar.n).kafka?.bytes).toBe(110);
    expect(differenceOf(story, seconds, killedKafka.n, killedPulsar.n).pulsar?.bytes).toBe(2220);
  });

  it('is told of a fault that changed no hands, and of none that is gone', () => {
    expect(differenceOf([killedKafka], [], killedKafka.n, killedPulsar.n)).toEqual({ kafka: { fault: killedKafka, steps: [], hands: { held: 2, changed: 0, afterMS: undefined }, bytes: 0 }, pulsar: undefined });
  });

  it('can be had of every fault of a node, the newest first', () => {
    const again = said(20_000, 'kafka', 'story.nodePaused');
    expect(faultsOf([...story, again, said(1, 'kafka', 'story.linkCut')], 'kafka')).toEqual([again, killedKafka]);
  });
});
