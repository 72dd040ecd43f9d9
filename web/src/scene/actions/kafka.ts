import type { Scene } from '../scene';
import { brokerList, choices, clientTopics, configs, ENDS, text, type Action, type Addresses } from './action';

/** Kafka's own tools. */
const tool = (name: string, at: Addresses) => `${name}.sh --bootstrap-server ${at.kafka}`;

export function kafkaActions(scene: Scene, first?: string): Action[] {
  const topics = clientTopics(scene).sort((a, b) => Number(b === first) - Number(a === first));
  const brokers = scene.kafka.brokers.map(({ id }) => id);
  return [create(brokers.length, first), change(topics), remove(topics), move(topics, brokers), spread(topics, brokers), elect(topics, scene), reset(topics, scene)];
}

function create(brokers: number, topic = 'orders'): Action {
  return {
    id: 'kafka-create', title: 'do.createTopic', help: 'do.createTopicHelp', button: 'do.create',
    fields: [
      { name: 'topic', label: 'do.topic', type: 'text', initial: topic },
      { name: 'partitions', label: 'do.partitions', type: 'number', initial: 3, min: 1, max: 100 },
      { name: 'replicas', label: 'do.replicas', type: 'number', initial: Math.min(3, Math.max(1, brokers)), min: 1, max: Math.max(1, brokers) },
      { name: 'configs', label: 'do.configs', type: 'text', initial: 'min.insync.replicas=2', optional: true, known: KNOWN_CONFIGS },
    ],
    requests: (values) => {
      const asked = configs(text(values, 'configs'));
      if (!asked) return [];
      return [{ method: 'POST', path: 'kafka/topics', body: { name: text(values, 'topic'), partitions: values.partitions, replicationFactor: values.replicas, configs: asked } }];
    },
    command: (values, at) =>
      [
        `${tool('kafka-topics', at)} --create --topic ${text(values, 'topic')} --partitions ${values.partitions} --replication-factor ${values.replicas}`,
        ...Object.entries(configs(text(values, 'configs')) ?? {}).map(([name, value]) => `--config ${name}=${value}`),
      ].join(' '),
  };
}

const KNOWN_CONFIGS = ['min.insync.replicas=2', 'min.insync.replicas=1', 'unclean.leader.election.enable=true', 'retention.ms=60000', 'segment.bytes=1048576'];

function change(topics: readonly string[]): Action {
  return {
    id: 'kafka-change', title: 'do.changeTopic', help: 'do.changeTopicHelp', button: 'do.change',
    fields: [
      { name: 'topic', label: 'do.topic', type: 'choice', options: choices(topics), initial: topics[0] ?? '' },
      { name: 'partitions', label: 'do.partitionsInAll', type: 'number', initial: 0, min: 0, max: 100 },
      { name: 'configs', label: 'do.configs', type: 'text', initial: '', optional: true, known: KNOWN_CONFIGS },
    ],
    requests: (values) => {
      const asked = configs(text(values, 'configs'));
      if (!asked || !text(values, 'topic') || (!values.partitions && Object.keys(asked).length === 0)) return [];
      return [{ method: 'PUT', path: `kafka/topics/${encodeURIComponent(text(values, 'topic'))}`, body: { partitions: values.partitions, configs: asked } }];
    },
    command: (values, at) => {
      const asked = Object.entries(configs(text(values, 'configs')) ?? {}).map(([name, value]) => `${name}=${value}`);
      return [
        ...(values.partitions ? [`${tool('kafka-topics', at)} --alter --topic ${text(values, 'topic')} --partitions ${values.partitions}`] : []),
        ...(asked.length > 0 ? [`${tool('kafka-configs', at)} --alter --entity-type topics --entity-name ${text(values, 'topic')} --add-config ${asked.join(',')}`] : []),
      ].join('\n');
    },
  };
}

function remove(topics: readonly string[]): Action {
  return {
    id: 'kafka-delete', title: 'do.deleteTopic', help: 'do.deleteTopicHelp', button: 'do.delete', dangerous: true,
    fields: [{ name: 'topic', label: 'do.topic', type: 'choice', options: choices(topics), initial: topics[0] ?? '' }],
    requests: (values) => (text(values, 'topic') ? [{ method: 'DELETE', path: `kafka/topics/${encodeURIComponent(text(values, 'topic'))}` }] : []),
    command: (values, at) => `${tool('kafka-topics', at)} --delete --topic ${text(values, 'topic')}`,
  };
}

