import { decodeFrame } from './decode';
import type { Frame } from './types';

export type ConnectionState = 'connecting' | 'live' | 'lost';

export interface ConnectionEvents {
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
const utf8 = new TextDecoder();

/**
 * The text of a message. A browser keeps what a message holds until it collects its garbage, which at 10,000 records a second came to
 * 100 MB; bytes can be let go of at once.
 */
function textOf(data: string | (ArrayBuffer & { transfer?(bytes: number): ArrayBuffer })): string {
  if (typeof data === 'string') return data;
  const text = utf8.decode(data);
  data.transfer?.(0);
  return text;
}

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
    socket.onmessage = (message) => this.receive(socket, textOf(message.data as string | ArrayBuffer));
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

  private receive(socket: WebSocket, text: string): void {
    if (socket !== this.socket) return;
    try {
      const frame = decodeFrame(text);
      this.events.frame(frame);
      if (frame.type === 'snapshot') {
        this.liveSince = performance.now();
        this.events.state('live', 0);
      }
    } catch (error) {
      console.error(error);
      socket.close(); // a fresh snapshot puts it right
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
