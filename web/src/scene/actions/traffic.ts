import { text, type Action, type Addresses, type Values } from './action';

const OWN_WORDS = (values: readonly string[]) => values.map((value) => ({ value }));

/** Producers and consumers with ordinary client libraries. */
export function traffic(): Action {
  return {
    id: 'traffic', title: 'do.traffic', help: 'do.trafficHelp', button: 'do.start',
    fields: [
      { name: 'engine', label: 'do.side', type: 'choice', options: [{ value: 'both', label: 'do.bothClusters' }, { value: 'kafka', label: 'kafka.title' }, { value: 'pulsar', label: 'pulsar.title' }], initial: 'both' },
      { name: 'topic', label: 'do.topic', type: 'text', initial: 'demo' },
      { name: 'partitions', label: 'do.partitionsOrNone', type: 'number', initial: 3, min: 0, max: 100 },
      { name: 'maxMessages', label: 'do.messagesInAll', type: 'number', initial: 0, min: 0, max: 1_000_000_000 },
      { name: 'messagesPerSecond', label: 'do.rate', type: 'number', initial: 20, min: 1, max: 20_000 },
      { name: 'messageBytes', label: 'do.bytes', type: 'number', initial: 100, min: 30, max: 262_144 },
      { name: 'keys', label: 'do.keys', type: 'number', initial: 24, min: 0, max: 100_000 },
      { name: 'producers', label: 'do.producers', type: 'number', initial: 1, min: 1, max: 16 },
      { name: 'consumers', label: 'do.consumers', type: 'number', initial: 1, min: 0, max: 16 },
      { name: 'group', label: 'do.group', type: 'text', initial: 'demo' },
      { name: 'acks', label: 'do.acks', type: 'choice', options: OWN_WORDS(['all', '1', '0']), initial: 'all' },
      { name: 'subscriptionType', label: 'do.subscriptionType', type: 'choice', options: OWN_WORDS(['Shared', 'Exclusive', 'Failover', 'Key_Shared']), initial: 'Shared' },
      { name: 'strategy', label: 'do.strategy', type: 'choice', options: OWN_WORDS(['cooperative-sticky', 'range', 'roundrobin', 'sticky']), initial: 'cooperative-sticky' },
      { name: 'static', label: 'do.static', type: 'check', initial: false },
    ],
    requests: (values) => [
      {
        method: 'POST',
        path: 'workloads',
        // For what the API takes 0 as "unless told", none is -1.
        body: { ...values, topic: text(values, 'topic'), group: text(values, 'group'), consumers: values.consumers === 0 ? -1 : values.consumers, partitions: values.partitions === 0 ? -1 : values.partitions },
      },
    ],
    command: (values, at) => [...(values.engine === 'pulsar' ? [] : kafkaCommand(values, at)), ...(values.engine === 'kafka' ? [] : pulsarCommand(values, at))].join('\n'),
  };
}

function kafkaCommand(values: Values, at: Addresses): string[] {
  const topic = text(values, 'topic');
  const consumer = `kafka-console-consumer.sh --bootstrap-server ${at.kafka} --topic ${topic} --group ${text(values, 'group')}`;
  const assignor = ASSIGNORS[text(values, 'strategy')];
  return [
    `kafka-producer-perf-test.sh --topic ${topic} --num-records ${values.maxMessages || 100_000} --throughput ${values.messagesPerSecond} --record-size ${values.messageBytes} --producer-props bootstrap.servers=${at.kafka} acks=${text(values, 'acks')}`,
    ...(values.consumers ? [`${consumer} --consumer-property partition.assignment.strategy=org.apache.kafka.clients.consumer.${assignor}${values.static ? ' --consumer-property group.instance.id=member-1' : ''}`] : []),
  ];
}

const ASSIGNORS: Record<string, string> = {
  'cooperative-sticky': 'CooperativeStickyAssignor',
  range: 'RangeAssignor',
  roundrobin: 'RoundRobinAssignor',
  sticky: 'StickyAssignor',
};

function pulsarCommand(values: Values, at: Addresses): string[] {
  const topic = `persistent://public/default/${text(values, 'topic')}`;
  return [
    `pulsar-perf produce -u ${at.pulsar}${values.maxMessages ? ` -m ${values.maxMessages}` : ''} -r ${values.messagesPerSecond} -s ${values.messageBytes} ${topic}`,
    ...(values.consumers ? [`pulsar-perf consume -u ${at.pulsar} -ss ${text(values, 'group')} -st ${text(values, 'subscriptionType')} -n ${values.consumers} ${topic}`] : []),
  ];
}
