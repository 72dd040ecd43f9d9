import { inspectionOf, overviewOf, type Inspected, type Inspection, type Overview } from '../scene/inspection';
import type { PacketScene } from '../scene/packets';
import { sequenceOf, type Sequence, type SequenceWish } from '../scene/sequence';
import type { Second } from '../scene/series';
import type { Thing } from '../scene/things';
import { znodeScene, type ZnodeScene } from '../scene/znodes';
import type { Playback } from '../trace/playback';
import type { Telling } from './telling';

/** While the clock runs, the inspector's history is looked up so often. */
const INSPECTION_EVERY_MS = 400;
/** While the clock runs, the tree of znodes is made anew so often. */
const EXPLORE_EVERY_MS = 300;
/** While the clock runs, the sequence is made anew so often. */
const SEQUENCE_EVERY_MS = 500;

/** What a closer look is taken at: a trace, and the clock over it. */
export interface Seen {
  telling: Telling;
  playback: Playback;
  packets(): PacketScene;
}

/**
 * The pictures that are made only while somebody looks at them: the inspector's, the tree of znodes, the sequence, the charts' seconds. Who
 * looks says so, and calls the function that is returned when he is done.
 */
export class CloserLook {
  /** What the inspector shows, of the thing that it was asked for last. */
  inspection = $state.raw<Inspection | undefined>(undefined);
  /** Everything that can be inspected, while nothing is. */
  overview = $state.raw<Overview | undefined>(undefined);
  /** The tree of znodes, while somebody looks at it. */
  znodes = $state.raw<ZnodeScene | undefined>(undefined);
  /** The story as lanes and arrows, while somebody looks at it. */
  sequence = $state.raw<Sequence | undefined>(undefined);
  /** The seconds up to the instant shown, while charts ask for them. */
  seconds = $state.raw<readonly Second[]>([]);

  private inspected: Partial<Inspected> | undefined;
  private inspectedN = -1;
  private lastInspection = -Infinity;
  private explored: { open: ReadonlySet<string>; chosen: string | undefined } | undefined;
  private exploredN = -1;
  private lastExplored = -Infinity;
  private wish: SequenceWish | undefined;
  private sequenceN = -1;
  private lastSequence = -Infinity;
  private charted = false;
  private lastSecond = -1;

  /** Whatever was made of the records shown has to be made anew. */
  anew(): void {
    this.lastSecond = -1;
    this.inspectedN = -1;
    this.exploredN = -1;
    this.sequenceN = -1;
  }

  /** The story has changed, and the sequence with it. */
  storyChanged(): void {
    this.sequenceN = -1;
  }

  /** Tells of a thing, or without one of all there is to inspect. */
  inspect(thing: Thing | undefined, everything: boolean): () => void {
    const asked = thing ? { thing, everything } : {};
    this.inspected = asked;
    this.inspectedN = -1;
    return () => {
      if (this.inspected === asked) this.inspected = undefined;
    };
  }

  /** Shows the tree of znodes, with some of them open. */
  explore(open: ReadonlySet<string>, chosen: string | undefined): () => void {
    const asked = { open, chosen };
    this.explored = asked;
    this.exploredN = -1;
    return () => {
      if (this.explored === asked) this.explored = undefined;
    };
  }

  /** Tells the story as a sequence. */
  tellSequence(wish: SequenceWish): () => void {
    this.wish = wish;
    this.sequenceN = -1;
    return () => {
      if (this.wish === wish) this.wish = undefined;
    };
  }

  /** Keeps the series at hand. */
  chart(): () => void {
    this.charted = true;
    this.lastSecond = -1;
    return () => (this.charted = false);
  }

  /** Makes anew what is looked at, as of record n, as often as each of them is worth it. */
  publish(now: number, n: number, seen: Seen): void {
    this.publishInspection(now, n, seen);
    this.publishZnodes(now, n, seen);
    this.publishSeries(seen);
    this.publishSequence(now, n, seen);
  }

  private publishInspection(now: number, n: number, { telling: { store }, packets }: Seen): void {
    const { inspected } = this;
    const fresh = this.inspectedN < 0;
    if (!inspected || (!fresh && (n === this.inspectedN || now - this.lastInspection < INSPECTION_EVERY_MS))) return;
    this.inspectedN = n;
    this.lastInspection = now;
    const { thing, everything = false } = inspected;
    if (thing) this.inspection = inspectionOf({ thing, everything }, store, n);
    else this.overview = overviewOf(store, n, packets().packets);
  }

  private publishZnodes(now: number, n: number, { telling: { store } }: Seen): void {
    const { explored } = this;
    if (!explored || (this.exploredN >= 0 && (n === this.exploredN || now - this.lastExplored < EXPLORE_EVERY_MS))) return;
    this.exploredN = n;
    this.lastExplored = now;
    this.znodes = znodeScene(store.seek(n), explored.open, explored.chosen);
  }

  private publishSeries({ telling: { series }, playback: { time } }: Seen): void {
    const second = Math.floor(time / 1000);
    if (!this.charted || second === this.lastSecond) return;
    this.lastSecond = second;
    this.seconds = series.upTo(time);
  }

  private publishSequence(now: number, n: number, { telling, playback: { mode } }: Seen): void {
    const { wish } = this;
    if (!wish || (this.sequenceN >= 0 && n === this.sequenceN) || (mode !== 'paused' && now - this.lastSequence < SEQUENCE_EVERY_MS)) return;
    this.sequenceN = n;
    this.lastSequence = now;
    this.sequence = sequenceOf(telling.store, telling.told, wish, n);
  }
}
