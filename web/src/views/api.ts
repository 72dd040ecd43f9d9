import type { Text } from '../i18n/message';
import { saidText } from '../i18n/said';
import type { ApiRequest } from '../scene/actions/action';
import type {
  LabAttempt,
  LabDetail,
  LabImported,
  LabSummary,
  LabVerdict,
  NodeStatus,
  NotesPage,
  SituationRun,
  SituationSummary,
  TraceRecord,
  WireClusterState,
  WireHealed,
  WireLabs,
  WireLink,
  WireLinks,
  WireNodes,
  WireNotableRecords,
  WireNotes,
  WireProblem,
  WireProblemError,
  WireSituations,
  WireSource,
  WireWorkloads,
  WorkloadCounts,
  WorkloadStatus,
} from '../trace/events.gen';
import { typed } from '../trace/decode';
import { giveAway, reader } from '../trace/json';
import { RecordLog } from '../trace/record-log';
import type { State } from '../trace/types';

export type { LabDetail, LabImported, LabSummary, LabVerdict as Verdict, NodeStatus as Node, NotesPage as Note, WireSource as Source, WorkloadCounts as WorkloadSide, WorkloadStatus as Workload, SituationRun, SituationSummary };

/** What the server refused or could not do. */
export class ApiError extends Error {
  readonly code: string;
  readonly text: Text;

  constructor(
    readonly status: number,
    problem: Partial<WireProblemError>,
    otherwise: string,
  ) {
    super(problem.message ?? otherwise);
    this.code = problem.code ?? '';
    this.text = saidText(problem.sentence, this.message);
  }
}

/** What went wrong, in the reader's language. */
export function problemOf(error: unknown): Text {
  if (error instanceof ApiError) return error.text;
  if (error instanceof TypeError) return { key: 'problem.unreachable' }; // what fetch fails with
  return { key: 'problem.quoted', params: { quoted: error instanceof Error ? error.message : String(error) } };
}

/** The body of an answer, or the error that it is. */
export async function answerOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  let answer: unknown;
  try {
    answer = text === '' ? undefined : JSON.parse(text);
  } catch {
    throw new ApiError(response.status, {}, response.statusText || text.slice(0, 200));
  }
  if (response.ok) return answer as T;
  throw new ApiError(response.status, (answer as Partial<WireProblem> | undefined)?.error ?? {}, response.statusText);
}

const BASE = 'api/v1/';

export async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: { accept: 'application/json' } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { accept: 'application/json', 'content-type': 'application/json' };
  }
  return answerOf(await fetch(BASE + path, init));
}

export type NodeAction = 'kill' | 'stop' | 'start' | 'pause' | 'resume';

export function actOnNode(node: string, action: NodeAction): Promise<unknown> {
  return request('POST', `nodes/${encodeURIComponent(node)}/${action}`);
}

/** Sets the rule of one direction between two nodes; all zero heals it. */
export function setLink(from: string, to: string, rule: Omit<WireLink, 'from' | 'to'>): Promise<WireLinks> {
  return request('PUT', 'links', { from, to, ...rule });
}

export async function listWorkloads(): Promise<WorkloadStatus[]> {
  return (await request<WireWorkloads>('GET', 'workloads')).workloads ?? [];
}

/** Different keys of the demo's messages: they spread over all partitions, and each key stays in its own. */
const DEMO_KEYS = 24;

export function startWorkload(): Promise<WorkloadStatus> {
  return request('POST', 'workloads', { engine: 'both', keys: DEMO_KEYS });
}

export function stopWorkload(id: string): Promise<WorkloadStatus> {
  return request('DELETE', `workloads/${encodeURIComponent(id)}`);
}

export type LabAction = 'start' | 'check' | 'solve' | 'reset' | 'step' | 'answer';

/** The query of who asks: an empty name is nobody's in particular. */
function asking(language: string, student: string, more: Record<string, string> = {}): string {
  return new URLSearchParams({ lang: language, ...(student ? { student } : {}), ...more }).toString();
}

