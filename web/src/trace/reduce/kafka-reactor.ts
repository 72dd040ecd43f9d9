import type { EventData, State } from '../types';
import { put } from './maps';

/** A measurement says all that there is to say about a broker's network layer. */
export function reactorMeasured(state: State, node: string, event: EventData['kafka.reactorMeasured']): void {
  const { connections, queued, queueLimit, busy, handlers, produces, fetches, replicaFetch, others } = event;
  const waits = (event.waits ?? []).map(({ api, client, partition, partitions, offset, minBytes, since, timeoutMS }) => ({
    api,
    client: client ?? '',
    partition: partition ?? '',
    partitions: partitions ?? 0,
    offset,
    minBytes: minBytes ?? 0,
    since: since ?? '',
    timeoutMS,
  }));
  put(state.kafka.reactors, node, { connections, queued, queueLimit, busy, handlers, produces, fetches, replicaFetch, others, waits });
}
