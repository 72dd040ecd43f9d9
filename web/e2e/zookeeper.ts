import { connect, type Socket } from 'node:net';

/** Frames with these numbers are no answers to requests: a watch fired, a heartbeat is returned. */
const EVENT_XID = -1;
const PING_XID = -2;

/** Codes of answers. A request whose answer was lost with its connection is sent again, and may have been done before. */
const OK = 0;
const NO_NODE = -101;
const NODE_EXISTS = -110;

const RETRY_EVERY_MS = 200;

/**
 * A ZooKeeper client of a few requests, spoken by hand: a program outside of the classroom. Numbers are big-endian; a string is its
 * length in 4 bytes and its UTF-8 bytes; a frame is its length in 4 bytes and its body.
 *
 * A server that has no leader ends its connections, as it may at any time: then the client takes its session up again, as every ZooKeeper
 * client does.
 */
export class ZooKeeperClient {
  session = '';
  private readonly sessionID = Buffer.alloc(8);
  private password: Buffer = Buffer.alloc(16);
  private socket!: Socket;
  private received: Buffer = Buffer.alloc(0);
  private waiting: { taken: (frame: Buffer) => void; lost: (error: Error) => void }[] = [];
  private connected: Promise<void> | undefined;
  private heartbeat: NodeJS.Timeout | undefined;
  private xid = 0;
  private vanished = false;
  private readonly watched = new Set<string>();

  private constructor(
    private readonly address: string,
    private readonly timeoutMS: number,
  ) {}

  static async open(address: string, timeoutMS: number): Promise<ZooKeeperClient> {
    const client = new ZooKeeperClient(address, timeoutMS);
    await client.connection();
    client.heartbeat = setInterval(() => client.send([int(PING_XID), int(11)]), timeoutMS / 3);
    return client;
  }

  async create(path: string, data: string, ephemeral: boolean): Promise<void> {
    const anybody = [int(1), int(31), text('world'), text('anyone')];
    await this.request(1, [text(path), text(data), ...anybody, int(ephemeral ? 1 : 0)], NODE_EXISTS);
  }

  async delete(path: string): Promise<void> {
    await this.request(2, [text(path), int(-1)], NO_NODE);
  }

  /** Reads a znode and asks to be told once when it changes. */
  async watch(path: string): Promise<void> {
    this.watched.add(path);
    await this.request(4, [text(path), Buffer.from([1])]);
  }

  async set(path: string, data: string): Promise<void> {
    await this.request(5, [text(path), text(data), int(-1)]);
  }

  /** Ends the connection without a word: the session lives on until it expires. */
  vanish(): void {
    this.vanished = true;
    clearInterval(this.heartbeat);
    this.socket.destroy();
  }

  /** Sends a request until it is answered. Done is the code that says, of one that was sent again, that it has been done. */
  private async request(operation: number, body: Buffer[], done = OK): Promise<void> {
    for (let again = false; ; again = true) {
      try {
        await this.connection();
        const answer = await this.exchange([int(++this.xid), int(operation), ...body]);
        const code = answer.readInt32BE(12); // after xid and zxid
        if (code === OK || (again && code === done)) return;
        throw new Refusal(`ZooKeeper answers request ${operation} with error ${code}`);
      } catch (error) {
        if (error instanceof Refusal || this.vanished) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_EVERY_MS));
      }
    }
  }

  /** The connection, of a new session or of the one that there is, with its watches. */
  private connection(): Promise<void> {
    this.connected ??= this.connect().catch((error: unknown) => {
      this.connected = undefined;
      throw error;
    });
    return this.connected;
  }

  private async connect(): Promise<void> {
    const [host, port] = this.address.split(':');
    const socket = connect(Number(port), host);
    this.socket = socket;
    this.received = Buffer.alloc(0);
    socket.on('data', (chunk) => this.take(chunk));
    socket.on('error', () => {}); // it is closed, too
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.connected = undefined;
      const waiting = this.waiting;
      this.waiting = [];
      for (const { lost } of waiting) lost(new Error('the connection to ZooKeeper was lost'));
      if (!this.vanished && this.session !== '') setTimeout(() => void this.connection().catch(() => {}), RETRY_EVERY_MS);
    });
    // protocol version, last zxid seen, timeout, session, password, read-only
    const answer = await this.exchange([int(0), long(0n), int(this.timeoutMS), this.sessionID, bytes(this.password), Buffer.from([0])]);
    answer.copy(this.sessionID, 0, 8, 16);
    this.password = Buffer.from(answer.subarray(20, 36));
    this.session = '0x' + this.sessionID.readBigUInt64BE().toString(16);
    for (const path of this.watched) await this.exchange([int(++this.xid), int(4), text(path), Buffer.from([1])]);
  }

  private exchange(parts: Buffer[]): Promise<Buffer> {
    return new Promise((taken, lost) => {
      this.waiting.push({ taken, lost });
      this.send(parts);
    });
  }

  private send(parts: Buffer[]): void {
    const body = Buffer.concat(parts);
    this.socket.write(Buffer.concat([int(body.length), body]));
  }

  private take(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    while (this.received.length >= 4 && this.received.length >= 4 + this.received.readInt32BE(0)) {
      const end = 4 + this.received.readInt32BE(0);
      const frame = this.received.subarray(4, end);
      this.received = this.received.subarray(end);
      const xid = frame.readInt32BE(0);
      if (xid === EVENT_XID) this.watched.delete(pathOf(frame));
      else if (xid !== PING_XID) this.waiting.shift()?.taken(frame);
    }
  }
}

/** What a server says no to; to ask again would not help. */
class Refusal extends Error {}

/** The path of an event: behind xid, zxid, err, type and state. */
function pathOf(frame: Buffer): string {
  const length = frame.readInt32BE(24);
  return frame.subarray(28, 28 + length).toString();
}

function int(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

function long(value: bigint): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeBigInt64BE(value);
  return buffer;
}

function bytes(value: Buffer): Buffer {
  return Buffer.concat([int(value.length), value]);
}

function text(value: string): Buffer {
  return bytes(Buffer.from(value));
}
