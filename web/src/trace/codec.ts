import { give } from './reduce/maps';

// A value as bytes. Each begins with one byte that says what it is:
//
//   0x80 + n   the number n, 0 to 127          TEXT      length, then each UTF-16 unit   (lengths, units, indices and
//   PLUS       a whole number                  WORD      index in the dictionary          whole numbers as varints:
//   MINUS      minus a whole number            LIST      length, then the values          7 bits a byte, the lowest
//   FLOAT      8 bytes                         OBJECT    index of the shape in the         first, 0x80: more follows)
//   NULL TRUE FALSE UNDEFINED                            dictionary, then the values
//                                              MAP       length, then names and values in turn
const NULL = 0;
const TRUE = 1;
const FALSE = 2;
const UNDEFINED = 3;
const PLUS = 4;
const MINUS = 5;
const FLOAT = 6;
const TEXT = 7;
const WORD = 8;
const LIST = 9;
const OBJECT = 10;
const MAP = 11;

/** Longer strings are texts, of which each is another one. */
const WORD_LENGTH = 64;
/** Words, and shapes, of one dictionary; what does not go in is written out, and the next bytes get a new one. */
const WORDS = 8192;
const SHAPES = 4096;
/** What has more members is no thing with a shape, but a map with a name for each of its values. */
const MOST_MEMBERS = 24;

/** The names of an object's members, in order: those of a shorter shape and one more. */
interface Shape {
  readonly index: number;
  readonly names: readonly string[];
  readonly longer: Map<string, Shape>;
}

/** The names and shapes that values share. It only grows: bytes that were written with it can be read as long as it is there. */
export class Dictionary {
  readonly words: string[] = [];
  readonly shapes: Shape[] = [{ index: 0, names: [], longer: new Map() }];
  private readonly indices = new Map<string, number>();

  get full(): boolean {
    return this.words.length >= WORDS || this.shapes.length >= SHAPES;
  }

  /** The index of a word, or -1 where it has to be written out. */
  indexOf(word: string): number {
    if (word.length > WORD_LENGTH) return -1;
    const known = this.indices.get(word);
    if (known !== undefined) return known;
    if (this.words.length >= WORDS) return -1;
    this.indices.set(word, this.words.length);
    return this.words.push(word) - 1;
  }

  /** Without a bound: what an object's members are called has to be known. A dictionary with too many is full. */
  longer(shape: Shape, name: string): Shape {
    let next = shape.longer.get(name);
    if (!next) {
      next = { index: this.shapes.length, names: [...shape.names, name], longer: new Map() };
      this.shapes.push(next);
      shape.longer.set(name, next);
    }
    return next;
  }
}

const double = new DataView(new ArrayBuffer(8));

/** Writes values that JSON can hold. */
export class ValueWriter {
  bytes = new Uint8Array(64 * 1024);
  length = 0;
  dictionary = new Dictionary();

  value(value: unknown): void {
    switch (typeof value) {
      case 'number':
        return this.number(value);
      case 'string':
        return this.string(value);
      case 'boolean':
        return this.byte(value ? TRUE : FALSE);
      case 'undefined':
        return this.byte(UNDEFINED);
      case 'object':
        if (value === null) return this.byte(NULL);
        return Array.isArray(value) ? this.list(value) : this.object(value as Record<string, unknown>);
      default:
        throw new Error(`a ${typeof value} cannot be kept`);
    }
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    this.byte(rest);
  }

  private byte(byte: number): void {
    if (this.length === this.bytes.length) {
      const larger = new Uint8Array(this.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    this.bytes[this.length++] = byte;
  }

  private number(value: number): void {
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) {
      double.setFloat64(0, value);
      this.byte(FLOAT);
      for (let index = 0; index < 8; index++) this.byte(double.getUint8(index));
    } else if (value >= 0 && value < 0x80) this.byte(0x80 | value);
    else {
      this.byte(value < 0 ? MINUS : PLUS);
      this.varint(Math.abs(value));
    }
  }

  private string(value: string): void {
    const index = this.dictionary.indexOf(value);
    if (index >= 0) {
      this.byte(WORD);
      this.varint(index);
      return;
    }
    this.byte(TEXT);
    this.varint(value.length);
    for (let at = 0; at < value.length; at++) this.varint(value.charCodeAt(at));
  }

  private list(values: readonly unknown[]): void {
    this.byte(LIST);
    this.varint(values.length);
    for (const value of values) this.value(value);
  }

  private object(value: Record<string, unknown>): void {
    let shape = this.dictionary.shapes[0]!;
    for (const name in value) {
      if (shape.names.length === MOST_MEMBERS) return this.map(value);
      shape = this.dictionary.longer(shape, name);
    }
    this.byte(OBJECT);
    this.varint(shape.index);
    for (const name in value) this.value(value[name]);
  }

  private map(value: Record<string, unknown>): void {
    const names = Object.keys(value);
    this.byte(MAP);
    this.varint(names.length);
    for (const name of names) {
      this.string(name);
      this.value(value[name]);
    }
  }
}

/** Reads what was written with a dictionary. */
export class ValueReader {
  private bytes: Uint8Array = new Uint8Array(0);
  private dictionary = new Dictionary();
  at = 0;
  private readonly units: number[] = [];

  from(bytes: Uint8Array, dictionary: Dictionary, at: number): this {
    this.bytes = bytes;
    this.dictionary = dictionary;
    this.at = at;
    return this;
  }

  value(): unknown {
    const tag = this.bytes[this.at++]!;
    if (tag >= 0x80) return tag & 0x7f;
    switch (tag) {
      case NULL:
        return null;
      case TRUE:
        return true;
      case FALSE:
        return false;
      case UNDEFINED:
        return undefined;
      case PLUS:
        return this.varint();
      case MINUS:
        return -this.varint();
      case FLOAT:
        for (let index = 0; index < 8; index++) double.setUint8(index, this.bytes[this.at++]!);
        return double.getFloat64(0);
      case TEXT:
        return this.text();
      case WORD:
        return this.dictionary.words[this.varint()];
      case LIST:
        return this.list();
      case OBJECT:
        return this.object();
      case MAP:
        return this.map();
      default:
        throw new Error(`there is no value that begins with ${tag}`);
    }
  }

  varint(): number {
    let byte = this.bytes[this.at++]!;
    let value = byte & 0x7f;
    for (let scale = 0x80; byte >= 0x80; scale *= 0x80) {
      byte = this.bytes[this.at++]!;
      value += (byte & 0x7f) * scale;
    }
    return value;
  }

  private text(): string {
    const { units } = this;
    let left = this.varint();
    let text = '';
    while (left > 0) {
      units.length = Math.min(left, 4096); // what one call takes
      left -= units.length;
      for (let index = 0; index < units.length; index++) units[index] = this.varint();
      text += String.fromCharCode(...units);
    }
    return text;
  }

  private list(): unknown[] {
    const values: unknown[] = [];
    for (let left = this.varint(); left > 0; left--) values.push(this.value());
    return values;
  }

  private object(): Record<string, unknown> {
    const { names } = this.dictionary.shapes[this.varint()]!;
    const value: Record<string, unknown> = {};
    for (const name of names) give(value, name, this.value());
    return value;
  }

  private map(): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    for (let left = this.varint(); left > 0; left--) {
      const name = this.value() as string;
      give(value, name, this.value());
    }
    return value;
  }
}
