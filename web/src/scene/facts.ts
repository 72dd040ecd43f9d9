import type { Key, Param, Text } from '../i18n/message';
import { own } from '../trace/reduce/maps';
import type { KafkaPartition, Link, State } from '../trace/types';
import { restorationText } from './autorecovery';
import { isInternal, kafkaScene } from './kafka';
import { type LedgerRow, ledgersScene, offloadText } from './ledgers';
import { byName, sortedEntries } from './order';
import { named, replicaOf, topicNamed, type NamedThing, type Thing } from './things';

/** One line of what the inspector tells of a thing. */
export interface Fact {
  label: Key;
  value?: Param;
  /** Of a list, one line each. */
  lines?: (string | Text)[];
  /** Things that can be looked into from here. */
  things?: NamedThing[];
  /** More of them that are folded away: the cluster's own. */
  folded?: NamedThing[];
  /** Text of the cluster's own: shown as it is. */
  code?: string;
}

/** What a thing is at the state's instant; undefined when it is not there. A record is no part of the state: see recordFacts. */
export function factsOf(thing: Thing, state: State): Fact[] | undefined {
  const facts = byType(thing, state);
  return facts?.filter(({ value, lines, things, folded, code }) => value !== undefined || lines?.length || things?.length || folded?.length || code !== undefined);
}

function byType(thing: Thing, state: State): Fact[] | undefined {
  switch (thing.type) {
    case 'node':
      return nodeFacts(state, thing.node);
    case 'replica':
      return replicaFacts(state, thing);
    case 'group':
      return groupFacts(state, thing.group);
    case 'topic':
      return topicFacts(state, thing.topic);
    case 'subscription':
      return subscriptionFacts(state, thing.topic, thing.subscription);
    case 'bundle':
      return bundleFacts(state, thing.namespace, thing.range);
    case 'ledger':
      return ledgerFacts(state, thing.ledger);
    case 'znode':
      return znodeFacts(state, thing.path);
    case 'record':
      return undefined;
  }
}

const yesNo = (yes: boolean): Text => ({ key: yes ? 'fact.yes' : 'fact.no' });
const node = (name: string): NamedThing[] => (name ? [named({ type: 'node', node: name })] : []);
const broker = (id: number): NamedThing[] => (id >= 0 ? node(`kafka-${id}`) : []);
const brokers = (ids: readonly number[]): NamedThing[] => ids.flatMap(broker);
const position = ({ ledger, entry }: { ledger: number; entry: number }): Param => (ledger < 0 ? { key: 'fact.none' } : `${ledger}:${entry}`);
const hexadecimal = (zxid: number): string => `0x${zxid.toString(16)}`;

function nodeFacts(state: State, name: string): Fact[] | undefined {
  const known = own(state.nodes, name);
  if (!known) return undefined;
  const addresses = sortedEntries(known.addresses).map(([purpose, address]) => `${purpose} ${address}`);
  return [
    { label: 'table.state', value: { key: `state.${known.state}` as Key } },
    ...(known.detail ? [{ label: 'fact.error' as Key, code: known.detail }] : []),
    ...roleFacts(state, name, known.role),
    { label: 'fact.addresses', lines: addresses },
    { label: 'fact.links', lines: Object.values(state.links).filter(({ from, to }) => from === name || to === name).map(linkText) },
  ];
}

export function linkText(link: Link): Text {
  const { from, to, delayMS, jitterMS, bytesPerSecond } = link;
  if (link.cut) return { key: 'link.isCut', params: { from, to } };
  const how: Text[] = [];
  if (delayMS || jitterMS) how.push(jitterMS ? { key: 'link.byJitter', params: { delay: delayMS, jitter: jitterMS } } : { key: 'link.by', params: { delay: delayMS } });
  if (bytesPerSecond) how.push({ key: 'link.bounded', params: { rate: bytesPerSecond } });
  const [first, second] = how;
  if (!first) return { key: 'link.healthy', params: { from, to } };
  return second ? { key: 'link.isBoth', params: { from, to, first, second } } : { key: 'link.is', params: { from, to, how: first } };
}

