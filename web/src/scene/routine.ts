import type { Text } from '../i18n/message';
import type { TypedRecord } from '../trace/types';
import { topicLabel } from './pulsar';

/** What is neither notable nor measured, in words: comings and goings that only who looks closely reads. Undefined for a kind that this page does not know. */
export function routineText(record: TypedRecord): Text | undefined {
  return ofEnsemble(record) ?? ofKafka(record) ?? ofPulsar(record) ?? ofLedgers(record);
}

function ofEnsemble(record: TypedRecord): Text | undefined {
  const { node } = record;
  switch (record.kind) {
    case 'ensemble.roleChanged': {
      const { term, leader } = record.data;
      return leader ? { key: 'record.follows', params: { node, leader, term: String(term) } } : { key: 'record.followsNobody', params: { node, term: String(term) } };
    }
    case 'ensemble.commitAdvanced':
      return { key: 'record.entriesCommitted', params: { node, index: record.data.index } };
    case 'ensemble.sessionCreated':
      return { key: 'record.sessionCreated', params: { node, session: record.data.session, timeout: record.data.timeoutMS } };
    case 'ensemble.sessionConnected':
      return { key: 'record.sessionConnected', params: { node, session: record.data.session, client: record.data.client || record.data.address } };
    case 'ensemble.sessionDisconnected':
      return { key: 'record.sessionDisconnected', params: { node, session: record.data.session } };
    case 'ensemble.sessionEnded':
      return { key: 'record.sessionClosed', params: { node, session: record.data.session } };
    case 'ensemble.watchSet':
      return { key: 'record.watchSet', params: { node, session: record.data.session, path: record.data.path } };
    default:
      return undefined;
  }
}

function ofKafka(record: TypedRecord): Text | undefined {
  const { node } = record;
  switch (record.kind) {
    case 'kafka.brokerRegistered':
      return { key: 'record.brokerRegistered', params: { node, path: `/brokers/ids/${record.data.broker}` } };
    case 'kafka.logStartAdvanced':
      return { key: 'record.logStart', params: { node, partition: partitionOf(record.data), offset: record.data.logStart } };
    case 'kafka.isrChanged':
      return { key: 'record.isr', params: { partition: partitionOf(record.data), isr: (record.data.isr ?? []).map((id) => `kafka-${id}`) } };
    case 'kafka.produceRefused':
      return { key: 'story.refused', params: { node, partition: partitionOf(record.data), error: record.data.error } };
    default:
      return undefined;
  }
}

function partitionOf({ topic, partition }: { topic: string; partition: number }): string {
  return `${topic}-${partition}`;
}

function ofPulsar(record: TypedRecord): Text | undefined {
  const { node } = record;
  switch (record.kind) {
    case 'pulsar.brokerRegistered':
      return { key: 'record.brokerRegistered', params: { node, path: `/loadbalance/brokers/${record.data.broker}` } };
    case 'pulsar.topicDeleted':
      return { key: 'story.topicDeleted', params: { topic: topicLabel(record.data.topic) } };
    case 'pulsar.producerAttached':
      return { key: 'record.producerAttached', params: { producer: record.data.producer, topic: topicLabel(record.data.topic) } };
    case 'pulsar.producerDetached':
      return { key: 'record.producerDetached', params: { producer: record.data.producer, topic: topicLabel(record.data.topic) } };
    case 'pulsar.consumerDetached':
      return { key: 'record.consumerDetached', params: { consumer: record.data.consumer, subscription: record.data.subscription, topic: topicLabel(record.data.topic) } };
    case 'pulsar.activeConsumerChanged':
      return { key: 'record.noActiveConsumer', params: { subscription: record.data.subscription } };
    case 'pulsar.subscriptionDeleted':
      return { key: 'record.subscriptionDeleted', params: { subscription: record.data.subscription, topic: topicLabel(record.data.topic) } };
    default:
      return undefined;
  }
}

function ofLedgers(record: TypedRecord): Text | undefined {
  const { node } = record;
  switch (record.kind) {
    case 'bookkeeper.bookieRegistered':
      return { key: 'record.brokerRegistered', params: { node, path: `/ledgers/available/${record.data.readOnly ? 'readonly/' : ''}${record.data.bookie}` } };
    case 'bookkeeper.ledgerOpened':
      return { key: 'record.cursorLedger', params: { node, ledger: String(record.data.ledger) } };
    case 'bookkeeper.ledgerDeleted':
      return { key: 'record.ledgerDeleted', params: { ledger: String(record.data.ledger) } };
    case 'pulsar.offloadedLedgerDeleted':
      return { key: 'record.offloadedDeleted', params: { ledger: String(record.data.ledger) } };
    case 'bookkeeper.metadataRead':
      return { key: 'record.metadataRead', params: { node, ledger: String(record.data.ledger) } };
    default:
      return undefined;
  }
}
