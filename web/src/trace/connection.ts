import { frameOf } from './decode';
import { giveAway, reader } from './json';
import type { Frame } from './types';

export type ConnectionState = 'connecting' | 'live' | 'lost';

export interface ConnectionEvents {
  /** What it holds is there only until this returns. */
  frame(frame: Frame): void;
  /** retryAt is the time, in performance.now(), of the next attempt while the connection is lost. */
  state(state: ConnectionState, retryAt: number): void;
}

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 8000;
/** A stream that lived so long was well: the next retry is a first one. */
const STEADY_MS = 3000;

/** The subprotocol by which a server sends frames as bytes. A server has to agree to it, or the browser closes; what comes as text is read all the same. */
const BYTES = 'twinlog.bytes';
/** The stream, opened again whenever it ends: after half a second, then after twice as long each time, 8 s at most. */
export class Connection {
  private socket: WebSocket | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private wait = FIRST_RETRY_MS;
  private closed = false;
  private liveSince = Infinity;

  constructor(
    private readonly url: string,
    private readonly events: ConnectionEvents,
  ) {}

  open(): void {
    if (this.closed) return;
    clearTimeout(this.timer);
    const socket = new WebSocket(this.url, BYTES);
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    socket.onmessage = (message) => this.receive(socket, message.data as string | ArrayBuffer);
    socket.onclose = () => this.ended(socket);
  }

  /** Ends the stream and opens it again, for a fresh snapshot. */
  reopen(): void {
    const socket = this.socket;
    this.socket = undefined;
    socket?.close();
    this.open();
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private receive(socket: WebSocket, data: string | ArrayBuffer): void {
    if (socket !== this.socket) return;
    try {
      const frame = frameOf(typeof data === 'string' ? JSON.parse(data) : reader.readWithList(new Uint8Array(data), 'records'));
      this.events.frame(frame);
      if (frame.type === 'snapshot') {
        this.liveSince = performance.now();
        this.events.state('live', 0);
      }
    } catch (error) {
      console.error(error);
      socket.close(); // a fresh snapshot puts it right
    } finally {
      if (typeof data !== 'string') giveAway(data);
    }
  }

  private ended(socket: WebSocket): void {
    if (socket !== this.socket || this.closed) return;
    this.socket = undefined;
    if (performance.now() - this.liveSince > STEADY_MS) this.wait = FIRST_RETRY_MS;
    this.liveSince = Infinity;
    this.events.state('lost', performance.now() + this.wait);
    this.timer = setTimeout(() => this.open(), this.wait);
    this.wait = Math.min(this.wait * 2, LAST_RETRY_MS);
  }
}
