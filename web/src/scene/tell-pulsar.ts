import { brokerAt } from '../trace/reduce/pulsar';
import type { State, TypedRecord } from '../trace/types';
import { topicLabel } from './pulsar';
import type { Told } from './story';

/** The sentence of something that Pulsar-mode's brokers did. */
export function tellPulsar(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = 'pulsar';
  switch (record.kind) {
    case 'pulsar.leaderElected':
      return { side, moment: 'election', text: { key: 'story.loadManager', params: { node } } };
    case 'pulsar.bundleOwned':
      return { side, moment: 'ownership', text: { key: 'story.bundleOwned', params: { node, bundle: record.data.bundle, namespace: record.data.namespace } } };
    case 'pulsar.bundleReleased':
      return { side, moment: 'ownership', text: { key: 'story.bundleReleased', params: { node, bundle: record.data.bundle } } };
    case 'pulsar.lookupAnswered':
      if (record.data.result !== 'redirect') return undefined;
      return { side, moment: 'ownership', text: { key: 'story.lookupRedirected', params: { node, topic: topicLabel(record.data.topic), target: brokerAt(state, record.data.url) || record.data.url } } };
    case 'pulsar.topicLoaded':
      return { side, moment: 'ownership', text: { key: 'story.topicLoaded', params: { node, topic: topicLabel(record.data.topic) } } };
    case 'pulsar.topicUnloaded':
      return { side, moment: 'ownership', text: { key: 'story.topicUnloaded', params: { node, topic: topicLabel(record.data.topic) } } };
    case 'pulsar.consumerAttached': {
      const { topic, subscription, name } = record.data;
      return { side, moment: 'client', text: { key: 'story.consumerAttached', params: { name, subscription, topic: topicLabel(topic) } } };
    }
    case 'pulsar.activeConsumerChanged': {
      const { topic, subscription, consumer } = record.data;
      if (!consumer) return undefined;
      const name = state.pulsar.topics[topic]?.subscriptions[subscription]?.consumers[consumer]?.name || consumer;
      return { side, moment: 'client', text: { key: 'story.activeConsumer', params: { subscription, consumer: name } } };
    }
    default:
      return undefined;
  }
}

/** The sentence of something that happened to a ledger or to a bookie. */
export function tellLedger(record: TypedRecord, state: State): Told {
  const { node } = record;
  const side = 'pulsar';
  const moment = 'ledger';
  switch (record.kind) {
    case 'bookkeeper.bookieModeChanged': {
      const { readOnly } = record.data;
      return { side, moment: readOnly ? 'fault' : 'node', text: { key: readOnly ? 'story.bookieReadOnly' : 'story.bookieWritable', params: { node } } };
    }
    case 'bookkeeper.ledgerOpened': {
      const { ledger, ensemble, cursor } = record.data;
      if (cursor) return undefined;
      const bookies = (ensemble ?? []).map((address) => bookieName(state, address));
      return { side, moment, text: { key: 'story.ledgerOpened', params: { node, ledger: String(ledger), bookies } } };
    }
    case 'bookkeeper.ensembleChanged': {
      const { ledger, firstEntry, replaced, ensemble } = record.data;
      const bookies = (ensemble ?? []).map((address) => bookieName(state, address));
      const gone = (replaced ?? []).map((address) => bookieName(state, address));
      return { side, moment, text: { key: 'story.ensembleChanged', params: { ledger: String(ledger), entry: firstEntry, bookies, replaced: gone } } };
    }
    case 'bookkeeper.ledgerFenced':
      return { side, moment, text: { key: 'story.ledgerFenced', params: { node, ledger: String(record.data.ledger) } } };
    case 'pulsar.ledgerOffloadStarted':
      return { side, moment, text: { key: 'story.offloadStarted', params: { node, ledger: String(record.data.ledger), medium: record.data.medium } } };
    case 'pulsar.ledgerOffloaded':
      return { side, moment, text: { key: 'story.offloaded', params: { node, ledger: String(record.data.ledger), medium: record.data.medium } } };
    case 'pulsar.ledgerOffloadFailed':
      return { side, moment: 'fault', text: { key: 'story.offloadFailed', params: { node, ledger: String(record.data.ledger) } } };
    case 'pulsar.ledgerDeletedFromBookies':
      return { side, moment, text: { key: 'story.leftBookies', params: { node, ledger: String(record.data.ledger), medium: record.data.medium } } };
    case 'bookkeeper.recoveryStarted':
      return { side, moment, text: { key: 'story.recoveryStarted', params: { node, ledger: String(record.data.ledger) } } };
    case 'bookkeeper.ledgerClosed': {
      const { ledger, lastEntry, recovered } = record.data;
      if (lastEntry < 0) return { side, moment, text: { key: 'story.ledgerClosedEmpty', params: { ledger: String(ledger) } } };
      const key = recovered ? 'story.ledgerRecovered' : 'story.ledgerClosed';
      return { side, moment, text: { key, params: { ledger: String(ledger), entry: lastEntry } } };
    }
    default:
      return undefined;
  }
}

function bookieName(state: State, address: string): string {
  return state.pulsar.bookies[address]?.node || address;
}
