import type { EventData, PulsarTopic, State, Subscription, TypedRecord } from '../types';
import { events, own, put } from './maps';

const nowhere = () => ({ ledger: -1, entry: -1 });

export function applyPulsar(state: State, record: TypedRecord): void {
  const { pulsar } = state;
  const { node } = record;
  switch (record.kind) {
    case 'pulsar.brokerRegistered':
      put(pulsar.brokers, node, { registered: true, broker: record.data.broker, url: record.data.url });
      return;
    case 'pulsar.leaderElected':
      pulsar.leader = node;
      return;
    case 'pulsar.bundleOwned': {
      const { namespace, bundle } = record.data;
      put(pulsar.bundles, `${namespace}/${bundle}`, { namespace, range: bundle, owner: node });
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
      return applySubscription(state, record);
  }
}

function applySubscription(state: State, record: TypedRecord): void {
  switch (record.kind) {
    case 'pulsar.consumerAttached': {
      const { topic, subscription, type, consumer, name, client } = record.data;
      const known = subscriptionOrNew(state, topic, subscription);
      if (!known) return;
      known.type = type;
      put(known.consumers, consumer, { name, client, lastDispatched: nowhere(), messages: 0 });
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
    case 'pulsar.subscriptionDeleted': {
      const topic = own(state.pulsar.topics, record.data.topic);
      if (topic) delete topic.subscriptions[record.data.subscription];
      return;
    }
  }
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
}

/** Nobody serves the topic, so nobody is connected to it. Its ledgers and cursors are with the bookies. */
function unload(topic: PulsarTopic): void {
  topic.owner = '';
  topic.producers = {};
  for (const subscription of Object.values(topic.subscriptions)) {
    subscription.active = '';
    subscription.consumers = {};
  }
}

export function forgetPulsarBroker(state: State, node: string): void {
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
  const none: Subscription = { type: '', active: '', consumers: {}, markDelete: nowhere(), backlog: 0 };
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
