import { allTopics } from '../pulsar';
import type { Scene } from '../scene';
import { topicNamed } from '../things';
import { wholeTopic } from '../topics';
import { choices, ENDS, text, type Action, type Addresses } from './action';

const admin = (at: Addresses) => `pulsar-admin --admin-url ${at.pulsarAdmin}`;

export function pulsarActions(scene: Scene): Action[] {
  return [create(), remove(scene), cursor(scene), offload(scene), unload(scene), split(scene)];
}

/** "orders" is short for a topic of public/default. */
function fullName(topic: string): string {
  return topic.includes('://') ? topic : `persistent://public/default/${topic}`;
}

function create(): Action {
  return {
    id: 'pulsar-create', title: 'do.createTopic', help: 'do.createPulsarTopicHelp', button: 'do.create',
    fields: [
      { name: 'topic', label: 'do.topic', type: 'text', initial: 'orders' },
      { name: 'partitions', label: 'do.partitionsOrNone', type: 'number', initial: 3, min: 0, max: 100 },
    ],
    requests: (values) => [{ method: 'POST', path: 'pulsar/topics', body: { name: text(values, 'topic'), partitions: values.partitions } }],
    command: (values, at) =>
      values.partitions ? `${admin(at)} topics create-partitioned-topic ${fullName(text(values, 'topic'))} -p ${values.partitions}` : `${admin(at)} topics create ${fullName(text(values, 'topic'))}`,
  };
}

function remove(scene: Scene): Action {
  const names = allTopics(scene.pulsar).map(({ topic }) => topic);
  const topics = [...new Set(names.map(wholeTopic))].sort();
  const partitioned = new Set(names.filter((name) => wholeTopic(name) !== name).map(wholeTopic));
  return {
    id: 'pulsar-delete', title: 'do.deleteTopic', help: 'do.deletePulsarTopicHelp', button: 'do.delete', dangerous: true,
    fields: [{ name: 'topic', label: 'do.topic', type: 'choice', options: choices(topics), initial: topics[0] ?? '' }],
    requests: (values) => (text(values, 'topic') ? [{ method: 'DELETE', path: `pulsar/topics?name=${encodeURIComponent(text(values, 'topic'))}` }] : []),
    command: (values, at) => `${admin(at)} topics ${partitioned.has(text(values, 'topic')) ? 'delete-partitioned-topic' : 'delete'} ${text(values, 'topic')} -f`,
  };
}

function cursor(scene: Scene): Action {
  const each = new Map<string, { subscription: string; topic: string }>();
  for (const { topic: partition, subscriptions } of allTopics(scene.pulsar)) {
    const topic = wholeTopic(partition);
    for (const { name } of subscriptions) each.set(`${name} · ${topic}`, { subscription: name, topic });
  }
  const names = [...each.keys()].sort();
  return {
    id: 'pulsar-cursor', title: 'do.resetCursor', help: 'do.resetCursorHelp', button: 'do.moveCursor',
    fields: [
      { name: 'subscription', label: 'do.ofSubscription', type: 'choice', options: choices(names), initial: names[0] ?? '' },
      { name: 'to', label: 'do.resetTo', type: 'choice', options: ENDS, initial: 'earliest' },
    ],
    requests: (values) => {
      const of = each.get(text(values, 'subscription'));
      return of ? [{ method: 'PUT', path: 'pulsar/cursors', body: { ...of, to: text(values, 'to') } }] : [];
    },
    command: (values, at) => {
      const of = each.get(text(values, 'subscription'));
      if (!of) return '';
      const what = text(values, 'to') === 'latest' ? 'clear-backlog' : 'reset-cursor';
      return `${admin(at)} topics ${what} ${of.topic} -s ${of.subscription}${what === 'reset-cursor' ? ' -t 520w' : ''}`;
    },
  };
}