function roleFacts(state: State, name: string, role: string): Fact[] {
  switch (role) {
    case 'kafka':
      return kafkaBrokerFacts(state, name);
    case 'pulsar':
      return pulsarBrokerFacts(state, name);
    case 'bookie':
      return bookieFacts(state, name);
    case 'ensemble':
      return serverFacts(state, name);
    default:
      return [];
  }
}

function kafkaBrokerFacts(state: State, name: string): Fact[] {
  const card = kafkaScene(state).brokers.find((one) => one.name === name);
  if (!card) return [];
  const registration = own(state.kafka.brokers, card.id);
  const strips = card.topics.flatMap((topic) => topic.strips);
  const replica = (strip: (typeof strips)[number]): NamedThing => ({ name: strip.partition, thing: { type: 'replica', topic: strip.topic, partition: strip.number, broker: card.id } });
  return [
    { label: 'fact.controller', value: yesNo(card.controller) },
    { label: 'fact.registered', value: yesNo(card.registered) },
    { label: 'fact.brokerEpoch', value: registration && String(registration.epoch) },
    { label: 'fact.refusedControllers', value: registration?.refusedControllers || undefined },
    { label: 'fact.leads', value: { key: 'fact.of', params: { count: card.leaders, total: card.replicas } } },
    { label: 'fact.replicas', things: strips.filter(({ topic }) => !isInternal(topic)).map(replica), folded: strips.filter(({ topic }) => isInternal(topic)).map(replica) },
  ];
}

function pulsarBrokerFacts(state: State, name: string): Fact[] {
  const { pulsar } = state;
  return [
    { label: 'fact.loadManager', value: yesNo(pulsar.leader === name) },
    { label: 'fact.registered', value: yesNo(own(pulsar.brokers, name)?.registered ?? false) },
    { label: 'fact.bundles', things: Object.values(pulsar.bundles).filter(({ owner }) => owner === name).map(({ namespace, range }) => named({ type: 'bundle', namespace, range })) },
    { label: 'table.topics', things: sortedEntries(pulsar.topics).filter(([, { owner }]) => owner === name).map(([topic]) => named({ type: 'topic', topic })) },
  ];
}

function bookieFacts(state: State, name: string): Fact[] {
  const card = ledgersScene(state).bookies.find((one) => one.name === name);
  if (!card) return [];
  const holds = sortedEntries(state.pulsar.ledgers).filter(([, ledger]) => ledger.ensembles.some(({ bookies }) => bookies.includes(card.address)));
  return [
    { label: 'fact.registered', value: yesNo(card.registered) },
    { label: 'fact.auditor', value: yesNo(card.auditor) },
    { label: 'fact.adds', value: { key: card.readOnly ? 'storage.readOnly' : 'storage.writable' } },
    { label: 'fact.entries', value: card.entries },
    { label: 'table.ledgers', things: holds.map(([id]) => named({ type: 'ledger', ledger: Number(id) })) },
  ];
}

function serverFacts(state: State, name: string): Fact[] {
  const server = own(state.ensemble.servers, name);
  if (!server) return [];
  const sessions = sortedEntries(state.ensemble.sessions).filter(([, session]) => session.server === name);
  return [
    { label: 'table.role', value: server.role ? { key: `ensemble.${server.role}` as Key } : { key: 'fact.none' } },
    { label: 'fact.leader', things: node(server.leader) },
    { label: 'fact.term', value: String(server.term) },
    { label: 'fact.vote', value: server.votedFor ? { key: 'fact.votedFor', params: { node: server.votedFor, term: String(server.voteTerm) } } : { key: 'fact.none' } },
    { label: 'fact.commitIndex', value: server.commitIndex },
    { label: 'fact.zxid', value: hexadecimal(server.zxid) },
    { label: 'fact.sessions', lines: sessions.map(([id, session]) => `${id} ${session.client}`) },
  ];
}

