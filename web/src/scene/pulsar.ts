import type { PulsarTopic, State } from '../trace/types';
import { nodeCards, type NodeCard } from './nodes';
import { byName, sortedEntries } from './order';

export interface BundlePiece {
  range: string;
  /** Where it lies in the hash space, as fractions of it. */
  from: number;
  to: number;
  owner: string;
  /** False: the trace has not named it yet. */
  known: boolean;
  /** The owner's place among the brokers, from 0; -1 when nobody owns it. Picks colour and pattern. */
  ownerIndex: number;
  topics: { topic: string; label: string; at: number }[];
}

export interface NamespaceRing {
  namespace: string;
  internal: boolean;
  bundles: BundlePiece[];
}

export interface SubscriptionCard {
  name: string;
  type: string;
  backlog: number;
  consumers: string[];
  active: string;
}

export interface TopicCard {
  topic: string;
  label: string;
  bundle: string;
  producers: number;
  messages: number;
  ledger: number;
  subscriptions: SubscriptionCard[];
}

export interface PulsarBrokerCard extends NodeCard {
  leader: boolean;
  registered: boolean;
  index: number;
  bundles: string[];
  topics: TopicCard[];
}

export interface PulsarScene {
  brokers: PulsarBrokerCard[];
  namespaces: NamespaceRing[];
  /** Topics that nobody serves now. */
  unowned: TopicCard[];
  backlog: number;
}

const HASH_SPACE = 0x1_0000_0000;

export function pulsarScene(state: State): PulsarScene {
  const cards = nodeCards(state, 'pulsar');
  const order = new Map(cards.map((card, index) => [card.name, index]));
  const topics = sortedEntries(state.pulsar.topics).map(([name, topic]) => ({ topic, card: topicCard(name, topic) }));
  return {
    brokers: cards.map((card, index) => ({
      ...card,
      index,
      leader: state.pulsar.leader === card.name,
      registered: state.pulsar.brokers[card.name]?.registered ?? false,
      bundles: Object.values(state.pulsar.bundles)
        .filter((bundle) => bundle.owner === card.name)
        .map((bundle) => bundle.range)
        .sort(byName),
      topics: topics.filter(({ topic }) => topic.owner === card.name).map((one) => one.card),
    })),
    namespaces: namespaceRings(state, order),
    unowned: topics.filter(({ topic }) => topic.owner === '').map((one) => one.card),
    backlog: topics.reduce((sum, { card }) => sum + card.subscriptions.reduce((all, one) => all + one.backlog, 0), 0),
  };
}

function namespaceRings(state: State, order: Map<string, number>): NamespaceRing[] {
  const rings = new Map<string, NamespaceRing>();
  for (const bundle of Object.values(state.pulsar.bundles)) {
    let ring = rings.get(bundle.namespace);
    if (!ring) {
      ring = { namespace: bundle.namespace, internal: bundle.namespace.startsWith('pulsar/'), bundles: [] };
      rings.set(bundle.namespace, ring);
    }
    const [from, to] = hashRange(bundle.range);
    const topics = sortedEntries(state.pulsar.topics)
      .filter(([, topic]) => topic.namespace === bundle.namespace && topic.bundle === bundle.range)
      .map(([topic, value]) => ({ topic, label: topicLabel(topic), at: value.hash / HASH_SPACE }));
    ring.bundles.push({ range: bundle.range, from, to, owner: bundle.owner, known: true, ownerIndex: order.get(bundle.owner) ?? -1, topics });
  }
  for (const ring of rings.values()) ring.bundles = withGaps(ring.bundles.sort((a, b) => a.from - b.from));
  return [...rings.values()].sort((a, b) => Number(a.internal) - Number(b.internal) || byName(a.namespace, b.namespace));
}

/** The trace knows a bundle from its first owner on: what lies between the known ones has had none yet. */
function withGaps(known: BundlePiece[]): BundlePiece[] {
  const whole: BundlePiece[] = [];
  let at = 0;
  const gapTo = (to: number) => {
    if (to > at) whole.push({ range: `${hex(at)}_${hex(to)}`, from: at, to, owner: '', known: false, ownerIndex: -1, topics: [] });
  };
  for (const bundle of known) {
    gapTo(bundle.from);
    whole.push(bundle);
    at = Math.max(at, bundle.to);
  }
  gapTo(1);
  return whole;
}

/** A place in the hash space, given as a fraction of it. */
export function hex(fraction: number): string {
  return '0x' + Math.min(0xffffffff, Math.round(fraction * HASH_SPACE)).toString(16).padStart(8, '0');
}

/** "0x40000000_0x80000000" as fractions of the hash space; the last bundle ends at 0xffffffff, which belongs to it. */
export function hashRange(range: string): [number, number] {
  const [low, high] = range.split('_').map((end) => Number(end));
  if (low === undefined || high === undefined || Number.isNaN(low) || Number.isNaN(high)) return [0, 1];
  return [low / HASH_SPACE, high === 0xffffffff ? 1 : high / HASH_SPACE];
}

/** persistent://public/default/orders-partition-0 as orders-partition-0. */
export function topicLabel(topic: string): string {
  return topic.slice(topic.lastIndexOf('/') + 1);
}

function topicCard(name: string, topic: PulsarTopic): TopicCard {
  return {
    topic: name,
    label: topicLabel(name),
    bundle: topic.bundle,
    producers: Object.keys(topic.producers).length,
    messages: topic.messages,
    ledger: topic.ledgers.at(-1) ?? -1,
    subscriptions: sortedEntries(topic.subscriptions).map(([subscription, value]) => ({
      name: subscription,
      type: value.type,
      backlog: value.backlog,
      consumers: sortedEntries(value.consumers).map(([id, consumer]) => consumer.name || id),
      active: value.consumers[value.active]?.name ?? value.active,
    })),
  };
}
