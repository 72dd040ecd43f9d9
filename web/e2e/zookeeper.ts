import { connect, type Socket } from 'node:net';

/** Frames with these numbers are no answers to requests: a watch fired, a heartbeat is returned. */
const EVENT_XID = -1;
const PING_XID = -2;

/**
 * A ZooKeeper client of a few requests, spoken by hand: a program outside of the classroom. Numbers are big-endian; a string is its
 * length in 4 bytes and its UTF-8 bytes; a frame is its length in 4 bytes and its body.
 */
export class ZooKeeperClient {
  session = '';
  private xid = 0;
  private received: Buffer = Buffer.alloc(0);
  private heartbeat: NodeJS.Timeout | undefined;
  private readonly waiting: ((frame: Buffer) => void)[] = [];

  private constructor(private readonly socket: Socket) {
    socket.on('data', (chunk) => this.take(chunk));
    socket.on('error', () => {}); // a request that gets no answer fails by its test's time limit
  }

  static async open(address: string, timeoutMS: number): Promise<ZooKeeperClient> {
    const [host, port] = address.split(':');
    const socket = connect(Number(port), host);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    const client = new ZooKeeperClient(socket);
    // protocol version, last zxid seen, timeout, session, password, read-only
    const answer = await client.exchange([int(0), long(0n), int(timeoutMS), long(0n), bytes(Buffer.alloc(16)), Buffer.from([0])]);
    client.heartbeat = setInterval(() => client.send([int(PING_XID), int(11)]), timeoutMS / 3);
    client.session = '0x' + answer.readBigUInt64BE(8).toString(16);
    return client;
  }

  async create(path: string, data: string, ephemeral: boolean): Promise<void> {
    const anybody = [int(1), int(31), text('world'), text('anyone')];
    await this.request(1, [text(path), text(data), ...anybody, int(ephemeral ? 1 : 0)]);
  }

  async delete(path: string): Promise<void> {
    await this.request(2, [text(path), int(-1)]);
  }

  /** Reads a znode and asks to be told once when it changes. */
  async watch(path: string): Promise<void> {
    await this.request(4, [text(path), Buffer.from([1])]);
  }

  async set(path: string, data: string): Promise<void> {
    await this.request(5, [text(path), text(data), int(-1)]);
  }

  /** Ends the connection without a word: the session lives on until it expires. */
  vanish(): void {
    clearInterval(this.heartbeat);
    this.socket.destroy();
  }

  private async request(operation: number, body: Buffer[]): Promise<void> {
    const answer = await this.exchange([int(++this.xid), int(operation), ...body]);
    const code = answer.readInt32BE(12); // after xid and zxid
    if (code !== 0) throw new Error(`ZooKeeper answers request ${operation} with error ${code}`);
  }

  private exchange(parts: Buffer[]): Promise<Buffer> {
    this.send(parts);
    return new Promise((resolve) => this.waiting.push(resolve));
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
      if (![EVENT_XID, PING_XID].includes(frame.readInt32BE(0))) this.waiting.shift()?.(frame);
    }
  }
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
