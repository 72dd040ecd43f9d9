import { Dictionary, ValueReader, ValueWriter } from './codec';
import type { TypedRecord } from './types';

/** Records of one chunk, a power of two. */
const CHUNK = 1 << 10;
const SHIFT = 10;
/** Chunks without records that are kept for the next ones: what is used again is never garbage. */
const SPARE = 8;
const BYTES = 40 * 1024;

/**
 * Records with consecutive n, as bytes. A collector of garbage counts on things either dying young or living long; records that live for a minute and
 * then go, ten thousand a second, cost it several times what they are themselves. As bytes they are a fifth, and nothing to collect: a
 * record becomes an object only while somebody reads it.
 *
 * Invariant: all chunks but the last are full, so that the place of a record is a shift away.
 */
export class RecordLog {
  private chunks: Chunk[] = [];
  private spare: Chunk[] = [];
  /** Records of the first chunk that are dropped already. */
  private dropped = 0;
  length = 0;
  private readonly writer = new ValueWriter();

  /** All of them; each is to be read before the next one is asked for. */
  *[Symbol.iterator](): Generator<TypedRecord, void, void> {
    for (let index = 0; index < this.length; index++) yield this.glance(index);
  }

  /** Appends a record and the time at which it is shown. */
  push(record: TypedRecord, clock = record.time): void {
    const index = this.dropped + this.length;
    const chunk = this.chunks[index >> SHIFT] ?? this.begin();
    chunk.write(this.writer, record, clock);
    this.length++;
  }

  /** The record at a place that is at hand. */
  at(index: number): TypedRecord {
    const place = this.dropped + index;
    return this.chunks[place >> SHIFT]!.read(place & (CHUNK - 1));
  }

  /** The record at a place, its data read only when they are asked for. That has to be before records are dropped: its bytes are used again. */
  glance(index: number): TypedRecord {
    const place = this.dropped + index;
    return this.chunks[place >> SHIFT]!.glance(place & (CHUNK - 1));
  }

  /** The time at which a record is shown. */
  clockAt(index: number): number {
    const place = this.dropped + index;
    return this.chunks[place >> SHIFT]!.clock[place & (CHUNK - 1)]!;
  }

  /** A record's place among those of its node. */
  seqAt(index: number): number {
    const place = this.dropped + index;
    return this.chunks[place >> SHIFT]!.seq[place & (CHUNK - 1)]!;
  }

  /** The seq of a record's cause, of whatever node; NaN where it has none. */
  causeSeqAt(index: number): number {
    const place = this.dropped + index;
    return this.chunks[place >> SHIFT]!.causeSeq[place & (CHUNK - 1)]!;
  }

  /** Drops the oldest records. */
  drop(count: number): void {
    this.length -= count;
    this.dropped += count;
    const gone = this.chunks.splice(0, this.dropped >> SHIFT);
    this.dropped &= CHUNK - 1;
    for (const chunk of gone) if (this.spare.length < SPARE) this.spare.push(chunk);
  }

  private begin(): Chunk {
    if (this.writer.dictionary.full) this.writer.dictionary = new Dictionary();
    const chunk = this.spare.pop() ?? new Chunk();
    chunk.begin(this.writer.dictionary);
    this.chunks.push(chunk);
    return chunk;
  }
}

const reader = new ValueReader();
const NONE = new Dictionary();

/** Some records: their bytes one after the other, and of each what is asked of many without reading them. */
class Chunk {
  readonly clock = new Float64Array(CHUNK);
  readonly seq = new Float64Array(CHUNK);
  readonly causeSeq = new Float64Array(CHUNK);
  private readonly time = new Float64Array(CHUNK);
  private readonly begins = new Uint32Array(CHUNK);
  private bytes = new Uint8Array(BYTES);
  private used = 0;
  private count = 0;
  private firstN = 0;
  private dictionary = NONE;

  begin(dictionary: Dictionary): void {
    this.dictionary = dictionary;
    this.used = 0;
    this.count = 0;
  }

  // The bytes: node, kind, the node of the cause where there is one, the data.
  write(writer: ValueWriter, { n, node, kind, seq, cause, time, data }: TypedRecord, clock: number): void {
    writer.length = 0;
    writer.value(node);
    writer.value(kind);
    if (cause) writer.value(cause.node);
    writer.value(data);
    this.put(writer.bytes, writer.length);
    const index = this.count++;
    if (index === 0) this.firstN = n;
    this.time[index] = time;
    this.clock[index] = clock;
    this.seq[index] = seq;
    this.causeSeq[index] = cause ? cause.seq : NaN;
  }

  private put(from: Uint8Array, length: number): void {
    if (this.used + length > this.bytes.length) {
      const larger = new Uint8Array(Math.max(this.used + length, Math.ceil(this.bytes.length * 1.25)));
      larger.set(this.bytes.subarray(0, this.used));
      this.bytes = larger;
    }
    this.begins[this.count] = this.used;
    for (let index = 0; index < length; index++) this.bytes[this.used++] = from[index]!; // without a view of its own for each record
  }

  read(index: number): TypedRecord {
    const { node, kind, cause } = this.begun(index);
    return { n: this.firstN + index, node, seq: this.seq[index]!, cause, kind, data: reader.value(), time: this.time[index]! } as TypedRecord;
  }

  glance(index: number): TypedRecord {
    const { node, kind, cause } = this.begun(index);
    return new KeptRecord(this.firstN + index, node, this.seq[index]!, cause, kind, this.time[index]!, this.bytes, this.dictionary, reader.at) as unknown as TypedRecord;
  }

  /** Reads up to the data. */
  private begun(index: number): { node: string; kind: string; cause: { node: string; seq: number } | undefined } {
    reader.from(this.bytes, this.dictionary, this.begins[index]!);
    const node = reader.value() as string;
    const kind = reader.value() as string;
    const seq = this.causeSeq[index]!;
    return { node, kind, cause: Number.isNaN(seq) ? undefined : { node: reader.value() as string, seq } };
  }
}

/** A record whose data are read from its bytes when they are asked for. */
class KeptRecord {
  private known: unknown;

  constructor(
    readonly n: number,
    readonly node: string,
    readonly seq: number,
    readonly cause: { node: string; seq: number } | undefined,
    readonly kind: string,
    readonly time: number,
    private bytes: Uint8Array | undefined,
    private readonly dictionary: Dictionary,
    private readonly at: number,
  ) {}

  get data(): unknown {
    if (this.bytes) {
      this.known = reader.from(this.bytes, this.dictionary, this.at).value();
      this.bytes = undefined;
    }
    return this.known;
  }
}
