import type { Lookup } from '../trace/types';
import { topicLabel } from './topics';

/** One answer on the way to a topic's broker. */
export interface LookupStep {
  /** The broker that was asked. */
  node: string;
  /** connect: its target serves the topic; redirect: ask the target; failed. */
  result: string;
  target: string;
  /** Of a redirect: the leader chose the target, which is to take the bundle. */
  authoritative: boolean;
}

/** What a client did to find out who serves a topic: a question, and one more for each redirect. */
export interface LookupChain {
  topic: string;
  label: string;
  namespace: string;
  bundle: string;
  hash: number;
  steps: LookupStep[];
}

/** Answers are put together to ways: one that was given where a redirect of the same topic had sent its client to goes on. The newest is last. */
export function lookupChains(lookups: readonly Lookup[]): LookupChain[] {
  const chains: LookupChain[] = [];
  for (const { node, topic, namespace, bundle, hash, result, target, authoritative } of lookups) {
    const step = { node, result, target, authoritative };
    const open = chains.findLast((chain) => chain.topic === topic);
    const last = open?.steps.at(-1);
    if (open && last?.result === 'redirect' && last.target === node) open.steps.push(step);
    else chains.push({ topic, label: topicLabel(topic), namespace, bundle, hash, steps: [step] });
  }
  return chains;
}

/** The newest way in a namespace; of several clients that did the same one after the other, the one that was sent on most often. */
export function lastLookup(chains: readonly LookupChain[], namespace: string): LookupChain | undefined {
  const last = chains.findLast((chain) => chain.namespace === namespace);
  if (!last) return undefined;
  const same = chains.filter((chain) => chain.topic === last.topic && chain.namespace === namespace);
  return same.reduce((longest, chain) => (chain.steps.length >= longest.steps.length ? chain : longest), last);
}
