import { own } from '../trace/reduce/maps';
import type { State, Znode } from '../trace/types';
import { byName } from './order';

/** A session that asked to be told when a znode changes. */
export interface Watcher {
  session: string;
  client: string;
  /** data, exists, children, persistent, recursive */
  types: string[];
}

/** A line of the tree. */
export interface ZnodeRow {
  path: string;
  name: string;
  /** From 1, as aria-level counts. */
  level: number;
  /** Its place among its siblings, from 1, and how many they are. */
  position: number;
  siblings: number;
  children: number;
  open: boolean;
  /** False: nobody created it, but somebody watches it, so that it is told when it comes. */
  exists: boolean;
  mode: string;
  /** Of an ephemeral: the owner's session and whose that is. */
  session: string;
  client: string;
  data: string;
  bytes: number;
  version: number;
  watchers: Watcher[];
}

export interface ZnodeScene {
  rows: ZnodeRow[];
  /** Lines that are left out, because there are too many. */
  surplus: number;
  /** Details of the znode that was asked for. */
  chosen: ZnodeRow | undefined;
}

/** Lines of the tree at most. */
const MOST = 1500;

/** The znodes' tree with some of them open; watched paths that do not exist stand in it too. */
export function znodeScene(state: State, open: ReadonlySet<string>, chosen: string | undefined): ZnodeScene {
  const watchers = watchersByPath(state);
  const children = childrenByPath([...Object.keys(state.ensemble.znodes), ...watchers.keys()]);
  const rows: ZnodeRow[] = [];
  let surplus = 0;
  const add = (path: string, level: number, position: number, siblings: number) => {
    const below = children.get(path) ?? [];
    if (rows.length >= MOST) surplus++;
    else rows.push(znodeRow(state, path, { level, position, siblings, children: below.length, open: open.has(path), watchers: watchers.get(path) ?? [] }));
    if (open.has(path)) below.forEach((child, index) => add(child, level + 1, index + 1, below.length));
  };
  const roots = children.get('/') ?? [];
  roots.forEach((path, index) => add(path, 1, index + 1, roots.length));
  return { rows, surplus, chosen: chosen === undefined ? undefined : rows.find(({ path }) => path === chosen) };
}

interface Standing {
  level: number;
  position: number;
  siblings: number;
  children: number;
  open: boolean;
  watchers: Watcher[];
}

function znodeRow(state: State, path: string, standing: Standing): ZnodeRow {
  const znode: Znode | undefined = own(state.ensemble.znodes, path);
  const session = znode?.session ?? '';
  return {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    exists: znode !== undefined,
    mode: znode?.mode ?? '',
    session,
    client: own(state.ensemble.sessions, session)?.client ?? '',
    data: znode?.data ?? '',
    bytes: znode?.bytes ?? 0,
    version: znode?.version ?? 0,
    ...standing,
  };
}

function watchersByPath(state: State): Map<string, Watcher[]> {
  const found = new Map<string, Watcher[]>();
  for (const [session, { client, watches }] of Object.entries(state.ensemble.sessions)) {
    for (const [path, types] of Object.entries(watches)) {
      const list = found.get(path) ?? [];
      list.push({ session, client, types: [...types] });
      found.set(path, list);
    }
  }
  for (const list of found.values()) list.sort((a, b) => byName(a.client, b.client));
  return found;
}

/** Children in order, by parent; the parents of a path are in the tree with it. */
function childrenByPath(paths: readonly string[]): Map<string, string[]> {
  const known = new Set<string>();
  const children = new Map<string, string[]>();
  for (let path of paths) {
    while (path !== '/' && path !== '' && !known.has(path)) {
      known.add(path);
      const parent = parentOf(path);
      const siblings = children.get(parent) ?? [];
      siblings.push(path);
      children.set(parent, siblings);
      path = parent;
    }
  }
  for (const siblings of children.values()) siblings.sort(byName);
  return children;
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf('/');
  return slash <= 0 ? '/' : path.slice(0, slash);
}

/** All that has to be open for a path to be seen. */
export function ancestorsOf(path: string): string[] {
  const above: string[] = [];
  for (let parent = parentOf(path); parent !== '/'; parent = parentOf(parent)) above.unshift(parent);
  return above;
}

/** Data as text where it is text; undefined for what is binary. */
export function readableData(data: string): string | undefined {
  return /[\u0000-\u0008\u000e-\u001f\ufffd]/.test(data) ? undefined : data;
}
