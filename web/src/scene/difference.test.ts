import { describe, expect, it } from 'vitest';
import type { Key } from '../i18n/message';
import { differenceOf, faultsOf, WINDOW_MS } from './difference';
import type { Second } from './series';
import type { Sentence } from './story';

let n = 0;
const said = (at: number, side: Sentence['side'], key: Key): Sentence => ({ n: ++n, time: 1_000_000 + at, node: 'x', side, moment: 'node', text: { key } });
const second = (at: number, kafkaBytes: number, pulsarBytes: number) => ({ time: 1_000_000 + at, kafkaBytes, pulsarBytes }) as Second;

const killedKafka = said(0, 'kafka', 'story.nodeKilled');
const killedPulsar = said(10, 'pulsar', 'story.nodeKilled');
const story = [
  killedKafka,
  killedPulsar,
  said(4000, 'ensemble', 'story.sessionExpired'),
  said(4200, 'kafka', 'story.leaderChanged'),
  said(4310, 'pulsar', 'story.topicLoaded'),
  said(5000, 'kafka', 'story.leaderChanged'),
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
    expect(kafka?.servedAfterMS).toBe(5000);
    expect(pulsar?.servedAfterMS).toBe(4300);
  });

  it('leaves out what the ensemble did for the other side', () => {
    const gone = (path: string): Sentence => ({ ...said(100, 'ensemble', 'story.ephemeralGone'), text: { key: 'story.ephemeralGone', params: { path } } });
    const { kafka, pulsar } = differenceOf([killedKafka, killedPulsar, gone('/brokers/ids/1'), gone('/loadbalance/leader')], [], killedKafka.n, killedPulsar.n);
    expect([kafka, pulsar].map((one) => one?.steps.map(({ sentence }) => sentence.text.params?.path))).toEqual([['/brokers/ids/1'], ['/loadbalance/leader']]);
  });

  it('ends with the next thing done to a node of the side, or with the window', () => {
    const late = [...story.slice(0, 6), said(WINDOW_MS + 100, 'kafka', 'story.leaderChanged')];
    expect(differenceOf(late, [], killedKafka.n, undefined).kafka?.servedAfterMS).toBe(5000);
    expect(differenceOf(story, [], killedKafka.n, undefined).kafka?.steps.some(({ sentence }) => sentence.text.key === 'story.isrExpanded')).toBe(false);
  });

  it('adds up the bytes between nodes meanwhile', () => {
    const seconds = [second(-2000, 1, 1), second(0, 10, 20), second(3000, 100, 200), second(9000, 1000, 2000)];
    expect(differenceOf(story, seconds, killedKafka.n, killedPulsar.n).kafka?.bytes).toBe(110);
    expect(differenceOf(story, seconds, killedKafka.n, killedPulsar.n).pulsar?.bytes).toBe(2220);
  });

  it('is told of a fault that changed no hands, and of none that is gone', () => {
    expect(differenceOf([killedKafka], [], killedKafka.n, killedPulsar.n)).toEqual({ kafka: { fault: killedKafka, steps: [], servedAfterMS: undefined, bytes: 0 }, pulsar: undefined });
  });

  it('can be had of every fault of a node, the newest first', () => {
    const again = said(20_000, 'kafka', 'story.nodePaused');
    expect(faultsOf([...story, again, said(1, 'kafka', 'story.linkCut')], 'kafka')).toEqual([again, killedKafka]);
  });
});
