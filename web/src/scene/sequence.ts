import type { Text } from '../i18n/message';
import { isClient } from '../trace/flights';
import type { TraceStore } from '../trace/store';
import type { State, TypedRecord } from '../trace/types';
import { byName } from './order';
import { isMessage, recordText } from './records';
import type { Moment, Sentence } from './story';

/** What of the story is to be told. */
export interface SequenceWish {
  /** Empty: all. */
  nodes: ReadonlySet<string>;
  topics: ReadonlySet<string>;
  moments: ReadonlySet<Moment>;
  /** Sentences before the newest that are left out, for reading on backwards; undefined: the window follows the clock. */
  end: number | undefined;
  /** The record whose causes are lit. */
  chosen: number | undefined;
}

/** One line of the diagram: a mark on one lane, or an arrow from one lane to another. */
export interface SequenceRow {
  n: number;
  time: number;
  /** Milliseconds since the row before. */
  gap: number;
  from: string;
  /** Where the arrow points; undefined: a mark. */
  to: string | undefined;
  /** A message's name, written on its arrow. */
  label: string | undefined;
  moment: Moment | undefined;
  side: Sentence['side'] | undefined;
  text: Text;
  /** The record that led to it, as far as it is among the rows. */
  cause: number | undefined;
  /** Of the chosen row: itself, what led to it, and what it led to. */
  lit: 'chosen' | 'cause' | 'effect' | undefined;
  /** Still to come, at the instant shown. */
  later: boolean;
  /** The record is not at hand: the row tells of it, but not what led to it. */
  apart: boolean;
}

export interface Sequence {
  lanes: string[];
  /** Nodes with nothing among the rows. */
  idle: string[];
  rows: SequenceRow[];
  /** Notable records that the filters let through, before the window and after it. */
  before: number;
  after: number;
  /** All there is to filter by. */
  nodes: string[];
  topics: string[];
}

/** Notable records that are shown at a time; each with what led to it. */
export const SEQUENCE_WINDOW = 40;
/** How far causes are followed from a notable record: to the next notable one, at most so many records and so long. */
const HOPS = 16;
const CHAIN_MS = 60_000;

/** The lane of everything outside: producers, consumers, tools. */
export const CLIENTS = 'client';

export function laneOf(node: string): string {
  return isClient(node) ? CLIENTS : node;
}

/** The notable records of a window, what led to them, and the arrows between the nodes. The work is bounded by the window. */
export function sequenceOf(store: TraceStore, story: readonly Sentence[], wish: SequenceWish, n: number): Sequence {
  const state = store.seek(n);
  const wanted = story.filter((sentence) => passes(sentence, wish));
  const end = wish.end ?? endAt(wanted, n);
  const from = Math.max(0, end - SEQUENCE_WINDOW);
  const window = wanted.slice(from, end);
  const rows = rowsOf(store, window, state, n);
  lightUp(rows, wish.chosen);
  const lanes = lanesOf(rows);
  const nodes = Object.keys(state.nodes).sort(byLane);
  return {
    lanes,
    idle: nodes.filter((node) => !lanes.includes(node)),
    rows,
    before: from,
    after: wanted.length - end,
    nodes: [...nodes, CLIENTS],
    topics: [...new Set(story.flatMap(({ topic }) => (topic === undefined ? [] : [topic])))].sort(byName),
  };
}

function passes({ node, topic, moment, text }: Sentence, { nodes, topics, moments }: SequenceWish): boolean {
  if (moments.size > 0 && !moments.has(moment)) return false;
  if (topics.size > 0 && (topic === undefined || !topics.has(topic))) return false;
  if (nodes.size === 0) return true;
  return nodes.has(laneOf(node)) || Object.values(text.params ?? {}).some((value) => (typeof value === 'string' ? nodes.has(value) : Array.isArray(value) && value.some((one) => nodes.has(one))));
}

/** The window that follows the clock ends a few sentences after it. */
function endAt(sentences: readonly Sentence[], n: number): number {
  const next = sentences.findIndex((sentence) => sentence.n > n);
  const passed = next < 0 ? sentences.length : next;
  return Math.min(sentences.length, Math.max(passed + 6, Math.min(SEQUENCE_WINDOW, sentences.length)));
}