function replicaFacts(state: State, { topic, partition: number, broker: id }: Extract<Thing, { type: 'replica' }>): Fact[] | undefined {
  const partition = own(state.kafka.topics, topic)?.partitions[number];
  if (!partition || !partition.replicas.includes(id)) return undefined;
  const name = `${topic}-${number}`;
  const strip = kafkaScene(state).brokers.find((card) => card.id === id)?.topics.find((one) => one.topic === topic)?.strips.find((one) => one.number === number);
  const log = partition.logs[id];
  return [
    { label: 'table.role', value: { key: `replica.${strip?.status ?? 'offline'}` } },
    { label: 'table.logEnd', value: log?.leo ?? 0 },
    { label: 'table.highWatermark', value: log?.highWatermark ?? 0 },
    { label: 'fact.logStart', value: log?.logStart ?? 0 },
    ...(partition.leader === id ? [] : [{ label: 'fact.fetchedTo' as Key, value: log?.fetchedLEO ?? 0 }]),
    { label: 'fact.leaderEpoch', value: String(log?.leaderEpoch ?? partition.leaderEpoch) },
    ...partitionFacts(partition, topic, number),
    { label: 'fact.committed', things: sortedEntries(state.kafka.groups).filter(([, { offsets }]) => own(offsets, name) !== undefined).map(([group, { offsets }]) => ({ name: `${group} ${offsets[name]}`, thing: { type: 'group', group } })) },
  ];
}

function partitionFacts(partition: KafkaPartition, topic: string, number: number): Fact[] {
  return [
    { label: 'fact.leader', things: broker(partition.leader), value: partition.leader < 0 ? { key: 'fact.none' } : undefined },
    { label: 'fact.isr', things: brokers(partition.isr) },
    { label: 'fact.assigned', things: partition.replicas.map((one) => ({ name: `kafka-${one}`, thing: { type: 'replica', topic, partition: number, broker: one } })) },
    { label: 'fact.partitionEpoch', value: String(partition.partitionEpoch) },
    { label: 'fact.acknowledgedAll', value: own(partition.acknowledged, '-1') },
    { label: 'fact.acknowledgedLeader', value: own(partition.acknowledged, '1') },
  ];
}

function groupFacts(state: State, name: string): Fact[] | undefined {
  const card = kafkaScene(state).groups.find(({ group }) => group === name);
  if (!card) return undefined;
  return [
    { label: 'table.state', value: { key: `group.state.${card.state}` as Key } },
    { label: 'fact.generation', value: String(card.generation) },
    { label: 'fact.strategy', value: card.strategy || { key: 'fact.none' } },
    { label: 'fact.coordinator', things: node(card.coordinator) },
    { label: 'fact.members', lines: card.members.map((member): Text => ({ key: 'group.reads', params: { member: member.clientID || member.id, partitions: member.assigned.length > 0 ? member.assigned : { key: 'fact.none' } } })) },
    { label: 'table.lag', value: card.lag ?? { key: 'group.nothingCommitted' } },
    { label: 'fact.committed', lines: card.partitions.map(({ partition, committed, end, lag }): Text =>
      committed === undefined ? { key: 'group.partitionUncommitted', params: { partition, unread: lag } } : { key: 'fact.committedOf', params: { partition, committed, end, lag } }) },
    { label: 'fact.reads', things: card.partitions.flatMap(({ partition }) => {
      const thing = replicaOf(state, partition);
      return thing ? [{ name: partition, thing }] : [];
    }) },
  ];
}

