import type { StoreRun, StoreRunList, TraceRecord, WireClusterState, WireEvents } from '../trace/events.gen';
import { answerOf } from './api';

export type { StoreRun as RecordedRun };

const BASE = 'api/v1/runs';

async function ask<T>(method: string, path: string, body?: BodyInit, type = 'application/json'): Promise<T> {
  const init: RequestInit = { method, headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': type }) } };
  if (body !== undefined) init.body = body;
  return answerOf(await fetch(BASE + path, init));
}

const place = (name: string) => `/${encodeURIComponent(name)}`;

export function listRuns(): Promise<StoreRunList> {
  return ask('GET', '');
}

/** Saves the present run, as it is by now. */
export function saveRun(title: string): Promise<StoreRun> {
  return ask('POST', '', JSON.stringify({ title }));
}

export function renameRun(name: string, title: string): Promise<StoreRun> {
  return ask('PUT', place(name), JSON.stringify({ title }));
}

export function deleteRun(name: string): Promise<StoreRunList> {
  return ask('DELETE', place(name));
}

export function sendRunFile(file: Blob): Promise<StoreRun> {
  return ask('POST', '/file', file, 'application/gzip');
}

/** Where a run's file is. */
export function runFile(name: string): string {
  return `${BASE}${place(name)}/file`;
}

export function runState(name: string, n: number): Promise<WireClusterState> {
  return ask('GET', `${place(name)}/state?n=${n}`);
}

export async function runRecords(name: string, after: number, limit: number): Promise<TraceRecord[]> {
  return (await ask<WireEvents>('GET', `${place(name)}/events?after=${after}&limit=${limit}`)).records ?? [];
}