function rowsOf(store: TraceStore, window: readonly Sentence[], state: State, n: number): SequenceRow[] {
  const notable = new Map(window.map((sentence) => [sentence.n, sentence]));
  const rows = new Map<number, SequenceRow>();
  for (const sentence of window) {
    let record = store.record(sentence.n);
    if (!record) {
      if (sentence.n <= store.firstN) rows.set(sentence.n, apartRow(sentence));
      continue;
    }
    put(rows, record, sentence, state, n);
    for (let hop = 0; hop < HOPS; hop++) {
      const cause = store.causeOf(record);
      if (!cause || record.time - cause.time > CHAIN_MS) break;
      const known = rows.get(record.n);
      // The arrow of a message stands for both of its ends.
      if (isMessage(record) && isMessage(cause) && record.kind === 'message.received' && cause.kind === 'message.sent') {
        rows.delete(record.n);
        put(rows, cause, undefined, state, n);
        for (const row of rows.values()) if (row.cause === record.n) row.cause = cause.n;
      } else {
        if (known) known.cause = cause.n;
        const there = rows.has(cause.n) || receiptKnown(rows, cause, store);
        put(rows, cause, notable.get(cause.n), state, n);
        if (there && !isMessage(cause)) break;
      }
      if (notable.has(cause.n)) break;
      record = cause;
    }
  }
  const sorted = [...rows.values()].sort((a, b) => a.n - b.n);
  sorted.forEach((row, index) => (row.gap = index === 0 ? 0 : Math.max(0, row.time - sorted[index - 1]!.time)));
  for (const row of sorted) if (row.cause !== undefined && !rows.has(row.cause)) row.cause = undefined;
  return sorted;
}

/** Of what was before the part at hand there is the sentence alone. */
function apartRow({ n, time, node, moment, side, text }: Sentence): SequenceRow {
  return { n, time, gap: 0, from: laneOf(node), to: undefined, label: undefined, moment, side, text, cause: undefined, lit: undefined, later: false, apart: true };
}

/** A receipt stands on the row of its sending. */
function receiptKnown(rows: Map<number, SequenceRow>, record: TypedRecord, store: TraceStore): boolean {
  if (record.kind !== 'message.received') return false;
  const sent = store.causeOf(record);
  return !!sent && rows.has(sent.n);
}

function put(rows: Map<number, SequenceRow>, record: TypedRecord, sentence: Sentence | undefined, state: State, n: number): void {
  if (rows.has(record.n)) return;
  const message = isMessage(record) ? record.data : undefined;
  rows.set(record.n, {
    n: record.n,
    time: record.time,
    gap: 0,
    from: laneOf(message ? message.from : record.node),
    to: message && laneOf(message.to) !== laneOf(message.from) ? laneOf(message.to) : undefined,
    label: message?.name,
    moment: sentence?.moment,
    side: sentence?.side,
    text: sentence?.text ?? recordText(record, state),
    cause: undefined,
    lit: undefined,
    later: record.n > n,
    apart: false,
  });
}

function lightUp(rows: readonly SequenceRow[], chosen: number | undefined): void {
  const byN = new Map(rows.map((row) => [row.n, row]));
  const start = chosen === undefined ? undefined : byN.get(chosen);
  if (!start) return;
  for (let row: SequenceRow | undefined = start; row && !row.lit; row = row.cause === undefined ? undefined : byN.get(row.cause)) row.lit = 'cause';
  start.lit = 'chosen';
  for (const row of rows) {
    const cause = row.cause === undefined ? undefined : byN.get(row.cause);
    if (!row.lit && (cause?.lit === 'chosen' || cause?.lit === 'effect')) row.lit = 'effect';
  }
}

const ROLES = ['client', 'kafka', 'ensemble', 'pulsar', 'bookie'];

function byLane(a: string, b: string): number {
  return ROLES.indexOf(roleOf(a)) - ROLES.indexOf(roleOf(b)) || byName(a, b);
}

function roleOf(node: string): string {
  return node.replace(/-.*$/, '');
}

function lanesOf(rows: readonly SequenceRow[]): string[] {
  const lanes = new Set<string>();
  for (const { from, to } of rows) {
    lanes.add(from);
    if (to) lanes.add(to);
  }
  return [...lanes].sort(byLane);
}

