import type { State } from '../trace/types';
import { own } from '../trace/reduce/maps';

/** What a request in the purgatory waits for: replicas (acks=all), records (a consumer's fetch), records to copy (a follower's), the cluster. */
export type WaitFor = 'replicas' | 'records' | 'copy' | 'cluster';

export interface WaitLine {
  api: string;
  client: string;
  waitsFor: WaitFor;
  partition: string;
  /** Besides the one named. */
  more: number;
  offset: number;
  minBytes: number;
  /** When it began, ms; undefined for a fetch, which asks again when its time is up. */
  since: number | undefined;
  timeoutMS: number;
}

/** A broker's network layer: connections, request queue, handlers, purgatory. */
export interface ReactorCard {
  connections: number;
  queued: number;
  queueLimit: number;
  busy: number;
  handlers: number;
  waiting: Record<WaitFor, number>;
  /** All that wait. */
  inPurgatory: number;
  waits: WaitLine[];
  /** Those of them that have waited so long that the broker tells when they began, longest first. */
  stuck: WaitLine[];
}

export function reactorCard(state: State, node: string): ReactorCard | undefined {
  const reactor = own(state.kafka.reactors, node);
  if (!reactor) return undefined;
  const { connections, queued, queueLimit, busy, handlers, produces, fetches, replicaFetch, others } = reactor;
  const waits = reactor.waits.map(({ api, client, partition, partitions, offset, minBytes, since, timeoutMS }): WaitLine => ({
    api,
    client,
    waitsFor: waitFor(state, api, client),
    partition,
    more: Math.max(0, partitions - 1),
    offset,
    minBytes,
    since: since === '' ? undefined : Date.parse(since),
    timeoutMS,
  }));
  return {
    connections,
    queued,
    queueLimit,
    busy,
    handlers,
    waiting: { replicas: produces, records: fetches, copy: replicaFetch, cluster: others },
    inPurgatory: produces + fetches + replicaFetch + others,
    waits,
    stuck: waits.filter(({ since, waitsFor }) => since !== undefined && waitsFor === 'replicas'),
  };
}

function waitFor(state: State, api: string, client: string): WaitFor {
  if (api === 'Produce' || api === 'OffsetCommit') return 'replicas';
  if (api === 'Fetch') return own(state.nodes, client) ? 'copy' : 'records';
  return 'cluster';
}
