import { isClient } from '../trace/flights';
import type { State, TypedRecord } from '../trace/types';
import { isMessage } from './records';

/** What of the picture a record is about, by the names that the places carry (data-node, data-place). */
export interface Concerned {
  nodes: string[];
  places: string[];
}

export const NOTHING_CONCERNED: Concerned = { nodes: [], places: [] };

export function concernedBy(record: TypedRecord, state: State): Concerned {
  const nodes = new Set<string>();
  const places = new Set<string>();
  const data = record.data as object as Record<string, unknown>;
  const { topic, partition, ledger, path, namespace, bundle, broker, subject } = data;
  if (!isMessage(record)) nodes.add(record.node);
  for (const end of [data.from, data.to, data.for]) if (typeof end === 'string') nodes.add(end);
  if (typeof broker === 'number') nodes.add(`kafka-${broker}`);
  for (const id of [data.leader, data.replica, data.controller]) if (typeof id === 'number' && id >= 0) nodes.add(`kafka-${id}`);
  if (typeof topic === 'string' && typeof partition === 'number') {
    for (const id of state.kafka.topics[topic]?.partitions[String(partition)]?.replicas ?? []) places.add(`kafka-${id}/${topic}-${partition}`);
  } else if (typeof topic === 'string') places.add(`${record.node}/${topic}`);
  for (const one of [path, subject]) if (typeof one === 'string' && one.startsWith('/')) places.add(`znode/${one}`);
  if (typeof namespace === 'string' && typeof bundle === 'string') places.add(`bundle/${namespace}/${bundle}`);
  const known = typeof ledger === 'number' ? state.pulsar.ledgers[ledger] : undefined;
  if (known?.offload) places.add(`medium/ledger ${String(ledger)}`);
  if (known) for (const { node } of Object.values(state.pulsar.bookies)) places.add(`${node}/ledger ${String(ledger)}`);
  if (record.kind === 'kafka.controllerElected' || record.kind === 'kafka.controllerResigned') places.add('znode//controller');
  return { nodes: [...nodes].filter((node) => node !== '' && !isClient(node)), places: [...places] };
}
