import type { Scene } from '../scene';
import type { ActionGroup, Addresses, ApiRequest } from './action';
import { kafkaActions } from './kafka';
import { bothSides, diskActions, nodeActions } from './nodes';
import { pulsarActions } from './pulsar';
import { traffic } from './traffic';

/** All that can be done, in the order in which a newcomer needs it. The topic that a lab is about is proposed first. */
export function actionGroups(scene: Scene, topic?: string): ActionGroup[] {
  return [
    { id: 'traffic', actions: [traffic()] },
    { id: 'both', actions: [bothSides(scene)] },
    { id: 'kafka', actions: kafkaActions(scene, topic) },
    { id: 'pulsar', actions: pulsarActions(scene) },
    { id: 'nodes', actions: nodeActions(scene) },
    { id: 'disks', actions: diskActions(scene) },
  ];
}

/** The requests as one would send them from a shell. */
export function curl(origin: string, requests: readonly ApiRequest[]): string {
  return requests
    .map(({ method, path, body }) => `curl -X ${method} '${origin}/api/v1/${path}'${body === undefined ? '' : ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`}`)
    .join('\n');
}

/** The addresses of the classroom's nodes by purpose; where there are none, those that the servers have when nobody says otherwise. */
export function addressesOf(nodes: readonly { role: string; addresses: Readonly<Record<string, string>> }[]): Addresses {
  const all = (role: string, purpose: string) => nodes.filter((node) => node.role === role).flatMap(({ addresses }) => addresses[purpose] ?? []);
  const [admin = 'localhost:8080'] = all('pulsar', 'http');
  const pulsar = all('pulsar', 'pulsar').join(',') || 'localhost:6650';
  return {
    kafka: all('kafka', 'kafka').join(',') || 'localhost:9092',
    pulsarAdmin: `http://${admin}`,
    pulsar: `pulsar://${pulsar}`,
    ensemble: all('ensemble', 'zookeeper').join(',') || 'localhost:2181',
  };
}
