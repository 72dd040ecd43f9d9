import type { FileContent, Opened, Told } from '../scene/inside';
import type { WireDiskFiles } from '../trace/events.gen';
import { request } from './api';

const node = (name: string) => `nodes/${encodeURIComponent(name)}`;

export function openMessage(name: string, seq: number, run: string): Promise<Opened> {
  return request('GET', `${node(name)}/messages/${seq}?run=${encodeURIComponent(run)}`);
}

export async function filesOf(name: string): Promise<string[]> {
  const { files } = await request<WireDiskFiles>('GET', `disks/${encodeURIComponent(name)}`);
  return (files ?? []).map((file) => file.name);
}

export function readFile(name: string, file: string, at: number): Promise<FileContent> {
  return request('GET', `${node(name)}/content?file=${encodeURIComponent(file)}&at=${at}`);
}

export function openFrame(name: string, file: string, at: number): Promise<Opened> {
  return request('GET', `${node(name)}/frame?file=${encodeURIComponent(file)}&at=${at}`);
}

export function askThing(name: string, thing: string): Promise<Told> {
  return request('GET', `${node(name)}/thing?thing=${encodeURIComponent(thing)}`);
}
