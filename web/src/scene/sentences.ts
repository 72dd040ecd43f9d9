import type { Key, Text } from '../i18n/message';
import { ensembleFindings } from './ensemble-tables';
import { kafkaFindings } from './kafka-tables';
import { pulsarFindings } from './pulsar-tables';
import type { Scene } from './scene';

/** The picture in a few sentences, the most important first. */
export function sentencesOf(scene: Scene): Text[] {
  return [...nodeSentences(scene), ...ensembleSentences(scene), ...kafkaSentences(scene), ...kafkaFindings(scene.kafka), ...pulsarSentences(scene), ...pulsarFindings(scene), ...ensembleFindings(scene)];
}

function nodeSentences(scene: Scene): Text[] {
  const nodes = [...scene.ensemble.servers, ...scene.kafka.brokers, ...scene.pulsar.brokers, ...scene.storage.bookies];
  const down = nodes.filter(({ up }) => !up).map(({ name }) => name);
  return [down.length > 0 ? { key: 'sentence.down', params: { nodes: down } } : { key: 'sentence.allUp' }];
}

function ensembleSentences({ ensemble }: Scene): Text[] {
  const sessions: Text = { key: 'ensemble.sessions', params: { count: ensemble.sessions } };
  if (ensemble.leader === '') return [{ key: 'sentence.ensembleLeaderless', params: { sessions } }];
  return [{ key: 'sentence.ensemble', params: { leader: ensemble.leader, term: String(ensemble.term), sessions } }];
}

function kafkaSentences({ kafka }: Scene): Text[] {
  const controller = kafka.brokers.find((broker) => broker.controller);
  const ofClients = kafka.topics.filter(({ internal }) => !internal);
  const sum = (of: (topic: (typeof ofClients)[number]) => number) => ofClients.reduce((total, topic) => total + of(topic), 0);
  return [
    controller ? { key: 'sentence.controller', params: { broker: controller.name } } : { key: 'sentence.noController' },
    {
      key: 'sentence.partitions',
      params: { count: sum((topic) => topic.partitions), under: sum((topic) => topic.underReplicated), offline: sum((topic) => topic.offline) },
    },
    ...kafka.groups.map(
      (group): Text => ({
        key: group.lag === undefined ? 'sentence.groupUncommitted' : 'sentence.group',
        params: {
          group: group.group,
          state: { key: `group.state.${group.state}` as Key },
          members: { key: 'group.members', params: { count: group.members.length } },
          lag: group.lag ?? 0,
        },
      }),
    ),
  ];
}

function pulsarSentences({ pulsar, storage }: Scene): Text[] {
  const open = storage.ledgers.filter(({ state }) => state === 'open').length;
  const closed = storage.ledgers.filter(({ state }) => state === 'closed').length;
  return [
    ...pulsar.brokers.map(
      (broker): Text => ({
        key: 'sentence.bundles',
        params: {
          node: broker.name,
          bundles: { key: 'pulsar.bundles', params: { count: broker.bundles.length } },
          topics: { key: 'pulsar.topics', params: { count: broker.topics.length } },
        },
      }),
    ),
    { key: 'sentence.ledgers', params: { open, closed } },
  ];
}