function move(topics: readonly string[], brokers: readonly number[]): Action {
  return {
    id: 'kafka-reassign', title: 'do.reassign', help: 'do.reassignHelp', button: 'do.move',
    fields: [
      { name: 'topic', label: 'do.topic', type: 'choice', options: choices(topics), initial: topics[0] ?? '' },
      { name: 'partition', label: 'do.partition', type: 'number', initial: 0, min: 0, max: 99 },
      { name: 'brokers', label: 'do.toBrokers', type: 'text', initial: [...brokers].reverse().join(', ') },
    ],
    requests: (values) => {
      const replicas = brokerList(text(values, 'brokers'));
      if (!replicas || !text(values, 'topic')) return [];
      return [{ method: 'POST', path: 'kafka/reassignments', body: { topic: text(values, 'topic'), partition: values.partition, replicas } }];
    },
    command: (values, at) => {
      const plan = { version: 1, partitions: [{ topic: text(values, 'topic'), partition: values.partition, replicas: brokerList(text(values, 'brokers')) ?? [] }] };
      return `echo '${JSON.stringify(plan)}' > move.json\n${tool('kafka-reassign-partitions', at)} --reassignment-json-file move.json --execute`;
    },
  };
}

function spread(topics: readonly string[], brokers: readonly number[]): Action {
  return {
    id: 'kafka-balance', title: 'do.balance', help: 'do.balanceHelp', button: 'do.spread',
    fields: [
      { name: 'topic', label: 'do.topic', type: 'choice', options: [{ value: '', label: 'do.allTopics' }, ...choices(topics)], initial: '' },
      { name: 'brokers', label: 'do.overBrokers', type: 'text', initial: brokers.slice(0, -1).join(', ') },
    ],
    requests: (values) => {
      const balance = brokerList(text(values, 'brokers'));
      return balance ? [{ method: 'POST', path: 'kafka/reassignments', body: { topic: text(values, 'topic'), balance } }] : [];
    },
    command: (values, at) => {
      const moved = (text(values, 'topic') ? [text(values, 'topic')] : topics).map((topic) => ({ topic }));
      const list = (brokerList(text(values, 'brokers')) ?? []).join(',');
      return [
        `echo '${JSON.stringify({ version: 1, topics: moved })}' > topics.json`,
        `${tool('kafka-reassign-partitions', at)} --topics-to-move-json-file topics.json --broker-list ${list} --generate | sed '1,/^Proposed/d' > move.json`,
        `${tool('kafka-reassign-partitions', at)} --reassignment-json-file move.json --execute`,
      ].join('\n');
    },
  };
}

function elect(topics: readonly string[], scene: Scene): Action {
  const partitions = (topic: string) => Array.from({ length: scene.kafka.topics.find((one) => one.topic === topic)?.partitions ?? 0 }, (_, partition) => ({ topic, partition }));
  return {
    id: 'kafka-elect', title: 'do.elect', help: 'do.electHelp', button: 'do.hold', dangerous: true,
    fields: [
      { name: 'topic', label: 'do.topic', type: 'choice', options: [{ value: '', label: 'do.allTopics' }, ...choices(topics)], initial: '' },
      { name: 'type', label: 'do.electionType', type: 'choice', options: [{ value: 'preferred', label: 'do.preferred' }, { value: 'unclean', label: 'do.unclean' }], initial: 'preferred' },
    ],
    requests: (values) => [{ method: 'POST', path: 'kafka/elections', body: { topic: text(values, 'topic'), type: text(values, 'type') } }],
    command: (values, at) => {
      const topic = text(values, 'topic');
      const whole = `${tool('kafka-leader-election', at)} --election-type ${text(values, 'type')}`;
      return topic ? `echo '${JSON.stringify({ partitions: partitions(topic) })}' > partitions.json\n${whole} --path-to-json-file partitions.json` : `${whole} --all-topic-partitions`;
    },
  };
}

function reset(topics: readonly string[], scene: Scene): Action {
  const groups = scene.kafka.groups.map(({ group }) => group);
  return {
    id: 'kafka-offsets', title: 'do.resetOffsets', help: 'do.resetOffsetsHelp', button: 'do.reset',
    fields: [
      { name: 'group', label: 'do.ofGroup', type: 'choice', options: choices(groups), initial: groups[0] ?? '' },
      { name: 'topic', label: 'do.topic', type: 'choice', options: choices(topics), initial: topics[0] ?? '' },
      { name: 'to', label: 'do.resetTo', type: 'choice', options: [...ENDS, { value: 'offset', label: 'do.resetOffset' }], initial: 'earliest' },
      { name: 'partition', label: 'do.partition', type: 'number', initial: 0, min: 0, max: 99 },
      { name: 'offset', label: 'do.offset', type: 'number', initial: 0, min: 0, max: 1e12 },
    ],
    requests: (values) => {
      const { group, topic, to } = { group: text(values, 'group'), topic: text(values, 'topic'), to: text(values, 'to') };
      if (!group || !topic) return [];
      const where = to === 'offset' ? { partition: values.partition, offset: values.offset } : {};
      return [{ method: 'PUT', path: `kafka/groups/${encodeURIComponent(group)}/offsets`, body: { topic, to, ...where } }];
    },
    command: (values, at) => {
      const to = text(values, 'to');
      const [of, where] = to === 'offset' ? [`:${values.partition}`, `--to-offset ${values.offset}`] : ['', `--to-${to}`];
      return `${tool('kafka-consumer-groups', at)} --group ${text(values, 'group')} --topic ${text(values, 'topic')}${of} --reset-offsets ${where} --execute`;
    },
  };
}
