import type { EventData, PulsarTopic, State, Subscription, TypedRecord } from '../types';
import { events, keepLast, own, put } from './maps';
import { applyOffload, offloadedFound } from './offload';

/** Lookups that the state remembers. */
const KEPT_LOOKUPS = 16;

const nowhere = () => ({ ledger: -1, entry: -1 });

export function applyPulsar(state: State, record: TypedRecord): void {
  const { pulsar } = state;
  const { node } = record;
  switch (record.kind) {
    case 'pulsar.brokerRegistered':
      put(pulsar.brokers, node, { registered: true, broker: record.data.broker, url: record.data.url, load: noLoad() });
      return;
    case 'pulsar.leaderElected':
      pulsar.leader = node;
      return;
    case 'pulsar.bundleOwned': {
      const { namespace, bundle } = record.data;
      put(pulsar.bundles, `${namespace}/${bundle}`, { namespace, range: bundle, owner: node });
      return;
    }
    case 'pulsar.lookupAnswered': {
      const { topic, namespace = '', bundle = '', hash = 0, asked = false, result, url, authoritative } = record.data; // runs of older versions name no bundle
      const lookup = { node, topic, namespace, bundle, hash, asked, result, target: brokerAt(state, url), authoritative };
      pulsar.lookups = keepLast(pulsar.lookups, lookup, KEPT_LOOKUPS);
      return;
    }
    case 'pulsar.brokerMeasured': {
      const broker = own(pulsar.brokers, node);
      if (broker) broker.load = { ...record.data };
      return;
    }
    case 'pulsar.bundleReleased':
      return bundleReleased(state, node, record.data);
    case 'pulsar.topicLoaded':
      return topicLoaded(state, node, record.data);
    case 'pulsar.topicUnloaded': {
      const topic = own(pulsar.topics, record.data.topic);
      if (topic && topic.owner === node) unload(topic);
      return;
    }
    case 'pulsar.topicDeleted':
      delete pulsar.topics[record.data.topic];
      return;
    case 'pulsar.producerAttached': {
      const topic = own(pulsar.topics, record.data.topic);
      if (topic) put(topic.producers, record.data.producer, record.data.client);
      return;
    }
    case 'pulsar.producerDetached': {
      const topic = own(pulsar.topics, record.data.topic);
      if (topic && topic.owner === node) delete topic.producers[record.data.producer];
      return;
    }
    case 'pulsar.published':
      return published(state, record.data);
    default:
      if (!applyOffload(state, record)) applySubscription(state, record);
  }
}

function applySubscription(state: State, record: TypedRecord): void {
  switch (record.kind) {
    case 'pulsar.consumerAttached': {
      const { topic, subscription, type, consumer, name, client } = record.data;
      const known = subscriptionOrNew(state, topic, subscription);
      if (!known) return;
      known.type = type;
      put(known.consumers, consumer, { name, client, lastDispatched: nowhere(), messages: 0, permits: 0, unacked: 0 });
      return;
    }
    case 'pulsar.consumerDetached': {
      const known = subscriptionOf(state, record.data.topic, record.data.subscription);
      if (!known) return;
      delete known.consumers[record.data.consumer];
      if (known.active === record.data.consumer) known.active = '';
      return;
    }
    case 'pulsar.activeConsumerChanged': {
      const known = subscriptionOrNew(state, record.data.topic, record.data.subscription);
      if (known) known.active = record.data.consumer;
      return;
    }
    case 'pulsar.dispatched': {
      const known = subscriptionOf(state, record.data.topic, record.data.subscription);
      const consumer = known && own(known.consumers, record.data.consumer);
      if (!consumer) return;
      consumer.lastDispatched = { ledger: record.data.ledger, entry: record.data.entry };
      consumer.messages += record.data.messages;
      return;
    }
    case 'pulsar.cursorMoved': {
      const known = subscriptionOrNew(state, record.data.topic, record.data.subscription);
      if (!known) return;
      known.markDelete = { ledger: record.data.ledger, entry: record.data.entry };
      known.backlog = record.data.backlog;
      return;
    }
    case 'pulsar.subscriptionMeasured': {
      const known = subscriptionOrNew(state, record.data.topic, record.data.subscription);
      if (known) measured(known, record.data);
      return;
    }
    case 'pulsar.subscriptionDeleted': {
      const topic = own(state.pulsar.topics, record.data.topic);
      if (topic) delete topic.subscriptions[record.data.subscription];
      return;
    }
  }
}

function measured(subscription: Subscription, event: EventData['pulsar.subscriptionMeasured']): void {
  const { acknowledgedEntries, backlog, pending, replay, delayed, redelivered } = event;
  Object.assign(subscription, { acknowledgedEntries, backlog, pending, replay, delayed, redelivered });
  subscription.markDelete = { ledger: event.ledger, entry: event.entry };
  subscription.read = { ledger: event.readLedger, entry: event.readEntry };
  subscription.acknowledged = (event.acknowledged ?? []).map((range) => ({ ...range }));
  for (const { consumer: id, permits, unacked } of event.consumers ?? []) {
    const consumer = own(subscription.consumers, id);
    if (consumer) Object.assign(consumer, { permits, unacked });
  }
}

