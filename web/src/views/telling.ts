import { earlierSentences } from '../scene/earlier';
import { Invariants } from '../scene/invariants';
import { Series } from '../scene/series';
import { Story, type Sentence } from '../scene/story';
import { TraceStore, type StoreLimits } from '../trace/store';
import type { WireNotableRecords } from '../trace/events.gen';
import type { Records, SnapshotFrame, State } from '../trace/types';

/** What is told without its records, and how many older sentences nobody keeps. */
interface Earlier {
  sentences: readonly Sentence[];
  dropped: number;
}

const NOTHING_EARLIER: Earlier = { sentences: [], dropped: 0 };

/** A trace with all that is folded from its records: the live one, or a recorded run. */
export class Telling {
  readonly store: TraceStore;
  readonly story = new Story();
  invariants = new Invariants();
  series = new Series();
  private before = NOTHING_EARLIER;
  /** The story tells of the records after this one. */
  toldFrom = 0;
  /** The story has changed since somebody last looked. */
  changed = true;

  constructor(limits?: StoreLimits) {
    this.store = new TraceStore(limits);
  }

  /** Begins anew from a snapshot. */
  begin(frame: SnapshotFrame): void {
    this.store.reset(frame);
    this.story.begin(frame.state);
    this.invariants = new Invariants();
    this.invariants.begin(frame.state);
    this.series = new Series();
    this.before = NOTHING_EARLIER;
    this.toldFrom = frame.n;
    this.changed = true;
  }

  /** Takes the notable records of the run that are before the story's own. */
  tellEarlier({ records, dropped }: WireNotableRecords): void {
    this.earlier = { sentences: earlierSentences(records.filter(({ record }) => record.n <= this.toldFrom)), dropped };
    this.changed = true;
  }

  set earlier(earlier: Earlier) {
    this.before = earlier;
  }

  /** What is told of the run before the story's own beginning. Once the story has lost some of its own it is nothing: a list has no gap. */
  get earlier(): Earlier {
    const { sentences, dropped } = this.before;
    return this.story.dropped === 0 ? this.before : { sentences: [], dropped: dropped + sentences.length + this.story.dropped };
  }

  /** All that is told, oldest first. */
  get told(): Sentence[] {
    return [...this.earlier.sentences, ...this.story.all];
  }

  /** What is told of the run up to a record, for a part of it that begins there. */
  toldUpTo(n: number): Earlier {
    return { sentences: this.told.filter((sentence) => sentence.n <= n), dropped: this.earlier.dropped };
  }

  /** Takes records in order; returns how many were new. */
  append(records: Records): number {
    return this.store.append(records, (record, state) => {
      if (this.story.take(record, state)) this.changed = true;
      this.invariants.take(record, state);
      this.series.take(record, state);
    });
  }

  /** Puts the run's earlier records in front; false when they do not fit. What is folded begins where the records begin, so it is folded anew. */
  prepend(records: Records & { readonly length: number }, base?: { n: number; state: State }): boolean {
    const earlier = new Story();
    if (base) earlier.begin(base.state);
    if (!this.store.prepend(records, (record, state) => earlier.take(record, state), base)) return false;
    this.story.prepend(earlier);
    this.toldFrom = this.store.firstN;
    const invariants = new Invariants();
    const series = new Series();
    this.store.replay(
      (state) => invariants.begin(state),
      (record, state) => {
        invariants.take(record, state);
        series.take(record, state);
      },
    );
    this.invariants = invariants;
    this.series = series;
    this.changed = true;
    return true;
  }
}
