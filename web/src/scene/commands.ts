import type { LinkRule } from './links';

/** What one would type on a machine of a real cluster to do the same. Role is the node's: ensemble, kafka, pulsar or bookie. */
export function nodeCommand(role: string, action: 'kill' | 'stop' | 'start' | 'pause' | 'resume'): string {
  const process = PROCESSES[role] ?? 'java';
  switch (action) {
    case 'kill':
      return `kill -9 $(pgrep -f ${process})`;
    case 'pause':
      return `kill -STOP $(pgrep -f ${process})`;
    case 'resume':
      return `kill -CONT $(pgrep -f ${process})`;
    case 'stop':
      return STOPS[role] ?? `kill $(pgrep -f ${process})`;
    case 'start':
      return STARTS[role] ?? '';
  }
}

/** The main classes of the servers. */
const PROCESSES: Record<string, string> = {
  ensemble: 'QuorumPeerMain',
  kafka: 'kafka.Kafka',
  pulsar: 'PulsarBrokerStarter',
  bookie: 'org.apache.bookkeeper.server.Main',
};

const STOPS: Record<string, string> = {
  ensemble: 'bin/zkServer.sh stop',
  kafka: 'bin/kafka-server-stop.sh',
  pulsar: 'bin/pulsar-daemon stop broker',
  bookie: 'bin/pulsar-daemon stop bookie',
};

const STARTS: Record<string, string> = {
  ensemble: 'bin/zkServer.sh start',
  kafka: 'bin/kafka-server-start.sh -daemon config/server.properties',
  pulsar: 'bin/pulsar-daemon start broker',
  bookie: 'bin/pulsar-daemon start bookie',
};

/**
 * What one would type on the sender's machine to disturb what it sends to another one; eth0 and the receiver's name are to be replaced.
 * Packet rules act on addresses, so here every process of the receiver's machine is meant.
 */
export function linkCommand(to: string, rule: LinkRule): string {
  if (rule.cut) return `iptables -A OUTPUT -d ${to} -j DROP`;
  const options: string[] = [];
  if (rule.delayMS > 0 || rule.jitterMS > 0) options.push(`delay ${rule.delayMS}ms${rule.jitterMS > 0 ? ` ${rule.jitterMS}ms` : ''}`);
  if (rule.bytesPerSecond > 0) options.push(`rate ${rule.bytesPerSecond * 8}bit`);
  if (options.length === 0) return `iptables -D OUTPUT -d ${to} -j DROP; tc qdisc del dev eth0 root`;
  return [
    'tc qdisc add dev eth0 root handle 1: prio bands 4',
    `tc qdisc add dev eth0 parent 1:4 netem ${options.join(' ')}`,
    `tc filter add dev eth0 parent 1: protocol ip u32 match ip dst $(getent hosts ${to} | cut -d' ' -f1) flowid 1:4`,
  ].join('\n');
}

/** The same in this classroom, for a script. */
export function linkRequest(origin: string, from: string, to: string, rule: LinkRule): string {
  const body = Object.fromEntries(Object.entries({ from, to, ...rule }).filter(([, value]) => value !== false && value !== 0));
  return `curl -X PUT ${origin}/api/v1/links -d '${JSON.stringify(body)}'`;
}

export function nodeRequest(origin: string, node: string, action: string): string {
  return `curl -X POST ${origin}/api/v1/nodes/${node}/${action}`;
}