/** Each partition is a managed ledger of its own, and pulsar-admin offloads one at a time. */
function offload(scene: Scene): Action {
  const names = allTopics(scene.pulsar).map(({ topic }) => topic).filter((topic) => topic.startsWith('persistent://')).sort();
  // What has closed ledgers comes first to mind.
  const closed = new Set(scene.storage.ledgers.filter(({ state, cursor: of, offload: on }) => state === 'closed' && of === '' && !on).map(({ managedLedger }) => topicNamed(managedLedger)));
  return {
    id: 'pulsar-offload', title: 'do.offload', help: 'do.offloadHelp', button: 'do.offloadNow',
    fields: [
      { name: 'topic', label: 'do.topic', type: 'choice', options: choices(names), initial: names.find((name) => closed.has(name)) ?? names[0] ?? '' },
      { name: 'keep', label: 'do.offloadKeep', type: 'number', initial: 0, min: 0, max: 1e9 },
    ],
    requests: (values) => (text(values, 'topic') ? [{ method: 'POST', path: 'pulsar/offloads', body: { topic: text(values, 'topic'), keep: Number(values.keep) * 1024 } }] : []),
    command: (values, at) => {
      const topic = text(values, 'topic');
      return `${admin(at)} topics offload --size-threshold ${values.keep ? `${values.keep}K` : 0} ${topic}\n${admin(at)} topics offload-status -w ${topic}`;
    },
  };
}

/** Bundles that somebody owns, as "public/default 0x00000000_0x40000000". */
function ownedBundles(scene: Scene): string[] {
  return scene.pulsar.namespaces.filter(({ internal }) => !internal).flatMap(({ namespace, bundles }) => bundles.filter(({ owner }) => owner !== '').map(({ range }) => `${namespace} ${range}`));
}

function apart(bundle: string): { namespace: string; bundle: string } {
  const [namespace = '', range = ''] = bundle.split(' ');
  return { namespace, bundle: range };
}

function unload(scene: Scene): Action {
  const bundles = ownedBundles(scene);
  return {
    id: 'pulsar-unload', title: 'do.unload', help: 'do.unloadHelp', button: 'do.unloadNow',
    fields: [
      { name: 'bundle', label: 'do.bundle', type: 'choice', options: choices(bundles), initial: bundles[0] ?? '' },
      { name: 'destination', label: 'do.destination', type: 'choice', options: [{ value: '', label: 'do.anyBroker' }, ...choices(scene.pulsar.brokers.map(({ name }) => name))], initial: '' },
    ],
    requests: (values) => (text(values, 'bundle') ? [{ method: 'POST', path: 'pulsar/bundles/unload', body: { ...apart(text(values, 'bundle')), destination: text(values, 'destination') } }] : []),
    command: (values, at) => {
      const { namespace, bundle } = apart(text(values, 'bundle'));
      const destination = text(values, 'destination');
      return `${admin(at)} namespaces unload ${namespace} --bundle ${bundle}${destination ? ` --destinationBroker ${destination}:8080` : ''}`;
    },
  };
}

function split(scene: Scene): Action {
  const bundles = ownedBundles(scene);
  return {
    id: 'pulsar-split', title: 'do.split', help: 'do.splitHelp', button: 'do.splitNow',
    fields: [
      { name: 'bundle', label: 'do.bundle', type: 'choice', options: choices(bundles), initial: bundles[0] ?? '' },
      { name: 'unload', label: 'do.unloadHalves', type: 'check', initial: true },
    ],
    requests: (values) => (text(values, 'bundle') ? [{ method: 'POST', path: 'pulsar/bundles/split', body: { ...apart(text(values, 'bundle')), unload: values.unload } }] : []),
    command: (values, at) => {
      const { namespace, bundle } = apart(text(values, 'bundle'));
      return `${admin(at)} namespaces split-bundle ${namespace} --bundle ${bundle}${values.unload ? ' --unload' : ''}`;
    },
  };
}
