import type { Second } from './series';
import type { Sentence } from './story';

/** Something done to a node of one side, with what followed there. */
export interface Aftermath {
  fault: Sentence;
  /** What was told of this side, and of the ensemble that both use, until the next fault of a node or for WINDOW_MS. */
  steps: { sentence: Sentence; afterMS: number }[];
  /** Milliseconds until every partition, or topic, that had to change hands had done so; undefined: none had to. */
  servedAfterMS: number | undefined;
  /** Bytes that the side's nodes sent to each other meanwhile. */
  bytes: number;
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

/** Changes of hands after which clients are served again. */
const SERVED: readonly string[] = ['story.leaderChanged', 'story.leaderUnclean', 'story.topicLoaded', 'story.ensembleChanged'];

function aftermath(sentences: readonly Sentence[], seconds: readonly Second[], side: 'kafka' | 'pulsar', n: number | undefined): Aftermath | undefined {
  const at = sentences.findIndex((sentence) => sentence.n === n && sentence.side === side);
  const fault = sentences[at];
  if (!fault) return undefined;
  const next = sentences.findIndex((sentence, index) => index > at && sentence.side === side && isNodeChange(sentence));
  const until = Math.min(fault.time + WINDOW_MS, sentences[next]?.time ?? Infinity);
  const steps = sentences
    .slice(at + 1, next < 0 ? undefined : next)
    .filter((sentence) => concerns(sentence, side) && sentence.time <= until)
    .map((sentence) => ({ sentence, afterMS: Math.max(0, sentence.time - fault.time) }));
  const served = steps.filter(({ sentence }) => SERVED.includes(sentence.text.key));
  const meanwhile = seconds.filter(({ time }) => time + 1000 > fault.time && time < until);
  return {
    fault,
    steps,
    servedAfterMS: served.at(-1)?.afterMS,
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
