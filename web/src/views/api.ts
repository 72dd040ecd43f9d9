/** What the server refused or could not do, in its own words. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

const BASE = 'api/v1/';

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method, headers: { accept: 'application/json' } };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { accept: 'application/json', 'content-type': 'application/json' };
  }
  const response = await fetch(BASE + path, init);
  const text = await response.text();
  const answer: unknown = text === '' ? undefined : JSON.parse(text);
  if (!response.ok) {
    const problem = (answer as { error?: { code?: string; message?: string } } | undefined)?.error;
    throw new ApiError(response.status, problem?.code ?? '', problem?.message ?? response.statusText);
  }
  return answer as T;
}

export type NodeAction = 'kill' | 'stop' | 'start' | 'pause' | 'resume';

export function actOnNode(node: string, action: NodeAction): Promise<unknown> {
  return request('POST', `nodes/${encodeURIComponent(node)}/${action}`);
}

export interface WorkloadSide {
  engine: string;
  state: string;
  acknowledged: number;
  lastError: string;
}

export interface Workload {
  id: string;
  sides: WorkloadSide[];
}

export async function listWorkloads(): Promise<Workload[]> {
  return (await request<{ workloads: Workload[] | null }>('GET', 'workloads')).workloads ?? [];
}

export function startWorkload(): Promise<Workload> {
  return request('POST', 'workloads', { engine: 'both' });
}

export function stopWorkload(id: string): Promise<Workload> {
  return request('DELETE', `workloads/${encodeURIComponent(id)}`);
}

export interface LabSummary {
  id: string;
  title: string;
  minutes: number;
  tasks: number;
  started: boolean;
  passed: boolean;
}

export interface LabTask {
  id: string;
  title: string;
  expected: string;
  needs: string[] | null;
}

export interface Verdict {
  task: string;
  verdict: string;
  expected: string;
  observed: string;
  event: number;
  hint?: string;
}

export interface Attempt {
  verdicts: Verdict[] | null;
  passedAt: string | null;
}

export interface LabDetail extends LabSummary {
  html: string;
  taskList: LabTask[];
  attempt: Attempt | null;
}

export type LabAction = 'start' | 'check' | 'solve' | 'reset';

export async function listLabs(language: string): Promise<LabSummary[]> {
  return (await request<{ labs: LabSummary[] | null }>('GET', `labs?lang=${language}`)).labs ?? [];
}

export function showLab(id: string, language: string): Promise<LabDetail> {
  return request('GET', `labs/${encodeURIComponent(id)}?lang=${language}`);
}

export function actOnLab(id: string, action: LabAction, language: string): Promise<unknown> {
  return request('POST', `labs/${encodeURIComponent(id)}/${action}?lang=${language}`);
}
