import type { Key } from '../../i18n/message';
import type { Scene } from '../scene';

/** What is chosen or typed in a form, by the field's name. */
export type Values = Readonly<Record<string, string | number | boolean>>;

export interface Choice {
  value: string;
  /** What it is called; without it the value itself. */
  label?: Key;
}

export type Field = { name: string; label: Key } & (
  | { type: 'text'; initial: string; optional?: boolean; known?: readonly string[] }
  | { type: 'number'; initial: number; min: number; max: number }
  | { type: 'choice'; options: readonly Choice[]; initial: string }
  | { type: 'check'; initial: boolean }
);

/** A request to this classroom's API, which does the action. */
export interface ApiRequest {
  method: 'POST' | 'PUT' | 'DELETE';
  path: string;
  body?: unknown;
}

/** Where this classroom's servers can be reached, so that a command can be copied and run as it stands. */
export interface Addresses {
  kafka: string;
  pulsarAdmin: string;
  pulsar: string;
  ensemble: string;
}

/** Something that can be done to the clusters, as a form: what it asks for, what it sends, and what one would type on a real cluster. */
export interface Action {
  id: string;
  title: Key;
  help: Key;
  button: Key;
  fields: readonly Field[];
  /** It may lose data. */
  dangerous?: boolean;
  /** What is sent, in order; empty while the values make no sense yet. */
  requests(values: Values): ApiRequest[];
  /** The same on a real cluster. */
  command(values: Values, at: Addresses): string;
}

export interface ActionGroup {
  id: 'both' | 'traffic' | 'kafka' | 'pulsar' | 'nodes' | 'disks';
  actions: Action[];
}

/** The values of a form nobody has touched. */
export function initialValues(fields: readonly Field[]): Record<string, string | number | boolean> {
  return Object.fromEntries(fields.map(({ name, initial }) => [name, initial]));
}

/** A value as text; a form's field always has one. */
export function text(values: Values, name: string): string {
  return String(values[name] ?? '').trim();
}

/** Where a reader of either side can be put, whatever is stored. */
export const ENDS: readonly Choice[] = [
  { value: 'earliest', label: 'do.resetEarliest' },
  { value: 'latest', label: 'do.resetLatest' },
];

export function choices(names: readonly string[]): Choice[] {
  return names.map((value) => ({ value }));
}

export function clientTopics(scene: Scene): string[] {
  return scene.kafka.topics.filter(({ internal }) => !internal).map(({ topic }) => topic);
}

/** Broker ids out of "1, 2 3"; undefined when something else stands there. */
export function brokerList(value: string): number[] | undefined {
  const parts = value.split(/[\s,，]+/).filter(Boolean);
  const ids = parts.map(Number);
  return ids.length > 0 && ids.every((id) => Number.isInteger(id) && id > 0) ? ids : undefined;
}

/** "a=1, b=2" as a map; undefined when something else stands there. */
export function configs(value: string): Record<string, string> | undefined {
  const pairs = value.split(/[\s,，]+/).filter(Boolean).map((pair) => pair.split('='));
  return pairs.every((pair) => pair.length === 2 && pair[0]) ? Object.fromEntries(pairs) : undefined;
}
