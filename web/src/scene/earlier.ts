import { typed } from '../trace/decode';
import type { WireNotable, WireNotableNames } from '../trace/events.gen';
import { emptyState } from '../trace/reducer';
import type { Bookie, Ledger, PulsarTopic, Session, State, TypedRecord } from '../trace/types';
import { nameClient, sentenceOf, type Sentence } from './story';

/**
 * The sentences of notable records that the server keeps beyond its window. The states after them are not at hand: each comes with the
 * names that its sentence says, and is told with a state that holds nothing else. What a node had when it fell is not known of these.
 */
export function earlierSentences(notable: readonly WireNotable[]): Sentence[] {
  return notable.flatMap(({ record, names }) => {
    const known = typed(record);
    const sentence = sentenceOf(known, stateNaming(known, names));
    if (!sentence) return [];
    if (known.kind === 'ensemble.sessionEnded') nameClient(sentence, names.client);
    return [sentence];
  });
}

function stateNaming({ node, data }: TypedRecord, { role, client, consumer, managedLedger, broker, bookies = {} }: WireNotableNames): State {
  const state = emptyState();
  if (role) state.nodes[node] = { role } as State['nodes'][string];
  for (const [address, name] of Object.entries(bookies)) state.pulsar.bookies[address] = { node: name } as Bookie;
  const about = data as { session?: string; ledger?: number; topic?: string; subscription?: string; consumer?: string; url?: string };
  if (broker && about.url) state.pulsar.brokers[broker] = { url: about.url } as State['pulsar']['brokers'][string];
  if (client && about.session) state.ensemble.sessions[about.session] = { client } as Session;
  if (managedLedger && about.ledger !== undefined) state.pulsar.ledgers[about.ledger] = { managedLedger } as Ledger;
  if (consumer && about.topic && about.subscription && about.consumer) {
    state.pulsar.topics[about.topic] = { subscriptions: { [about.subscription]: { consumers: { [about.consumer]: { name: consumer } } } } } as unknown as PulsarTopic;
  }
  return state;
}