function topicFacts(state: State, name: string): Fact[] | undefined {
  const topic = own(state.pulsar.topics, name);
  if (!topic) return undefined;
  return [
    { label: 'fact.name', code: name },
    { label: 'table.owner', things: node(topic.owner), value: topic.owner ? undefined : { key: 'pulsar.nobody' } },
    { label: 'table.bundle', things: [named({ type: 'bundle', namespace: topic.namespace, range: topic.bundle })] },
    { label: 'fact.hash', value: `0x${topic.hash.toString(16).padStart(8, '0')}` },
    { label: 'fact.messages', value: topic.messages },
    { label: 'fact.lastPublished', value: position(topic.lastPublished) },
    { label: 'fact.producers', lines: sortedEntries(topic.producers).map(([producer, address]) => `${producer} ${address}`) },
    { label: 'fact.subscriptions', things: sortedEntries(topic.subscriptions).map(([subscription]) => ({ name: subscription, thing: { type: 'subscription', topic: name, subscription } })) },
    { label: 'table.ledgers', things: topic.ledgers.map((ledger) => named({ type: 'ledger', ledger })) },
    ...offloadedOf(state, topic.ledgers),
  ];
}

/** Of a topic's ledgers, those on the medium of tiered storage. */
function offloadedOf(state: State, ledgers: readonly number[]): Fact[] {
  const whole = ledgers.filter((ledger) => own(state.pulsar.ledgers, ledger)?.offload?.complete);
  const alone = whole.filter((ledger) => own(state.pulsar.ledgers, ledger)?.offload?.deletedFromBookies);
  if (whole.length === 0) return [];
  return [{ label: 'fact.offload', value: { key: 'fact.offloadedLedgers', params: { count: whole.length, of: ledgers.length, alone: alone.length } } }];
}

function subscriptionFacts(state: State, topic: string, name: string): Fact[] | undefined {
  const subscription = own(own(state.pulsar.topics, topic)?.subscriptions ?? {}, name);
  if (!subscription) return undefined;
  return [
    { label: 'table.topic', things: [named({ type: 'topic', topic })] },
    { label: 'fact.subscriptionType', value: subscription.type || { key: 'fact.none' } },
    { label: 'fact.markDelete', value: position(subscription.markDelete) },
    { label: 'fact.backlog', value: subscription.backlog },
    { label: 'fact.active', value: subscription.active ? (own(subscription.consumers, subscription.active)?.name || subscription.active) : undefined },
    { label: 'fact.consumers', lines: sortedEntries(subscription.consumers).map(([id, consumer]): Text => ({ key: 'fact.consumer', params: { name: consumer.name || id, address: consumer.client, count: consumer.messages } })) },
  ];
}

function bundleFacts(state: State, namespace: string, range: string): Fact[] | undefined {
  const bundle = own(state.pulsar.bundles, `${namespace}/${range}`);
  if (!bundle) return undefined;
  const topics = sortedEntries(state.pulsar.topics).filter(([, topic]) => topic.namespace === namespace && topic.bundle === range);
  return [
    { label: 'table.namespace', value: namespace },
    { label: 'table.owner', things: node(bundle.owner), value: bundle.owner ? undefined : { key: 'pulsar.nobody' } },
    { label: 'table.topics', things: topics.map(([topic]) => named({ type: 'topic', topic })) },
    { label: 'fact.znode', things: znodeThing(state, `/namespace/${namespace}/${range}`) },
  ];
}

