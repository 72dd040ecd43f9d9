import type { Sentence } from '../trace/events.gen';
import type { State } from '../trace/types';
import type { Thing } from './things';

/** A field of a message or of a log's frame, as the server takes it apart (engine/dissect). */
export interface Field {
  name: string;
  type: string;
  /** The first of its bytes; -1: it lies in the bytes only compressed. */
  at: number;
  size: number;
  value?: string;
  /** What the value stands for, in the protocol's own words. */
  meaning?: string;
  fields?: Field[];
}

export interface Dissected {
  protocol: string;
  name: string;
  version: string;
  fields: Field[];
  problem?: string;
  /** What the problem says, or why not all was taken apart. */
  said?: Sentence;
}

/** A message, or a frame, with its bytes. */
export interface Opened extends Dissected {
  /** Of the whole; the bytes may be its beginning only. */
  size: number;
  /** Base64. */
  bytes: string;
}

export interface BatchRecord {
  offset: number;
  timestamp: number;
  key: string | null;
  value: string | null;
  meaning?: string;
  said?: Sentence;
}

export interface Batch {
  records: number;
  leaderEpoch: number;
  producerId: number;
  producerEpoch: number;
  baseSequence: number;
  baseTimestamp: number;
  maxTimestamp: number;
  compression: string;
  transactional: boolean;
  control: boolean;
  shown: BatchRecord[];
  problem?: string;
}

export interface Frame {
  at: number;
  size: number;
  first: number;
  last: number;
  text?: string;
  said?: Sentence;
  batch?: Batch;
}

/** A page of a file of a node's. */
export interface FileContent {
  file: string;
  kind: 'partition' | 'offsets' | 'raft' | 'bookie' | 'text';
  bytes: number;
  frames: Frame[];
  next: number;
  torn?: { at: number; bytes: number; problem: string; ahead?: boolean };
  lines?: string[];
}

/** What a node says now of a thing. */
export interface Told {
  at: string;
  told: unknown;
  data?: Dissected;
}

/** A line of the tree of fields. */
export interface FieldLine {
  field: Field;
  depth: number;
  /** Where it is in the tree: "1.0.2". */
  path: string;
  open: boolean;
}

/** The lines of the tree that are to be seen: a field's own fields follow it while it is open. */
export function linesOf(fields: readonly Field[], closed: ReadonlySet<string>, depth = 0, prefix = ''): FieldLine[] {
  return fields.flatMap((field, index) => {
    const path = `${prefix}${index}`;
    const open = !!field.fields?.length && !closed.has(path);
    const line: FieldLine = { field, depth, path, open };
    return open ? [line, ...linesOf(field.fields!, closed, depth + 1, `${path}.`)] : [line];
  });
}

/** The innermost field that a byte belongs to, and the fields around it, the outermost first. */
export function fieldsAt(fields: readonly Field[], at: number, prefix = ''): { field: Field; path: string }[] {
  const index = fields.findIndex((field) => field.at >= 0 && at >= field.at && at < field.at + field.size);
  const field = fields[index];
  if (!field) return [];
  const path = `${prefix}${index}`;
  return [{ field, path }, ...fieldsAt(field.fields ?? [], at, `${path}.`)];
}

export function fieldAtPath(fields: readonly Field[], path: string): Field | undefined {
  let list: readonly Field[] = fields;
  let found: Field | undefined;
  for (const index of path.split('.')) {
    found = list[Number(index)];
    list = found?.fields ?? [];
  }
  return found;
}

/** "Topics[0]" is an element of Topics: what is said of the one holds for the other. */
export function plainName(name: string): string {
  return name.replace(/\[\d+\]$/, '').replace(/ \d+$/, '');
}

export function hexadecimal(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}

/** A byte as a character, where it is one. */
export function characterOf(byte: number): string {
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '·';
}

export function decodeBytes(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Whom to ask about a thing as it is now, and how the thing is called there; undefined when nobody could tell more than the trace does. */
export function questionAbout(thing: Thing, state: State): { node: string; thing: string } | undefined {
  switch (thing.type) {
    case 'znode':
      return askServer(state, thing.path);
    case 'ledger': {
      const digits = String(thing.ledger).padStart(10, '0');
      return askServer(state, `/ledgers/${digits.slice(0, 2)}/${digits.slice(2, 6)}/L${digits.slice(6)}`);
    }
    case 'group': {
      const coordinator = state.kafka.groups[thing.group]?.coordinator;
      return coordinator !== undefined && coordinator >= 0 ? { node: `kafka-${coordinator}`, thing: `group ${thing.group}` } : undefined;
    }
    case 'topic':
    case 'subscription': {
      const owner = state.pulsar.topics[thing.topic]?.owner;
      return owner ? { node: owner, thing: `topic ${thing.topic}` } : undefined;
    }
    default:
      return undefined;
  }
}

/** The ensemble's leader is asked, or any other server that runs. */
function askServer(state: State, path: string): { node: string; thing: string } | undefined {
  const running = Object.entries(state.ensemble.servers).filter(([name]) => state.nodes[name]?.state === 'running');
  const server = running.find(([, { role }]) => role === 'leader') ?? running[0];
  return server && { node: server[0], thing: `znode ${path}` };
}

/** The files of a node that are about a thing: a replica's partition, or everything in logs. */
export function filesAbout(thing: Thing, names: readonly string[]): string[] {
  const segments = names.filter((name) => name.endsWith('.log'));
  if (thing.type === 'replica') {
    const directory = `${thing.topic}-${thing.partition}`;
    return names.filter((name) => name.split('/').at(-2) === directory && !name.endsWith('index')).sort(newestSegmentFirst);
  }
  return segments.sort();
}

function newestSegmentFirst(a: string, b: string): number {
  return Number(b.endsWith('.log')) - Number(a.endsWith('.log')) || b.localeCompare(a);
}

/** A line of a value that is JSON. */
export interface ValueLine {
  depth: number;
  name: string;
  value: string;
}

const VALUE_LINES = 300;

/** Lines of what a node told: nested values are told under their names. */
export function valueLines(value: unknown, depth = 0): ValueLine[] {
  if (value === null || typeof value !== 'object') return [{ depth, name: '', value: String(value) }];
  return Object.entries(value)
    .flatMap(([name, one]): ValueLine[] => {
      if (one === null || typeof one !== 'object') return [{ depth, name, value: String(one) }];
      if (Array.isArray(one) && one.every((element) => element === null || typeof element !== 'object')) return [{ depth, name, value: one.length === 0 ? '–' : one.join(', ') }];
      if (Object.keys(one).length === 0) return [{ depth, name, value: '–' }];
      return [{ depth, name, value: '' }, ...valueLines(one, depth + 1)];
    })
    .slice(0, VALUE_LINES);
}