function noLoad() {
  return { rateIn: 0, rateOut: 0, bytesIn: 0, bytesOut: 0, connections: 0, cacheBytes: 0, cacheLimit: 0, cacheHits: 0, cacheMisses: 0 };
}

/** The broker that serves clients at a URL: the one that it registered, or the address of one of its listeners. */
export function brokerAt(state: State, url: string): string {
  const address = url.startsWith('pulsar://') ? url.slice('pulsar://'.length) : url;
  for (const [name, broker] of Object.entries(state.pulsar.brokers).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (broker.url === url) return name;
    if (Object.values(own(state.nodes, name)?.addresses ?? {}).includes(address)) return name;
  }
  return '';
}

function bundleReleased(state: State, node: string, event: EventData['pulsar.bundleReleased']): void {
  const key = `${event.namespace}/${event.bundle}`;
  const bundle = own(state.pulsar.bundles, key);
  if (!bundle) return;
  if (event.reason === 'split') delete state.pulsar.bundles[key]; // its range is now that of other bundles
  else if (bundle.owner === node) bundle.owner = '';
}

/** A bundle is owned as long as /namespace/<tenant>/<namespace>/<range> is there, a namespace exists as long as its policies do. */
export function pulsarZnodeDeleted(state: State, path: string): void {
  const { bundles } = state.pulsar;
  if (path.startsWith('/namespace/')) {
    const bundle = own(bundles, path.slice('/namespace/'.length));
    if (bundle) bundle.owner = '';
  }
  if (path.startsWith('/admin/policies/')) {
    const namespace = path.slice('/admin/policies/'.length);
    for (const [key, bundle] of Object.entries(bundles)) if (bundle.namespace === namespace) delete bundles[key];
  }
}

function topicLoaded(state: State, node: string, event: EventData['pulsar.topicLoaded']): void {
  const { topics } = state.pulsar;
  const none: PulsarTopic = {
    owner: '',
    namespace: '',
    bundle: '',
    hash: 0,
    ledgers: [],
    producers: {},
    lastPublished: nowhere(),
    messages: 0,
    subscriptions: {},
  };
  const topic = own(topics, event.topic) ?? put(topics, event.topic, none);
  unload(topic);
  const { namespace, bundle, hash, ledgers } = event;
  Object.assign(topic, { owner: node, namespace, bundle, hash, ledgers: [...(ledgers ?? [])] });
  offloadedFound(state, node, event);
}

/** Nobody serves the topic, so nobody is connected to it. Its ledgers and cursors are with the bookies. */
function unload(topic: PulsarTopic): void {
  topic.owner = '';
  topic.producers = {};
  for (const subscription of Object.values(topic.subscriptions)) {
    Object.assign(subscription, { active: '', consumers: {}, pending: 0, replay: 0, delayed: 0, redelivered: 0 });
  }
}

export function forgetPulsarBroker(state: State, node: string): void {
  const broker = own(state.pulsar.brokers, node);
  if (broker) broker.load = noLoad();
  for (const topic of Object.values(state.pulsar.topics)) if (topic.owner === node) unload(topic);
}

function published(state: State, event: EventData['pulsar.published']): void {
  const topic = own(state.pulsar.topics, event.topic);
  if (!topic) return;
  topic.lastPublished = { ledger: event.ledger, entry: event.entry };
  topic.messages += event.messages;
  for (const subscription of Object.values(topic.subscriptions)) subscription.backlog += events(event.folded);
}

function subscriptionOf(state: State, topic: string, name: string): Subscription | undefined {
  const known = own(state.pulsar.topics, topic);
  return known && own(known.subscriptions, name);
}

/** Makes the subscription when its topic is there without it. */
function subscriptionOrNew(state: State, topic: string, name: string): Subscription | undefined {
  const known = own(state.pulsar.topics, topic);
  if (!known) return undefined;
  const none: Subscription = {
    type: '',
    active: '',
    consumers: {},
    markDelete: nowhere(),
    backlog: 0,
    read: nowhere(),
    acknowledged: [],
    acknowledgedEntries: 0,
    pending: 0,
    replay: 0,
    delayed: 0,
    redelivered: 0,
  };
  return own(known.subscriptions, name) ?? put(known.subscriptions, name, none);
}

/** "public/default/persistent/orders" is persistent://public/default/orders; undefined when it is no topic or not known. */
export function topicOf(state: State, managedLedger: string): PulsarTopic | undefined {
  const [tenant, namespace, domain, ...rest] = managedLedger.split('/');
  if (rest.length === 0) return undefined;
  try {
    return own(state.pulsar.topics, `${domain}://${tenant}/${namespace}/${decodeURIComponent(rest.join('/'))}`);
  } catch {
    return undefined;
  }
}
