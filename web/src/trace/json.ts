import { give } from './reduce/maps';

/** Strings of at most so many bytes are shared: names, not texts. */
const SHARED_BYTES = 64;
/** Strings that are shared at a time, a power of two; where two have one place, the newer one gets it. */
const SHARED = 8192;
/** A member whose value is never the same twice. */
const NEVER_SHARED = 'at';

const utf8 = new TextDecoder();
const NO_BYTES = new Uint8Array(0);

/**
 * Reads JSON from bytes, as JSON.parse does from text, but makes no text of the whole, and no second copy of a name: the same few come a
 * hundred thousand times. What a stream of 3 MB a second is read through is what the browser's garbage is made of.
 */
export class JsonReader {
  private bytes: Uint8Array = NO_BYTES;
  private at = 0;
  /** By place: how a string is written, and what it says. */
  private readonly written: string[] = new Array<string>(SHARED).fill('');
  private readonly shared: string[] = new Array<string>(SHARED).fill('');
  private readonly codes: number[] = [];

  /** Reads one value that takes all of the bytes; a SyntaxError tells where they are none. */
  read(bytes: Uint8Array): unknown {
    this.bytes = bytes;
    this.at = 0;
    const value = this.value(true);
    this.end();
    return value;
  }

  /**
   * Reads an object of which one member is a long list: that member's values are read one by one, as they are asked for, so that there is
   * never more than one of them. Whatever stands behind the list is not kept.
   */
  readWithList(bytes: Uint8Array, list: string): Record<string, unknown> {
    this.bytes = bytes;
    this.at = 0;
    this.skipSpace();
    if (bytes[this.at] !== 0x7b) return this.read(bytes) as Record<string, unknown>;
    const value: Record<string, unknown> = {};
    this.at++;
    if (!this.takes(0x7d)) {
      do {
        const key = this.key();
        this.skipSpace();
        if (key === list && bytes[this.at] === 0x5b) {
          value[key] = this.values();
          return value;
        }
        give(value, key, this.value(key !== NEVER_SHARED));
      } while (this.takes(0x2c));
      if (!this.takes(0x7d)) throw this.unexpected();
    }
    this.end();
    return value;
  }

  private *values(): Generator<unknown, void, void> {
    const { bytes } = this;
    this.at++;
    if (!this.takes(0x5d)) {
      do {
        const value = this.value(true);
        const { at } = this;
        yield value;
        this.bytes = bytes; // something else may have been read meanwhile
        this.at = at;
      } while (this.takes(0x2c));
      if (!this.takes(0x5d)) throw this.unexpected();
    }
    while (this.takes(0x2c)) {
      this.key();
      this.value(true);
    }
    if (!this.takes(0x7d)) throw this.unexpected();
    this.end();
  }

  private end(): void {
    this.skipSpace();
    if (this.at < this.bytes.length) throw this.unexpected();
    this.bytes = NO_BYTES;
  }

  private value(share: boolean): unknown {
    this.skipSpace();
    switch (this.bytes[this.at]) {
      case 0x7b:
        return this.object();
      case 0x5b:
        return this.list();
      case 0x22:
        return this.text(share);
      case 0x74:
        return this.word('true', true);
      case 0x66:
        return this.word('false', false);
      case 0x6e:
        return this.word('null', null);
      default:
        return this.number();
    }
  }

