import { own } from '../trace/reduce/maps';
import type { PulsarTopic, State, Subscription } from '../trace/types';
import { cursorBar, Ranks, type CursorBar } from './cursor';
import { lastLookup, lookupChains, type LookupChain } from './lookups';
import { nodeCards, type NodeCard } from './nodes';
import { byName, sortedEntries } from './order';
import { topicLabel } from './topics';

export { topicLabel } from './topics';

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
  topics: { topic: string; label: string; at: number; hash: number }[];
}

export interface NamespaceRing {
  namespace: string;
  internal: boolean;
  bundles: BundlePiece[];
  /** How a client last found out who serves a topic of it. */
  lookup: LookupChain | undefined;
}

export interface SubscriptionCard {
  name: string;
  type: string;
  backlog: number;
  consumers: ConsumerCard[];
  /** Name of the consumer that gets the messages of an Exclusive or Failover subscription. */
  active: string;
  /** Everything up to it is acknowledged: "2:199"; empty when nothing is. */
  markDelete: string;
  /** Entries behind it that are acknowledged singly. */
  acknowledgedSingly: number;
  /** Entries that consumers have and have not acknowledged; that wait to be sent again; whose time has not come. */
  pending: number;
  replay: number;
  delayed: number;
  /** Messages sent again since the topic was loaded. */
  redelivered: number;
  cursor: CursorBar;
}

export interface ConsumerCard {
  id: string;
  name: string;
  active: boolean;
  messages: number;
  unacked: number;
  permits: number;
}

/** What a broker measured last. Rates are messages a second, the cache's sizes bytes. */
export interface LoadCard {
  rateIn: number;
  rateOut: number;
  bytesIn: number;
  bytesOut: number;
  connections: number;
  cacheBytes: number;
  cacheLimit: number;
  cacheHits: number;
  cacheMisses: number;
}

export interface TopicCard {
  topic: string;
  label: string;
  bundle: string;
  producers: number;
  messages: number;
  ledger: number;
  /** Ledgers of its managed ledger, and the entries in them. */
  ledgers: number;
  entries: number;
  subscriptions: SubscriptionCard[];
}

export interface PulsarBrokerCard extends NodeCard {
  leader: boolean;
  registered: boolean;
  index: number;
  load: LoadCard;
  bundles: string[];
  topics: TopicCard[];
}

export interface PulsarScene {
  brokers: PulsarBrokerCard[];
  namespaces: NamespaceRing[];
  /** Topics that nobody serves now. */
  unowned: TopicCard[];
  backlog: number;
  /** The last lookups, the newest last. */
  lookups: LookupChain[];
}

/** All topics, whether somebody serves them or not. */
export function allTopics({ brokers, unowned }: PulsarScene): TopicCard[] {
  return [...brokers.flatMap(({ topics }) => topics), ...unowned];
}

const HASH_SPACE = 0x1_0000_0000;

export function pulsarScene(state: State): PulsarScene {
  const cards = nodeCards(state, 'pulsar');
  const order = new Map(cards.map((card, index) => [card.name, index]));
  const topics = sortedEntries(state.pulsar.topics).map(([name, topic]) => ({ topic, card: topicCard(name, topic, state) }));
  const lookups = lookupChains(state.pulsar.lookups);
  return {
    brokers: cards.map((card, index) => ({
      ...card,
      index,
      leader: state.pulsar.leader === card.name,
      registered: own(state.pulsar.brokers, card.name)?.registered ?? false,
      load: { ...NO_LOAD, ...own(state.pulsar.brokers, card.name)?.load },
      bundles: Object.values(state.pulsar.bundles)
        .filter((bundle) => bundle.owner === card.name)
        .map((bundle) => bundle.range)
        .sort(byName),
      topics: topics.filter(({ topic }) => topic.owner === card.name).map((one) => one.card),
    })),
    namespaces: namespaceRings(state, order, lookups),
    unowned: topics.filter(({ topic }) => topic.owner === '').map((one) => one.card),
    backlog: topics.reduce((sum, { card }) => sum + card.subscriptions.reduce((all, one) => all + one.backlog, 0), 0),
    lookups,
  };
}

const NO_LOAD: LoadCard = { rateIn: 0, rateOut: 0, bytesIn: 0, bytesOut: 0, connections: 0, cacheBytes: 0, cacheLimit: 0, cacheHits: 0, cacheMisses: 0 };

function namespaceRings(state: State, order: Map<string, number>, lookups: LookupChain[]): NamespaceRing[] {
  const rings = new Map<string, NamespaceRing>();
  const topicsOf = topicsByBundle(state);
  for (const bundle of Object.values(state.pulsar.bundles)) {
    let ring = rings.get(bundle.namespace);
    if (!ring) {
      ring = { namespace: bundle.namespace, internal: bundle.namespace.startsWith('pulsar/'), bundles: [], lookup: lastLookup(lookups, bundle.namespace) };
      rings.set(bundle.namespace, ring);
    }
    const [from, to] = hashRange(bundle.range);
    const topics = topicsOf.get(`${bundle.namespace}/${bundle.range}`) ?? [];
    ring.bundles.push({ range: bundle.range, from, to, owner: bundle.owner, known: true, ownerIndex: order.get(bundle.owner) ?? -1, topics });
  }
  for (const ring of rings.values()) ring.bundles = withGaps(ring.bundles.sort((a, b) => a.from - b.from));
  return [...rings.values()].sort((a, b) => Number(a.internal) - Number(b.internal) || byName(a.namespace, b.namespace));
}

function topicsByBundle(state: State): Map<string, BundlePiece['topics']> {
  const found = new Map<string, BundlePiece['topics']>();
  for (const [topic, { namespace, bundle, hash }] of sortedEntries(state.pulsar.topics)) {
    const key = `${namespace}/${bundle}`;
    const list = found.get(key) ?? [];
    list.push({ topic, label: topicLabel(topic), at: hash / HASH_SPACE, hash });
    found.set(key, list);
  }
  for (const list of found.values()) list.sort((a, b) => a.at - b.at);
  return found;
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

function topicCard(name: string, topic: PulsarTopic, state: State): TopicCard {
  const ranks = new Ranks(topic.ledgers, state.pulsar.ledgers);
  return {
    topic: name,
    label: topicLabel(name),
    bundle: topic.bundle,
    producers: Object.keys(topic.producers).length,
    messages: topic.messages,
    ledger: topic.ledgers.at(-1) ?? -1,
    ledgers: topic.ledgers.length,
    entries: ranks.entries,
    subscriptions: sortedEntries(topic.subscriptions).map(([subscription, value]) => subscriptionCard(subscription, value, ranks)),
  };
}

function subscriptionCard(name: string, subscription: Subscription, ranks: Ranks): SubscriptionCard {
  const { type, backlog, active, markDelete, acknowledgedEntries, pending, replay, delayed, redelivered } = subscription;
  const alone = type === 'Exclusive' || type === 'Failover';
  return {
    name,
    type,
    backlog,
    consumers: sortedEntries(subscription.consumers).map(([id, consumer]) => ({
      id,
      name: consumer.name || id,
      active: alone && id === active,
      messages: consumer.messages,
      unacked: consumer.unacked,
      permits: consumer.permits,
    })),
    active: own(subscription.consumers, active)?.name ?? active,
    markDelete: markDelete.ledger < 0 ? '' : `${markDelete.ledger}:${markDelete.entry}`,
    acknowledgedSingly: acknowledgedEntries,
    pending,
    replay,
    delayed,
    redelivered,
    cursor: cursorBar(ranks, subscription),
  };
}
