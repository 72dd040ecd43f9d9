// @vitest-environment jsdom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Connection, type ConnectionState } from './connection';
import { snapshotAt } from './run.fixture';

class FakeSocket {
  static all: FakeSocket[] = [];
  onmessage: ((event: { data: string | ArrayBuffer }) => void) | undefined;
  onclose: (() => void) | undefined;
  constructor(readonly url: string) {
    FakeSocket.all.push(this);
  }
  close(): void {
    this.onclose?.();
  }
  say(frame: unknown): void {
    this.onmessage?.({ data: JSON.stringify(frame) });
  }
}

let states: ConnectionState[];
let frames: number;
let fail: boolean;
let connection: Connection;
const newest = () => FakeSocket.all.at(-1)!;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.spyOn(console, 'error').mockImplementation(() => {});
  FakeSocket.all = [];
  states = [];
  frames = 0;
  fail = false;
  connection = new Connection('ws://here/stream', {
    frame: () => {
      if (fail) throw new Error('record 7 is missing');
      frames++;
    },
    state: (state) => states.push(state),
  });
  connection.open();
});

afterEach(() => {
  connection.close();
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it('is live from the first snapshot on', () => {
  expect(states).toEqual([]);
  newest().say(snapshotAt(0));
  expect([states, frames]).toEqual([['live'], 1]);
});

it('tries again after half a second, then after twice as long each time', () => {
  const waits: number[] = [];
  for (let attempt = 0; attempt < 7; attempt++) {
    const before = FakeSocket.all.length;
    newest().close();
    let waited = 0;
    while (FakeSocket.all.length === before) {
      vi.advanceTimersByTime(250);
      waited += 250;
    }
    waits.push(waited);
  }
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
});

it('begins again with half a second after a stream that was well', () => {
  for (let attempt = 0; attempt < 3; attempt++) {
    newest().close();
    vi.advanceTimersByTime(8000);
  }
  newest().say(snapshotAt(0));
  vi.advanceTimersByTime(4000);
  const before = FakeSocket.all.length;
  newest().close();
  vi.advanceTimersByTime(500);
  expect(FakeSocket.all.length).toBe(before + 1);
});

it('asks for a fresh snapshot when a frame cannot be taken, and does not hammer', () => {
  newest().say(snapshotAt(0));
  fail = true;
  newest().say({ type: 'records', records: [] });
  expect(states).toEqual(['live', 'lost']);
  vi.advanceTimersByTime(500);
  newest().say(snapshotAt(0)); // fails again, at once
  const before = FakeSocket.all.length;
  vi.advanceTimersByTime(999);
  expect(FakeSocket.all.length).toBe(before);
  vi.advanceTimersByTime(1);
  expect(FakeSocket.all.length).toBe(before + 1);
});

it('hears nothing more from a stream that it has given up', () => {
  const first = newest();
  connection.reopen();
  first.say(snapshotAt(0));
  expect(frames).toBe(0);
  newest().say(snapshotAt(0));
  expect(frames).toBe(1);
});

it('reads bytes as well as text, and lets go of them', () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...snapshotAt(0), at: '教室' })).buffer;
  newest().onmessage!({ data: bytes });
  expect(states).toContain('live');
  expect(frames).toBe(1);
  expect(bytes.byteLength, 'given away').toBe(0);
});