export async function listLabs(language: string, student: string): Promise<LabSummary[]> {
  return (await request<WireLabs>('GET', `labs?${asking(language, student)}`)).labs ?? [];
}

export function showLab(id: string, language: string, student: string): Promise<LabDetail> {
  return request('GET', `labs/${encodeURIComponent(id)}?${asking(language, student)}`);
}

/** More says of what: start a task to begin at, step its number, answer a question and the choice. */
export function actOnLab(id: string, action: LabAction, language: string, student: string, more?: Record<string, string>): Promise<LabAttempt> {
  return request('POST', `labs/${encodeURIComponent(id)}/${action}?${asking(language, student, more)}`);
}

/** Where the log of what a student did is, as a file; everybody's without a name. */
export function progressUrl(student: string): string {
  return `${BASE}progress${student ? `?${new URLSearchParams({ student })}` : ''}`;
}

export async function importProgress(file: File): Promise<LabImported> {
  return answerOf(await fetch(`${BASE}progress`, { method: 'POST', headers: { 'content-type': 'application/x-ndjson' }, body: file }));
}

/** Records that the server hands out at a time. */
const PAGE = 5000;

/** The records after one and up to another, as far as they are still at hand; undefined when the first ones are not. Tells how many there are so far. */
export async function recordsBetween(after: number, upTo: number, tell?: (fetched: number) => void): Promise<RecordLog | undefined> {
  const records = new RecordLog();
  while (after < upTo) {
    const response = await fetch(`${BASE}events?after=${after}&limit=${Math.min(PAGE, upTo - after)}`, { headers: { accept: 'application/json' } });
    const before = records.length;
    if (!response.ok) return answerOf(response);
    const bytes = await response.arrayBuffer();
    // One by one, and kept as bytes: all of them as objects would be most of what the page ever needs.
    for (const record of (reader.readWithList(new Uint8Array(bytes), 'records').records ?? []) as Iterable<TraceRecord>) {
      if (record.n <= after || record.n > upTo) continue;
      if (record.n !== after + 1) return undefined;
      records.push(typed(record));
      after = record.n;
    }
    giveAway(bytes);
    if (records.length === before) return undefined;
    tell?.(records.length);
  }
  return records;
}

/** The earliest state that is at hand and is not before a record. */
export async function stateFrom(n: number): Promise<{ n: number; state: State }> {
  const answer = await request<WireClusterState>('GET', `cluster?from=${n}`);
  return { n: answer.n, state: answer.state };
}

/** The notable records up to one that the server keeps, beyond its window. */
export function notableUpTo(n: number): Promise<WireNotableRecords> {
  return request('GET', `notable?upTo=${n}`);
}

export async function listNotes(language: string): Promise<NotesPage[]> {
  return (await request<WireNotes>('GET', `notes?lang=${language}`)).notes;
}

export function readNote(id: string, language: string): Promise<NotesPage> {
  return request('GET', `notes/${id}?lang=${language}`);
}

/** A declaration of the engines' code with its comment; without a symbol the whole file. */
export function readSource(file: string, symbol: string): Promise<WireSource> {
  return request('GET', `source?${new URLSearchParams({ file, symbol })}`);
}

export async function listNodes(): Promise<NodeStatus[]> {
  return (await request<WireNodes>('GET', 'nodes')).nodes;
}

/** Sends requests at the same time: a fault on both sides is to be one instant. */
export async function perform(requests: readonly ApiRequest[]): Promise<void> {
  await Promise.all(requests.map(({ method, path, body }) => request(method, path, body)));
}

/** Puts right whatever is broken, and tells what could not be. */
export function heal(): Promise<WireHealed> {
  return request('POST', 'heal');
}

/** The situations that can be played, and the run that is being played or was the last. */
export function listSituations(): Promise<WireSituations> {
  return request('GET', 'situations');
}

export function playSituation(id: string): Promise<SituationRun> {
  return request('POST', `situations/${encodeURIComponent(id)}`);
}

export function cancelSituation(): Promise<SituationRun> {
  return request('DELETE', 'situations');
}
