import type { Link, State, TypedRecord } from '../types';
import { forgetAutorecovery } from './replication';
import { forgetEnsembleServer } from './ensemble';
import { forgetKafkaBroker, kafkaBrokerUnregistered } from './kafka';
import { own, put } from './maps';
import { forgetPulsarBroker } from './pulsar';

export function applyNode(state: State, record: TypedRecord): void {
  const { node } = record;
  switch (record.kind) {
    case 'trace.recordsDropped':
      put(state.dropped, node, (own(state.dropped, node) ?? 0) + record.data.count);
      return;
    case 'node.started': {
      const { role, id, addresses } = record.data;
      put(state.nodes, node, { role, id, state: 'starting', detail: '', addresses: { ...addresses } });
      return;
    }
    case 'node.ready':
    case 'node.resumed':
      return setNodeState(state, node, 'running');
    case 'node.paused':
      return setNodeState(state, node, 'paused');
    case 'node.stopped': {
      const known = own(state.nodes, node);
      if (known) {
        known.state = record.data.reason;
        known.detail = record.data.detail ?? '';
      }
      return forgetMemoryOf(state, node);
    }
    case 'node.removed':
      delete state.nodes[node];
      return;
    case 'node.diskChanged': {
      const known = own(state.nodes, node);
      if (!known) return;
      const { delayMS, full, failSync } = record.data;
      if (delayMS === 0 && !full && !failSync) delete known.disk;
      else known.disk = { delayMS, full, failSync };
      return;
    }
    case 'node.linkChanged':
      return linkChanged(state, record.data);
  }
}

function setNodeState(state: State, node: string, to: string): void {
  const known = own(state.nodes, node);
  if (known) known.state = to;
}

function linkChanged(state: State, { from, to, cut, delayMS, jitterMS, bytesPerSecond }: Link): void {
  const key = `${from}>${to}`;
  if (!cut && delayMS === 0 && jitterMS === 0 && bytesPerSecond === 0) delete state.links[key];
  else put(state.links, key, { from, to, cut, delayMS, jitterMS, bytesPerSecond });
}

/** Ends what a node that is gone held in memory only; what it wrote into the ensemble stays until its session expires. */
function forgetMemoryOf(state: State, node: string): void {
  forgetEnsembleServer(state, node);
  forgetKafkaBroker(state, node);
  forgetPulsarBroker(state, node);
  forgetAutorecovery(state, node);
  if (ensembleUnseen(state)) forgetRegistrationsOf(state, node);
}

/** The coordination service records no trace (a real ZooKeeper): then a registration is taken to end with its node. */
function ensembleUnseen(state: State): boolean {
  return state.ensemble.applied.zxid === 0 && Object.keys(state.ensemble.znodes).length === 0;
}

function forgetRegistrationsOf(state: State, node: string): void {
  const { kafka, pulsar } = state;
  for (const [id, broker] of Object.entries(kafka.brokers)) if (broker.node === node) kafkaBrokerUnregistered(state, id);
  if (own(kafka.brokers, kafka.controller.broker)?.node === node) kafka.controller.broker = -1;
  const broker = own(pulsar.brokers, node);
  if (broker) broker.registered = false;
  if (pulsar.leader === node) pulsar.leader = '';
  for (const bundle of Object.values(pulsar.bundles)) if (bundle.owner === node) bundle.owner = '';
  for (const bookie of Object.values(pulsar.bookies)) if (bookie.node === node) bookie.registered = false;
}
