import { Dictionary, ValueReader, ValueWriter } from './codec';
import type { State } from './types';

const writer = new ValueWriter();
const reader = new ValueReader();

/** A state as bytes: a fifth of what it is as objects, and nothing that a collector of garbage has to look at. */
export class KeptState {
  private bytes: Uint8Array<ArrayBuffer>;
  private readonly dictionary: Dictionary;

  constructor(state: State) {
    if (writer.dictionary.full) writer.dictionary = new Dictionary();
    writer.length = 0;
    writer.value(state);
    this.bytes = writer.bytes.slice(0, writer.length);
    this.dictionary = writer.dictionary;
  }

  /** A copy that is the caller's own. */
  copy(): State {
    return reader.from(this.bytes, this.dictionary, 0).value() as State;
  }

  /** Lets go of the bytes at once, where the browser can. */
  drop(): void {
    const buffer: ArrayBuffer & { transfer?(bytes: number): ArrayBuffer } = this.bytes.buffer;
    this.bytes = new Uint8Array(0);
    buffer.transfer?.(0);
  }
}
