import { heldLedger } from './held';
import type { Second } from './series';
import type { Sentence } from './story';

/** Something done to a node of one side, with what followed there. */
export interface Aftermath {
  fault: Sentence;
  /** What was told of this side, and of the ensemble that both use, until the next fault of a node or for WINDOW_MS. */
  steps: { sentence: Sentence; afterMS: number }[];
  /** What the node had, and how much of it has found another one. */
  hands: Hands;
  /** Bytes that the side's nodes sent to each other meanwhile. */
  bytes: number;
}

/** Partitions that a broker led, topics that it served, ledgers that a bookie stored: each counts with its first change after the fault. */
export interface Hands {
  held: number;
  changed: number;
  /** Milliseconds until the last of these changes; undefined: there was none. */
  afterMS: number | undefined;
}

export interface Difference {
  kafka: Aftermath | undefined;
  pulsar: Aftermath | undefined;
}

/** How long after a fault something may still be told as its consequence. */
export const WINDOW_MS = 30_000;

/** The faults of a side's nodes, the newest first. */
export function faultsOf(sentences: readonly Sentence[], side: 'kafka' | 'pulsar'): Sentence[] {
  return sentences.filter((sentence) => sentence.side === side && isNodeFault(sentence)).reverse();
}

/** What two faults led to, side by side. A fault that the story no longer has is compared with nothing. */
export function differenceOf(sentences: readonly Sentence[], seconds: readonly Second[], kafka: number | undefined, pulsar: number | undefined): Difference {
  return { kafka: aftermath(sentences, seconds, 'kafka', kafka), pulsar: aftermath(sentences, seconds, 'pulsar', pulsar) };
}

/** What has found another node with a sentence, as the fault's sentence names it. */
function changedHands({ text: { key, params } }: Sentence): string | undefined {
  switch (key) {
    case 'story.leaderChanged':
    case 'story.leaderUnclean':
      return String(params?.partition);
    case 'story.topicLoaded':
      return String(params?.topic);
    case 'story.ensembleChanged':
    case 'story.fragmentReplicated':
      return heldLedger(String(params?.ledger));
    default:
      return undefined;
  }
}

function handsAfter({ held = [] }: Sentence, steps: Aftermath['steps']): Hands {
  const waiting = new Set(held);
  let afterMS: number | undefined;
  for (const step of steps) {
    const changed = changedHands(step.sentence);
    if (changed !== undefined && waiting.delete(changed)) afterMS = step.afterMS;
  }
  return { held: new Set(held).size, changed: new Set(held).size - waiting.size, afterMS };
}

function aftermath(sentences: readonly Sentence[], seconds: readonly Second[], side: 'kafka' | 'pulsar', n: number | undefined): Aftermath | undefined {
  const at = sentences.findIndex((sentence) => sentence.n === n && sentence.side === side);
  const fault = sentences[at];
  if (!fault) return undefined;
  const next = sentences.findIndex((sentence, index) => index > at && sentence.side === side && isNodeChange(sentence));
  // A node that is stopped in order hands over what it has, and is gone then: what followed began with that.
  const began = fault.since ?? fault;
  const from = sentences.findIndex((sentence) => sentence.n >= began.n);
  const until = Math.min(fault.time + WINDOW_MS, sentences[next]?.time ?? Infinity);
  const steps = sentences
    .slice(from, next < 0 ? undefined : next)
    .filter((sentence) => sentence !== fault && concerns(sentence, side) && sentence.time <= until)
    .map((sentence) => ({ sentence, afterMS: Math.max(0, sentence.time - began.time) }));
  const meanwhile = seconds.filter(({ time }) => time + 1000 > began.time && time < until);
  return {
    fault,
    steps,
    hands: handsAfter(fault, steps),
    bytes: meanwhile.reduce((sum, second) => sum + (side === 'kafka' ? second.kafkaBytes : second.pulsarBytes), 0),
  };
}

const OF_SIDE = { kafka: /^(kafka-|\/brokers\/|\/controller)/, pulsar: /^(pulsar-|bookie-|\/loadbalance\/|\/ledgers\/|\/namespace\/)/ };

/** What the ensemble did belongs to the side whose nodes or znodes it names, and to both when it names neither's. */
function concerns({ side, text }: Sentence, of: 'kafka' | 'pulsar'): boolean {
  if (side !== 'ensemble') return side === of;
  const named = Object.values(text.params ?? {}).filter((param) => typeof param === 'string');
  const other = of === 'kafka' ? 'pulsar' : 'kafka';
  return named.some((name) => OF_SIDE[of].test(name)) || !named.some((name) => OF_SIDE[other].test(name));
}

const NODE_FAULTS: readonly string[] = ['story.nodeStopped', 'story.nodeFailed', 'story.nodeLost', 'story.nodeKilled', 'story.nodePaused'];

function isNodeFault({ text }: Sentence): boolean {
  return NODE_FAULTS.includes(text.key);
}

function isNodeChange(sentence: Sentence): boolean {
  return isNodeFault(sentence) || sentence.text.key === 'story.nodeReady' || sentence.text.key === 'story.nodeResumed';
}
