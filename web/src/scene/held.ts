import { own } from '../trace/reduce/maps';
import type { State, TypedRecord } from '../trace/types';
import { isInternal } from './kafka';
import { topicLabel } from './topics';

/** A node that is stopped in order hands over what it has before it goes: what it gave up so shortly before was its own. */
const HANDED_OVER_MS = 30_000;
/** Topics, and partitions, that are remembered. */
const LIMIT = 20_000;

/** What a node had when it fell, and the record with which it began to hand that over, if it did so before it went. */
export interface Held {
  names: string[];
  since?: { n: number; time: number };
}

interface Given {
  node: string;
  /** When it was given up; undefined: it was not. */
  at?: { n: number; time: number } | undefined;
}

/**
 * What a node had when it fell, under the names that the story's sentences use: partitions that it led, topics that it served, open
 * ledgers of topics whose entries it stored. Who served a topic, and who led a partition before an orderly shutdown moved it, is remembered
 * here: the state does not keep it.
 */
export class Holders {
  private readonly served = new Map<string, Given>();
  /** By partition, who leads it. */
  private readonly leaders = new Map<string, number>();
  /** By partition, who handed it over because it was to stop. */
  private readonly handed = new Map<string, Given>();

  begin(state: State): void {
    this.served.clear();
    this.leaders.clear();
    this.handed.clear();
    for (const [topic, { owner }] of Object.entries(state.pulsar.topics)) if (owner) this.served.set(topic, { node: owner });
    for (const [topic, { partitions }] of Object.entries(state.kafka.topics)) {
      for (const [number, { leader }] of Object.entries(partitions)) this.leaders.set(`${topic}-${number}`, leader);
    }
  }

  take(record: TypedRecord): void {
    switch (record.kind) {
      case 'pulsar.topicLoaded':
        return remember(this.served, record.data.topic, { node: record.node });
      case 'pulsar.topicUnloaded': {
        const last = this.served.get(record.data.topic);
        if (last?.node === record.node) last.at = { n: record.n, time: record.time };
        return;
      }
      case 'pulsar.topicDeleted':
        this.served.delete(record.data.topic);
        return;
      case 'kafka.partitionStateChanged':
        return this.led(record);
      case 'node.started': // what it had in an earlier life, others have
        forgetOf(this.served, record.node);
        forgetOf(this.handed, record.node);
        return;
    }
  }

  private led({ n, time, data: { topic, partition, leader, reason } }: Extract<TypedRecord, { kind: 'kafka.partitionStateChanged' }>): void {
    if (isInternal(topic)) return;
    const name = `${topic}-${partition}`;
    const before = this.leaders.get(name) ?? -1;
    if (reason === 'controlled-shutdown' && before >= 0 && before !== leader) remember(this.handed, name, { node: `kafka-${before}`, at: { n, time } });
    else if (before !== leader) this.handed.delete(name);
    remember(this.leaders, name, leader);
  }

  heldBy(node: string, time: number, state: State): Held {
    switch (own(state.nodes, node)?.role) {
      case 'kafka': {
        const given = handedOver(this.handed, node, time);
        return { ...given, names: [...new Set([...partitionsLedBy(own(state.nodes, node)!.id, state), ...given.names])] };
      }
      case 'pulsar': {
        const given = handedOver(this.served, node, time);
        const kept = [...this.served].filter(([, last]) => last.node === node && !last.at).map(([topic]) => topic);
        return { ...given, names: [...kept, ...given.names].map(topicLabel) };
      }
      case 'bookie':
        return { names: openLedgersOn(node, state) };
      default:
        return { names: [] };
    }
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T): void {
  map.set(key, value);
  if (map.size > LIMIT) map.delete(map.keys().next().value!);
}

function forgetOf(map: Map<string, Given>, node: string): void {
  for (const [name, given] of map) if (given.node === node) map.delete(name);
}

/** What a node gave up shortly before, and since when. */
function handedOver(map: ReadonlyMap<string, Given>, node: string, time: number): Held {
  const given = [...map].flatMap(([name, last]) => (last.node === node && last.at && time - last.at.time < HANDED_OVER_MS ? [{ name, at: last.at }] : []));
  const first = given.reduce<Held['since']>((earliest, { at }) => (earliest && earliest.n < at.n ? earliest : at), undefined);
  return { names: given.map(({ name }) => name), ...(first && { since: first }) };
}

function partitionsLedBy(broker: number, state: State): string[] {
  return Object.entries(state.kafka.topics).flatMap(([topic, { partitions }]) =>
    isInternal(topic) ? [] : Object.entries(partitions).filter(([, { leader }]) => leader === broker).map(([partition]) => `${topic}-${partition}`),
  );
}

function openLedgersOn(node: string, state: State): string[] {
  return Object.entries(state.pulsar.ledgers)
    .filter(([, { state: its, cursor, ensembles }]) => its === 'open' && cursor === '' && ensembles.at(-1)?.bookies.some((address) => own(state.pulsar.bookies, address)?.node === node))
    .map(([id]) => heldLedger(id));
}

/** A ledger's name among what a node had. */
export function heldLedger(id: string): string {
  return `ledger ${id}`;
}
