import type { Text } from '../i18n/message';
import { isClient } from '../trace/flights';
import type { TraceStore } from '../trace/store';
import type { State, TypedRecord } from '../trace/types';
import { factsOf, type Fact } from './facts';
import { questionAbout } from './inside';
import type { Packet } from './packets';
import { concerns, isEveryday, isMessage, recordFacts, recordText } from './records';
import { thingsOf, type Thing, type ThingList } from './things';

/** A record as it is listed: it can move the clock and be looked into. */
export interface RecordLine {
  n: number;
  time: number;
  node: string;
  text: Text;
}

/** What the inspector shows of a thing at one instant. */
export interface Inspection {
  thing: Thing;
  /** Undefined: the thing is not there at this instant. */
  facts: Fact[] | undefined;
  /** The record itself, when the thing is one. */
  record?: RecordLine;
  /** The records that concern the thing, newest first; of a record, what it led to. */
  history: RecordLine[];
  /** What led to a record, the nearest first. */
  causes: RecordLine[];
  /** The message that the record tells of. */
  message?: MessageName;
  /** Who could be asked what more there is about the thing now. */
  question?: { node: string; thing: string };
}

/** Whose bytes can be asked for: of a message, the node's record of it. */
export interface MessageName {
  node: string;
  seq: number;
  /** Messages that the record stands for; the bytes are the first one's. */
  folded: number;
}

export interface Overview {
  lists: ThingList[];
  /** Messages in flight, of many the first. */
  inFlight: RecordLine[];
}

const HISTORY = 60;
const EFFECTS = 30;
/** Causes are followed so far back. */
const CAUSES = 6;
/** Records after a record that are searched for what it led to, and before it for what led to it. */
const REACH = 30_000;
const IN_FLIGHT = 40;

export interface Inspected {
  thing: Thing;
  /** Also what comes by the thousand. */
  everything: boolean;
}

export function inspectionOf({ thing, everything }: Inspected, store: TraceStore, n: number): Inspection {
  const state = store.seek(n);
  if (thing.type === 'record') return recordInspection(thing, store, state);
  const test = concerns(thing);
  const found = store.preceding(n, (record) => (everything || !isEveryday(record)) && test(record), HISTORY);
  return { thing, facts: factsOf(thing, state), history: found.map((record) => lineOf(record, state)), causes: [], question: questionAbout(thing, state) };
}

function recordInspection(thing: Extract<Thing, { type: 'record' }>, store: TraceStore, state: State): Inspection {
  const record = store.record(thing.n);
  if (!record) return { thing, facts: undefined, history: [], causes: [] };
  const line = (one: TypedRecord) => lineOf(one, state);
  const message = isMessage(record) ? { node: record.node, seq: record.seq, folded: record.data.folded ?? 1 } : undefined;
  return { thing, facts: recordFacts(record, state), record: line(record), history: effectsOf(record, store).map(line), causes: causesOf(record, store).map(line), message };
}

function causesOf(record: TypedRecord, store: TraceStore): TypedRecord[] {
  const causes: TypedRecord[] = [];
  let last = record;
  while (causes.length < CAUSES) {
    const { cause } = last;
    if (!cause?.node) break;
    const found = store.preceding(last.n - 1, (one) => one.seq === cause.seq && one.node === cause.node, 1, REACH)[0];
    if (!found) break;
    causes.push(found);
    last = found;
  }
  return causes;
}

/** What names the record as its cause; of a request also its answer, of a message the receipt. */
function effectsOf(record: TypedRecord, store: TraceStore): TypedRecord[] {
  const { node, seq } = record;
  const exchange = isMessage(record) ? record.data.exchange : undefined;
  return store.following(record.n, (one) => {
    if (one.cause?.seq === seq && one.cause.node === node) return true;
    if (!exchange || exchange.response || !isMessage(one) || !one.data.exchange.response) return false;
    return one.data.exchange.connection === exchange.connection && one.data.exchange.correlation === exchange.correlation;
  }, EFFECTS, REACH);
}

export function overviewOf(store: TraceStore, n: number, packets: readonly Packet[]): Overview {
  const state = store.seek(n);
  const inFlight = packets.slice(0, IN_FLIGHT).flatMap((packet) => {
    const record = store.record(packet.n);
    return record ? [lineOf(record, state)] : [];
  });
  return { lists: thingsOf(state), inFlight };
}

function lineOf(record: TypedRecord, state: State): RecordLine {
  return { n: record.n, time: record.time, node: isMessage(record) && isClient(record.node) ? record.data.from : record.node, text: recordText(record, state) };
}