  private object(): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    this.at++;
    if (this.takes(0x7d)) return value;
    do {
      const key = this.key();
      give(value, key, this.value(key !== NEVER_SHARED));
    } while (this.takes(0x2c));
    if (!this.takes(0x7d)) throw this.unexpected();
    return value;
  }

  private key(): string {
    this.skipSpace();
    if (this.bytes[this.at] !== 0x22) throw this.unexpected();
    const key = this.text(true);
    if (!this.takes(0x3a)) throw this.unexpected();
    return key;
  }

  private list(): unknown[] {
    const values: unknown[] = [];
    this.at++;
    if (this.takes(0x5d)) return values;
    do values.push(this.value(true));
    while (this.takes(0x2c));
    if (!this.takes(0x5d)) throw this.unexpected();
    return values;
  }

  private word<T>(word: string, value: T): T {
    for (let index = 0; index < word.length; index++) if (this.bytes[this.at + index] !== word.charCodeAt(index)) throw this.unexpected();
    this.at += word.length;
    return value;
  }

  private number(): number {
    const { bytes } = this;
    const start = this.at;
    let at = start;
    const negative = bytes[at] === 0x2d;
    if (negative) at++;
    const first = at;
    let value = 0;
    for (let digit = bytes[at]! - 0x30; digit >= 0 && digit <= 9; digit = bytes[++at]! - 0x30) value = value * 10 + digit;
    const digits = at - first;
    if (digits === 0) throw this.unexpected();
    const next = bytes[at];
    this.at = at;
    if (next !== 0x2e && next !== 0x65 && next !== 0x45 && digits <= 15 && (digits === 1 || bytes[first] !== 0x30)) return negative ? -value : value;
    while (at < bytes.length && isOfNumber(bytes[at]!)) at++;
    this.at = at;
    return JSON.parse(utf8.decode(bytes.subarray(start, at))) as number; // a fraction, a large one, or none
  }

  private text(share: boolean): string {
    const { bytes } = this;
    const start = ++this.at;
    let at = start;
    let hash = 0;
    let all = 0;
    let escaped = false;
    let byte = bytes[at]!;
    while (byte !== 0x22) {
      if (!(byte >= 0x20)) throw this.unexpected(at);
      if (byte === 0x5c) {
        escaped = true;
        byte = bytes[++at]!; // whatever it is: read once more below, where that matters
        if (!(byte >= 0x20)) throw this.unexpected(at);
      }
      hash = (Math.imul(hash, 31) + byte) | 0;
      all |= byte;
      byte = bytes[++at]!;
    }
    this.at = at + 1;
    const length = at - start;
    if (length === 0) return '';
    if (all >= 0x80 || length > SHARED_BYTES || !share) return this.said(start, at, escaped, all >= 0x80);
    const place = (hash ^ (hash >>> 13)) & (SHARED - 1);
    if (this.is(this.written[place]!, start, length)) return this.shared[place]!;
    this.written[place] = this.ascii(start, length);
    return (this.shared[place] = escaped ? this.said(start, at, true, false) : this.written[place]!);
  }

  private said(start: number, end: number, escaped: boolean, wide: boolean): string {
    if (escaped) return JSON.parse(utf8.decode(this.bytes.subarray(start - 1, end + 1))) as string;
    return wide || end - start > SHARED_BYTES ? utf8.decode(this.bytes.subarray(start, end)) : this.ascii(start, end - start);
  }

  private is(known: string, start: number, length: number): boolean {
    if (known.length !== length) return false;
    for (let index = 0; index < length; index++) if (known.charCodeAt(index) !== this.bytes[start + index]) return false;
    return true;
  }

  private ascii(start: number, length: number): string {
    const { codes } = this;
    codes.length = length;
    for (let index = 0; index < length; index++) codes[index] = this.bytes[start + index]!;
    return String.fromCharCode(...codes);
  }

  private takes(byte: number): boolean {
    this.skipSpace();
    if (this.bytes[this.at] !== byte) return false;
    this.at++;
    return true;
  }

  private skipSpace(): void {
    let byte = this.bytes[this.at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = this.bytes[++this.at];
  }

  private unexpected(at = this.at): SyntaxError {
    const { bytes } = this;
    this.bytes = NO_BYTES;
    return new SyntaxError(at < bytes.length ? `JSON has no byte 0x${bytes[at]!.toString(16)} at ${at}` : `JSON ends too early, at ${at}`);
  }
}

function isOfNumber(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2e || byte === 0x65 || byte === 0x45 || byte === 0x2b || byte === 0x2d;
}

/** The one that everything is read with, so that names are shared by all. */
export const reader = new JsonReader();

const away = new MessageChannel();
away.port2.close();

/**
 * Lets go of bytes that came from the browser. It would keep them until it collects its own garbage, which at 10,000 records a second
 * comes to 100 MB. What is given away to a port that nobody listens at is gone at once; to make the buffer empty lets go of it only for
 * the script.
 */
export function giveAway(bytes: ArrayBuffer): void {
  away.port1.postMessage(undefined, [bytes]);
}
