import { own } from '../trace/reduce/maps';
import type { State } from '../trace/types';
import { isInternal } from './kafka';
import { byName, sortedEntries } from './order';
import { topicLabel } from './pulsar';

/** Anything of the picture that has a name and can be looked into. */
export type Thing =
  | { type: 'node'; node: string }
  | { type: 'replica'; topic: string; partition: number; broker: number }
  | { type: 'group'; group: string }
  | { type: 'topic'; topic: string }
  | { type: 'subscription'; topic: string; subscription: string }
  | { type: 'bundle'; namespace: string; range: string }
  | { type: 'ledger'; ledger: number }
  | { type: 'znode'; path: string }
  /** A record of the trace; a message is one of two. */
  | { type: 'record'; n: number };

export type ThingType = Thing['type'];

/** A thing with what it is called where it is listed. */
export interface NamedThing {
  name: string;
  thing: Thing;
}

export function keyOf(thing: Thing): string {
  return JSON.stringify(Object.values(thing));
}

/** The name that a thing has everywhere; a record's is its number. */
export function nameOf(thing: Thing): string {
  switch (thing.type) {
    case 'node':
      return thing.node;
    case 'replica':
      return `${thing.topic}-${thing.partition} · kafka-${thing.broker}`;
    case 'group':
      return thing.group;
    case 'topic':
      return topicLabel(thing.topic);
    case 'subscription':
      return `${thing.subscription} · ${topicLabel(thing.topic)}`;
    case 'bundle':
      return `${thing.namespace} ${thing.range}`;
    case 'ledger':
      return String(thing.ledger);
    case 'znode':
      return thing.path;
    case 'record':
      return `#${thing.n}`;
  }
}

export function named(thing: Thing): NamedThing {
  return { name: nameOf(thing), thing };
}

export interface ThingList {
  type: ThingType;
  things: NamedThing[];
}

/** Everything that the state holds and that can be looked into, by type. */
export function thingsOf(state: State): ThingList[] {
  const { kafka, pulsar, ensemble } = state;
  const topics = sortedEntries(kafka.topics).sort(([a], [b]) => Number(isInternal(a)) - Number(isInternal(b)));
  const replicas = topics.flatMap(([topic, { partitions }]) =>
    sortedEntries(partitions).flatMap(([number, { replicas }]) => replicas.map((broker): Thing => ({ type: 'replica', topic, partition: Number(number), broker }))),
  );
  const subscriptions = sortedEntries(pulsar.topics).flatMap(([topic, value]) =>
    Object.keys(value.subscriptions).sort(byName).map((subscription): Thing => ({ type: 'subscription', topic, subscription })),
  );
  const lists: Record<Exclude<ThingType, 'record'>, Thing[]> = {
    node: Object.keys(state.nodes).sort(byName).map((node) => ({ type: 'node', node })),
    replica: replicas,
    group: Object.keys(kafka.groups).sort(byName).map((group) => ({ type: 'group', group })),
    topic: Object.keys(pulsar.topics).sort(byName).map((topic) => ({ type: 'topic', topic })),
    subscription: subscriptions,
    bundle: Object.values(pulsar.bundles).sort((a, b) => byName(a.namespace, b.namespace) || byName(a.range, b.range)).map(({ namespace, range }) => ({ type: 'bundle', namespace, range })),
    ledger: Object.keys(pulsar.ledgers).sort((a, b) => Number(b) - Number(a)).map((ledger) => ({ type: 'ledger', ledger: Number(ledger) })),
    znode: Object.keys(ensemble.znodes).sort(byName).map((path) => ({ type: 'znode', path })),
  };
  return Object.entries(lists).map(([type, things]) => ({ type: type as ThingType, things: things.map(named) }));
}

/** "orders-0" as topic and number; undefined when it is no partition's name. */
export function partitionNamed(name: string): { topic: string; partition: number } | undefined {
  const dash = name.lastIndexOf('-');
  const partition = Number(name.slice(dash + 1));
  return dash < 1 || name.length === dash + 1 || !Number.isInteger(partition) ? undefined : { topic: name.slice(0, dash), partition };
}

/** A partition is looked into at its leader's replica, or at the first one while there is no leader. */
export function replicaOf(state: State, name: string): Thing | undefined {
  const found = partitionNamed(name);
  const topic = found && own(state.kafka.topics, found.topic);
  const partition = topic && own(topic.partitions, found.partition);
  if (!found || !partition) return undefined;
  const broker = partition.leader >= 0 ? partition.leader : partition.replicas[0];
  return broker === undefined ? undefined : { type: 'replica', ...found, broker };
}

/** "public/default/persistent/orders" as persistent://public/default/orders; undefined when it is no topic's. */
export function topicNamed(managedLedger: string): string | undefined {
  const [tenant, namespace, domain, ...rest] = managedLedger.split('/');
  if (rest.length === 0) return undefined;
  try {
    return `${domain}://${tenant}/${namespace}/${decodeURIComponent(rest.join('/'))}`;
  } catch {
    return undefined;
  }
}
