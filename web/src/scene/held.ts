import { own } from '../trace/reduce/maps';
import type { State, TypedRecord } from '../trace/types';
import { isInternal } from './kafka';
import { topicLabel } from './topics';

/** A node that is stopped in order hands its topics over before it goes: what it gave up so shortly before was its own. */
const HANDED_OVER_MS = 30_000;
/** Topics that are remembered. */
const LIMIT = 20_000;

/**
 * What a node had when it fell, under the names that the story's sentences use: partitions that it led, topics that it served, open
 * ledgers of topics whose entries it stored. Who served a topic is remembered here: the state forgets it with the broker's end.
 */
export class Holders {
  private readonly served = new Map<string, { node: string; unloadedAt: number }>();

  begin(state: State): void {
    this.served.clear();
    for (const [topic, { owner }] of Object.entries(state.pulsar.topics)) if (owner) this.served.set(topic, { node: owner, unloadedAt: Infinity });
  }

  take(record: TypedRecord): void {
    switch (record.kind) {
      case 'pulsar.topicLoaded':
        this.served.set(record.data.topic, { node: record.node, unloadedAt: Infinity });
        if (this.served.size > LIMIT) this.served.delete(this.served.keys().next().value!);
        return;
      case 'pulsar.topicUnloaded': {
        const last = this.served.get(record.data.topic);
        if (last?.node === record.node) last.unloadedAt = record.time;
        return;
      }
      case 'pulsar.topicDeleted':
        this.served.delete(record.data.topic);
        return;
    }
  }

  heldBy(node: string, time: number, state: State): string[] {
    switch (own(state.nodes, node)?.role) {
      case 'kafka':
        return partitionsLedBy(own(state.nodes, node)!.id, state);
      case 'pulsar':
        return [...this.served].filter(([, last]) => last.node === node && time - last.unloadedAt < HANDED_OVER_MS).map(([topic]) => topicLabel(topic));
      case 'bookie':
        return openLedgersOn(node, state);
      default:
        return [];
    }
  }
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
