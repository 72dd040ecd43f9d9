import { nodeCommand } from '../commands';
import type { Scene } from '../scene';
import { choices, clientTopics, text, type Action, type ApiRequest } from './action';

const ROLES = ['ensemble', 'kafka', 'pulsar', 'bookie'] as const;

function allNodes(scene: Scene): string[] {
  return [...scene.ensemble.servers, ...scene.kafka.brokers, ...scene.pulsar.brokers, ...scene.storage.bookies].map(({ name }) => name);
}

const roleOf = (node: string) => node.slice(0, node.lastIndexOf('-'));

/** The same fault for whoever serves a topic's first partition on either side. */
export function bothSides(scene: Scene): Action {
  const topics = clientTopics(scene).filter((topic) => pulsarOwner(scene, topic));
  const victims = (topic: string) => [kafkaLeader(scene, topic), pulsarOwner(scene, topic)].filter((node) => node !== undefined);
  return {
    id: 'both-fault', title: 'do.both', help: 'do.bothHelp', button: 'do.bothNow', dangerous: true,
    fields: [
      { name: 'topic', label: 'do.topic', type: 'choice', options: choices(topics), initial: topics[0] ?? '' },
      { name: 'action', label: 'do.fault', type: 'choice', options: (['kill', 'stop', 'pause'] as const).map((value) => ({ value, label: `action.${value}` as const })), initial: 'kill' },
    ],
    requests: (values) => victims(text(values, 'topic')).map((node): ApiRequest => ({ method: 'POST', path: `nodes/${node}/${text(values, 'action')}` })),
    command: (values) => victims(text(values, 'topic')).map((node) => `# ${node}\n${nodeCommand(roleOf(node), text(values, 'action') as 'kill')}`).join('\n'),
  };
}

function kafkaLeader(scene: Scene, topic: string): string | undefined {
  return scene.kafka.brokers.find(({ topics }) => topics.some((one) => one.topic === topic && one.strips.some(({ number, status }) => number === 0 && status === 'leader')))?.name;
}

function pulsarOwner(scene: Scene, topic: string): string | undefined {
  return scene.pulsar.brokers.find(({ topics }) => topics.some(({ label }) => label === topic || label === `${topic}-partition-0`))?.name;
}

export function nodeActions(scene: Scene): Action[] {
  const nodes = allNodes(scene);
  return [add(), remove(nodes), crash(nodes)];
}

const ADDED: Record<string, string> = {
  ensemble: 'zkCli.sh reconfig -add server.4=HOST:2888:3888;2181',
  kafka: '# server-4.properties: broker.id=4\nbin/kafka-server-start.sh -daemon config/server-4.properties',
  pulsar: 'bin/pulsar-daemon start broker',
  bookie: 'bin/pulsar-daemon start bookie',
};

const REMOVED: Record<string, (id: string) => string> = {
  ensemble: (id) => `zkCli.sh reconfig -remove ${id}`,
  kafka: () => 'bin/kafka-server-stop.sh',
  pulsar: () => 'bin/pulsar-daemon stop broker',
  bookie: (id) => `bookkeeper shell decommissionbookie -bookieid bookie-${id}:3181`,
};

function add(): Action {
  return {
    id: 'node-add', title: 'do.addNode', help: 'do.addNodeHelp', button: 'do.add',
    fields: [{ name: 'role', label: 'do.role', type: 'choice', options: ROLES.map((value) => ({ value, label: `role.${value}` as const })), initial: 'kafka' }],
    requests: (values) => [{ method: 'POST', path: 'nodes', body: { role: text(values, 'role') } }],
    command: (values) => ADDED[text(values, 'role')] ?? '',
  };
}

function remove(nodes: readonly string[]): Action {
  return {
    id: 'node-remove', title: 'do.removeNode', help: 'do.removeNodeHelp', button: 'do.remove', dangerous: true,
    fields: [
      { name: 'node', label: 'do.node', type: 'choice', options: choices(nodes), initial: nodes.at(-1) ?? '' },
      { name: 'force', label: 'do.force', type: 'check', initial: false },
    ],
    requests: (values) => (text(values, 'node') ? [{ method: 'DELETE', path: `nodes/${text(values, 'node')}${values.force ? '?force=true' : ''}` }] : []),
    command: (values) => {
      const node = text(values, 'node');
      return REMOVED[roleOf(node)]?.(node.slice(node.lastIndexOf('-') + 1)) ?? '';
    },
  };
}

function crash(nodes: readonly string[]): Action {
  return {
    id: 'node-crash', title: 'do.crash', help: 'do.crashHelp', button: 'do.crashNow', dangerous: true,
    fields: [{ name: 'node', label: 'do.node', type: 'choice', options: choices(nodes), initial: nodes.find((node) => node.startsWith('kafka-')) ?? '' }],
    requests: (values) => (text(values, 'node') ? [{ method: 'POST', path: `nodes/${text(values, 'node')}/crash` }] : []),
    command: () => '# the machine restarts at once, and what was not synced is gone\necho b > /proc/sysrq-trigger',
  };
}

export function diskActions(scene: Scene): Action[] {
  const nodes = allNodes(scene);
  const node = { name: 'node', label: 'do.node', type: 'choice', options: choices(nodes), initial: nodes.find((one) => one.startsWith('kafka-')) ?? '' } as const;
  const path = (values: Parameters<Action['requests']>[0]) => `disks/${text(values, 'node')}`;
  return [
    {
      id: 'disk-fault', title: 'do.disk', help: 'do.diskHelp', button: 'do.set', fields: [
        node,
        { name: 'delayMS', label: 'do.diskDelay', type: 'number', initial: 100, min: 0, max: 60_000 },
        { name: 'full', label: 'do.diskFull', type: 'check', initial: false },
        { name: 'failSync', label: 'do.diskFailSync', type: 'check', initial: false },
      ],
      requests: (values) => (text(values, 'node') ? [{ method: 'PUT', path: path(values), body: { delayMS: values.delayMS, full: values.full, failSync: values.failSync } }] : []),
      command: (values) =>
        [
          ...(values.delayMS ? [`dmsetup create slow --table "0 $(blockdev --getsz /dev/sdb) delay /dev/sdb 0 ${values.delayMS}"`] : []),
          ...(values.full ? ['fallocate -l $(df --output=avail -B1 /var/lib/data | tail -1) /var/lib/data/full'] : []),
          ...(values.failSync ? ['dmsetup create broken --table "0 $(blockdev --getsz /dev/sdb) flakey /dev/sdb 0 0 60 1 error_writes"'] : []),
        ].join('\n'),
    },
    {
      id: 'disk-corrupt', title: 'do.corrupt', help: 'do.corruptHelp', button: 'do.corruptNow', dangerous: true, fields: [node],
      requests: (values) => (text(values, 'node') ? [{ method: 'POST', path: `${path(values)}/corrupt`, body: {} }] : []),
      command: () => "printf '\\x01' | dd of=SEGMENT.log bs=1 seek=1000 conv=notrunc",
    },
  ];
}