function ledgerFacts(state: State, id: number): Fact[] | undefined {
  const ledger = own(state.pulsar.ledgers, id);
  const row = ledgersScene(state).ledgers.find((one) => one.id === id);
  if (!ledger || !row) return undefined;
  const topic = topicNamed(ledger.managedLedger);
  const bookies = new Map(ledgersScene(state).bookies.map(({ address, name }) => [address, name]));
  const bookie = (address: string) => bookies.get(address) ?? address;
  return [
    { label: 'table.state', value: { key: `ledger.${ledger.state}` as Key } },
    { label: 'table.topic', things: topic ? [named({ type: 'topic', topic })] : [] },
    { label: 'fact.cursor', value: ledger.cursor || undefined },
    { label: 'fact.writer', things: node(ledger.writer) },
    { label: 'fact.quorum', value: row.offload?.alone ? undefined : { key: 'storage.quorum', params: { ensemble: row.ensembleSize, write: row.writeQuorum, ack: row.ackQuorum } } },
    ...(row.offload ? [{ label: 'fact.offload' as Key, value: offloadText(row.offload) as Param }] : []),
    ...(ledger.offload?.object ? [{ label: 'fact.object' as Key, code: ledger.offload.object }] : []),
    { label: 'fact.lastAddConfirmed', value: ledger.lastAddConfirmed < 0 ? { key: 'fact.none' } : ledger.lastAddConfirmed },
    ...(ledger.state === 'closed' ? [{ label: 'table.lastEntry' as Key, value: (ledger.lastEntry < 0 ? { key: 'ledger.empty' } : ledger.lastEntry) as Param }, { label: 'fact.length' as Key, value: ledger.length }] : []),
    { label: 'fact.ensembles', lines: row.changes.map((change): Text => ({ key: 'storage.change', params: { entry: change.firstEntry, bookies: change.bookies } })) },
    { label: 'fact.underReplication', lines: lacking(row) },
    { label: 'fact.fencedBy', things: ledger.fencedBy.flatMap((address) => node(bookie(address))) },
    { label: 'fact.stored', lines: sortedEntries(ledger.stored).sort(([a], [b]) => byName(bookie(a), bookie(b))).map(([address, stored]): Text => ({ key: 'fact.storedOn', params: { bookie: bookie(address), entry: stored.lastEntry, count: stored.entries, bytes: stored.bytes } })) },
  ];
}

/** Whose copies a ledger lacks, and what is done about it; the auditor waits a while before it marks one. */
function lacking({ underReplicated, fragments, restoration }: LedgerRow): Text[] {
  if (restoration) return [{ key: 'storage.missing', params: { bookies: restoration.missing } }, restorationText(restoration)];
  if (underReplicated === 0) return [];
  const bookies = [...new Set(fragments.flatMap(({ missing }) => missing))];
  return [{ key: 'storage.missing', params: { bookies } }, { key: 'storage.waits.unmarked' }];
}

function znodeThing(state: State, path: string): NamedThing[] {
  return own(state.ensemble.znodes, path) ? [named({ type: 'znode', path })] : [];
}

function znodeFacts(state: State, path: string): Fact[] | undefined {
  const { znodes, sessions } = state.ensemble;
  const znode = own(znodes, path);
  if (!znode) return undefined;
  const owner = znode.session ? own(sessions, znode.session) : undefined;
  const prefix = path === '/' ? '/' : `${path}/`;
  const children = Object.keys(znodes).filter((one) => one !== '/' && one.startsWith(prefix) && !one.slice(prefix.length).includes('/')).sort(byName);
  const watches = sortedEntries(sessions).filter(([, session]) => own(session.watches, path)).sort(([a, one], [b, other]) => byName(one.client || a, other.client || b));
  return [
    { label: 'fact.mode', value: { key: `znode.${znode.mode}` as Key } },
    { label: 'fact.session', value: znode.session ? `${znode.session}${owner?.client ? ` (${owner.client})` : ''}` : undefined },
    { label: 'fact.data', code: znode.data === '' ? undefined : znode.data },
    { label: 'fact.size', value: znode.bytes },
    { label: 'fact.version', value: String(znode.version) },
    { label: 'fact.created', value: hexadecimal(znode.czxid) },
    { label: 'fact.changed', value: hexadecimal(znode.mzxid) },
    { label: 'fact.parent', things: path === '/' ? [] : znodeThing(state, path.slice(0, path.lastIndexOf('/')) || '/') },
    { label: 'fact.children', things: children.map((child) => ({ name: child.slice(prefix.length), thing: { type: 'znode', path: child } })) },
    { label: 'fact.watchedBy', lines: watches.flatMap(([id, session]) => (session.watches[path] ?? []).map((type): Text => ({ key: 'fact.watcher', params: { client: session.client || id, types: { key: `watch.${type}` as Key } } }))) },
  ];
}
