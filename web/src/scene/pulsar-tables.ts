import type { Key, Text } from '../i18n/message';
import type { LookupStep } from './lookups';
import { allTopics, hex } from './pulsar';
import type { Scene } from './scene';
import type { Cell, Table } from './tables';

/** Pulsar-mode as tables, beside bundles and ledgers. */
export function pulsarTables(scene: Scene): Table[] {
  return [loadTable(scene), lookupTable(scene), subscriptionTable(scene), fragmentTable(scene)];
}

function loadTable({ pulsar }: Scene): Table {
  return {
    title: 'table.load',
    columns: ['table.node', 'table.rateIn', 'table.rateOut', 'table.connections', 'table.cacheUsed', 'table.cacheLimit', 'table.cacheHits', 'table.cacheMisses'],
    rows: pulsar.brokers.map(({ name, load }): Cell[] => [
      name,
      load.rateIn,
      load.rateOut,
      load.connections,
      load.cacheBytes,
      load.cacheLimit,
      load.cacheHits,
      load.cacheMisses,
    ]),
  };
}

/** What a broker answered to a lookup. */
export function lookupAnswer({ node, result, target, authoritative }: LookupStep): Text {
  const params = { target: target || '?' };
  if (result === 'redirect') return { key: authoritative ? 'pulsar.lookup.chosen' : 'pulsar.lookup.redirect', params };
  if (result !== 'connect') return { key: 'pulsar.lookup.failed' };
  return node === target ? { key: 'pulsar.lookup.here' } : { key: 'pulsar.lookup.connect', params };
}

function lookupTable({ pulsar }: Scene): Table {
  return {
    title: 'table.lookups',
    columns: ['table.topic', 'table.hash', 'table.bundle', 'table.asked', 'table.answer'],
    rows: [...pulsar.lookups]
      .reverse()
      .flatMap((chain) => chain.steps.map((step): Cell[] => [chain.label, hex(chain.hash / 0x1_0000_0000), chain.bundle, step.node, lookupAnswer(step)])),
  };
}

function subscriptionTable({ pulsar }: Scene): Table {
  return {
    title: 'table.subscriptions',
    columns: ['table.subscription', 'table.topic', 'table.type', 'table.consumers', 'table.markDelete', 'table.singly', 'table.pending', 'table.redelivered', 'table.backlog'],
    rows: allTopics(pulsar).flatMap((topic) =>
      topic.subscriptions.map((one): Cell[] => [
        one.name,
        topic.label,
        one.type,
        one.consumers.map(({ name, active }) => (active ? `${name} *` : name)),
        one.markDelete,
        one.acknowledgedSingly,
        one.pending,
        one.redelivered,
        one.backlog,
      ]),
    ),
  };
}

function fragmentTable({ storage }: Scene): Table {
  return {
    title: 'table.fragments',
    columns: ['table.ledger', 'table.topics', 'table.state', 'table.firstEntry', 'table.lastEntry', 'table.bookies', 'table.missing'],
    rows: storage.ledgers.flatMap((ledger) =>
      ledger.fragments.map(({ firstEntry, lastEntry, bookies, missing }): Cell[] => [
        String(ledger.id),
        ledger.label,
        { key: `ledger.${ledger.fenced && ledger.state === 'open' ? 'fenced' : ledger.state}` as Key },
        firstEntry,
        lastEntry < firstEntry ? { key: 'ledger.empty' } : lastEntry,
        bookies,
        missing,
      ]),
    ),
  };
}

/** What is worth a sentence: the last lookup, backlogs, copies that are missing. */
export function pulsarFindings({ pulsar, storage }: Scene): Text[] {
  const told: Text[] = [];
  const last = pulsar.lookups.at(-1);
  const step = last?.steps.at(-1);
  if (last && step) told.push({ key: 'sentence.lookup', params: { topic: last.label, bundle: last.bundle, node: step.node, answer: lookupAnswer(step) } });
  for (const topic of pulsar.brokers.flatMap(({ topics }) => topics)) {
    for (const { name, type, backlog, consumers } of topic.subscriptions) {
      if (backlog === 0) continue;
      const who: Text = { key: 'pulsar.consumers', params: { count: consumers.length } };
      told.push({ key: 'sentence.subscription', params: { subscription: name, topic: topic.label, type: type || '–', backlog, consumers: who } });
    }
  }
  const onMedium = storage.ledgers.filter(({ offload }) => offload?.complete);
  if (onMedium.length > 0) told.push({ key: 'sentence.offloaded', params: { count: onMedium.length, alone: onMedium.filter(({ offload }) => offload?.alone).length } });
  const readOnly = storage.bookies.filter((bookie) => bookie.readOnly).map(({ name }) => name);
  if (readOnly.length > 0) told.push({ key: 'sentence.readOnlyBookies', params: { bookies: readOnly } });
  if (storage.ledgers.length === 0) return told;
  const gone = [...new Set(storage.ledgers.flatMap(({ fragments }) => fragments.flatMap(({ missing, firstEntry, lastEntry }) => (lastEntry >= firstEntry ? missing : []))))];
  told.push(
    storage.underReplicated > 0
      ? { key: 'sentence.underReplicated', params: { count: storage.underReplicated, bookies: gone } }
      : { key: 'sentence.fullyReplicated' },
  );
  return told;
}
