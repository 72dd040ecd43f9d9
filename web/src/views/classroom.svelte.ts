import { Anchors } from '../draw/anchors';
import { drawLinks } from '../draw/links';
import { drawPackets, type Palette } from '../draw/packets';
import { readPalette } from '../draw/palette';
import { Invariants, type Light } from '../scene/invariants';
import { noFlow, packetsAt, type Flow, type PacketScene } from '../scene/packets';
import { inspectionOf, overviewOf, type Inspected, type Inspection, type Overview } from '../scene/inspection';
import { sceneOf, type Scene } from '../scene/scene';
import { Series, type Second } from '../scene/series';
import { Story, type Sentence } from '../scene/story';
import type { Thing } from '../scene/things';
import { znodeScene, type ZnodeScene } from '../scene/znodes';
import { Connection, type ConnectionState } from '../trace/connection';
import { LOST_AFTER_MS } from '../trace/flights';
import { Playback, type Mode } from '../trace/playback';
import { TraceStore } from '../trace/store';
import type { Frame, SnapshotFrame } from '../trace/types';
import { recordsBetween } from './api';

/** Milliseconds of wall clock that a message is drawn on its way, at least. */
const FLIGHT_MS = 500;
/** Packets that are drawn at once; the rest is counted. */
const PACKET_LIMIT = 2000;
/** Records before the snapshot that are asked for; a longer run begins at the snapshot. A record is some 300 bytes on the wire. */
const HISTORY_LIMIT = 40_000;
/** Between two pictures of what has a name: it is DOM, and nobody reads faster. */
const SCENE_EVERY_MS = 60;
const STATUS_EVERY_MS = 1000;
/** While the clock runs, the inspector's history is looked up so often. */
const INSPECTION_EVERY_MS = 400;
/** While the clock runs, the tree of znodes is made anew so often. */
const EXPLORE_EVERY_MS = 300;
/** With reduced motion the canvas shows a new step this often. */
const STEP_MS = 500;

/** Where the clock is, for the timeline. */
export interface Clock {
  mode: Mode;
  speed: number;
  time: number;
  n: number;
  from: number;
  to: number;
}

export interface InFlight {
  counts: Record<Flow, number>;
  surplus: number;
}

/**
 * The page's one owner of the trace: it takes frames from the stream, moves the clock, and once a frame draws what moves and publishes
 * what has changed. The trace itself is plain data; only finished pictures become reactive, as raw values.
 */
export class Classroom {
  connection = $state<ConnectionState>('connecting');
  retryAt = $state(0);
  scene = $state.raw<Scene | undefined>(undefined);
  sentences = $state.raw<readonly Sentence[]>([]);
  clock = $state.raw<Clock>({ mode: 'live', speed: 1, time: 0, n: 0, from: 0, to: 0 });
  inFlight = $state.raw<InFlight>({ counts: noFlow(), surplus: 0 });
  hiddenFlows = $state.raw<ReadonlySet<Flow>>(new Set());
  resynchronised = $state(0);
  /** The seconds up to the instant shown, while charts ask for them. */
  seconds = $state.raw<readonly Second[]>([]);
  lights = $state.raw<readonly Light[]>([]);
  /** What the inspector shows, of the thing that it was asked for last. */
  inspection = $state.raw<Inspection | undefined>(undefined);
  /** Everything that can be inspected, while nothing is. */
  overview = $state.raw<Overview | undefined>(undefined);
  /** The tree of znodes, while somebody looks at it. */
  znodes = $state.raw<ZnodeScene | undefined>(undefined);

  /** Frames drawn, how long drawing took, and records taken in, for measurements. */
  readonly frames = { count: 0, spentMS: 0, records: 0 };

  private readonly store = new TraceStore();
  private readonly playback = new Playback(FLIGHT_MS + 200);
  private readonly story = new Story();
  private invariants = new Invariants();
  private series = new Series();
  private charted = false;
  private lastSecond = -1;
  private readonly stream: Connection;
  private readonly anchors = new Anchors();
  private context: CanvasRenderingContext2D | undefined;
  private palette: Palette | undefined;
  private stillness = matchMedia('(prefers-reduced-motion: reduce)');
  private frame = 0;
  private lastFrame = 0;
  private lastScene = -Infinity;
  private sceneEvery = SCENE_EVERY_MS;
  private lastStatus = -Infinity;
  private lastStep = -Infinity;
  private shownN = -1;
  private canvasEmpty = false;
  private storyChanged = false;
  private inspected: Partial<Inspected> | undefined;
  private inspectedN = -1;
  private lastInspection = -Infinity;
  private explored: { open: ReadonlySet<string>; chosen: string | undefined } | undefined;
  private exploredN = -1;
  private lastExplored = -Infinity;

  constructor(url: string) {
    this.stream = new Connection(url, {
      frame: (frame) => this.take(frame),
      state: (state, retryAt) => {
        this.connection = state;
        this.retryAt = retryAt;
      },
    });
  }

  /** Opens the stream and starts the one animation loop; returns what ends both. */
  run(): () => void {
    this.stream.open();
    this.lastFrame = performance.now();
    const tick = (now: number) => {
      this.frame = requestAnimationFrame(tick); // first, so that a fault in one picture is not the last picture
      this.onFrame(now);
    };
    this.frame = requestAnimationFrame(tick);
    return () => {
      cancelAnimationFrame(this.frame);
      this.stream.close();
    };
  }

  /** Gives the canvas that lies over the stage, and the stage whose places messages travel between. */
  attach(canvas: HTMLCanvasElement, stage: HTMLElement): () => void {
    this.context = canvas.getContext('2d') ?? undefined;
    this.palette = readPalette(stage);
    this.canvasEmpty = false;
    const detach = this.anchors.watch(stage, canvas);
    return () => {
      detach();
      this.context = undefined;
    };
  }

  /** The colours of the page have changed. */
  repaint(): void {
    const stage = this.anchors.stage;
    if (stage) this.palette = readPalette(stage);
  }

  retry(): void {
    this.stream.reopen();
  }

  pause(): void {
    this.playback.pause();
  }

  play(): void {
    this.playback.play();
  }

  goLive(): void {
    this.playback.goLive();
  }

  setSpeed(speed: number): void {
    this.playback.speed = speed;
    if (this.playback.mode === 'live' && speed !== 1) this.playback.mode = 'playing';
  }

  moveTo(time: number): void {
    this.playback.moveTo(time);
  }

  /** Moves the clock to a record; false when it is no longer at hand. */
  moveToRecord(n: number): boolean {
    const time = this.store.timeOf(n);
    if (time === undefined) return false;
    this.playback.moveTo(time);
    return true;
  }

  /** Moves the clock by one record. */
  stepRecord(by: 1 | -1): void {
    this.moveToRecord(Math.min(Math.max(this.clock.n + by, this.store.firstN + 1), this.store.lastN));
  }

  /** Moves the clock to the notable event before or after the instant shown. */
  stepEvent(by: 1 | -1): void {
    const { all } = this.story;
    const next = by === 1 ? all.find(({ n }) => n > this.clock.n) : all.findLast(({ n }) => n < this.clock.n);
    if (next) this.moveToRecord(next.n);
  }

  toggleFlow(flow: Flow): void {
    const hidden = new Set(this.hiddenFlows);
    if (!hidden.delete(flow)) hidden.add(flow);
    this.hiddenFlows = hidden;
  }

  /** Keeps telling of a thing, or without one of all there is to inspect, until the returned function is called. */
  inspect(thing: Thing | undefined, everything: boolean): () => void {
    const asked = thing ? { thing, everything } : {};
    this.inspected = asked;
    this.inspectedN = -1;
    return () => {
      if (this.inspected === asked) this.inspected = undefined;
    };
  }

  /** Keeps showing the tree of znodes, with some of them open, until the returned function is called. */
  explore(open: ReadonlySet<string>, chosen: string | undefined): () => void {
    const asked = { open, chosen };
    this.explored = asked;
    this.exploredN = -1;
    return () => {
      if (this.explored === asked) this.explored = undefined;
    };
  }

  /** Keeps the series at hand until the returned function is called. */
  chart(): () => void {
    this.charted = true;
    this.lastSecond = -1;
    return () => (this.charted = false);
  }

  private take(frame: Frame): void {
    if (frame.type === 'snapshot') {
      this.store.reset(frame);
      this.story.begin(frame.state);
      this.invariants = new Invariants();
      this.invariants.begin(frame.state);
      this.series = new Series();
      this.lastSecond = -1;
      this.resynchronised = frame.resynchronised;
      this.shownN = -1;
      this.storyChanged = true;
      if (this.playback.mode !== 'live') this.playback.goLive();
      void this.fetchHistory(frame);
      return;
    }
    const now = performance.now();
    const fresh = this.store.append(frame.records, (record, state) => {
      if (this.story.take(record, state)) this.storyChanged = true;
      this.invariants.take(record, state);
      this.series.take(record, state);
    });
    this.frames.records += fresh.length;
    const newest = fresh.at(-1);
    if (newest) this.playback.observe(newest.time, now);
  }

  /** Asks for what happened before the snapshot, so that the clock can go back to the beginning; without it the window starts here. */
  private async fetchHistory({ n, window }: SnapshotFrame): Promise<void> {
    if (n === 0 || n > HISTORY_LIMIT || window.firstN !== 1) return;
    try {
      const records = await recordsBetween(0, n);
      if (!records || this.store.firstN !== n) return;
      const earlier = new Story();
      if (this.store.prepend(records, (record, state) => earlier.take(record, state))) {
        this.story.prepend(earlier);
        this.checkAnew();
        this.storyChanged = true;
      }
    } catch (error) {
      console.warn('what happened before this page was opened cannot be fetched:', error);
    }
  }

  /** The invariants and the series begin where the records begin: when earlier ones came, all are taken anew in their order. */
  private checkAnew(): void {
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
    this.lastSecond = -1;
  }

  private onFrame(now: number): void {
    const elapsed = Math.min(now - this.lastFrame, 250);
    this.lastFrame = now;
    if (!this.store.ready) return;
    const before = performance.now();
    this.playback.advance(now, elapsed, this.store.span);
    const n = this.store.span ? this.store.nAt(this.playback.time) : this.store.lastN;
    const flying = this.draw(now);
    this.publish(now, n, flying);
    this.frames.count++;
    this.frames.spentMS += performance.now() - before;
  }

  private draw(now: number): PacketScene | undefined {
    const { context, palette } = this;
    if (!context || !palette) return undefined;
    const still = this.stillness.matches;
    if (still && now - this.lastStep < STEP_MS) return undefined;
    this.lastStep = now;
    const scene = this.packetsNow();
    const links = this.scene?.links ?? [];
    const empty = scene.packets.length === 0 && links.length === 0;
    if (empty && this.canvasEmpty) return scene; // calm: nothing moves, nothing is drawn
    this.canvasEmpty = empty;
    this.anchors.measure(now);
    drawPackets(context, scene.packets, this.anchors, palette, { still, ratio: this.anchors.ratio, keeps: this.anchors.keeps });
    drawLinks(context, links, this.anchors, palette);
    return scene;
  }

  /** A large classroom is told less often, so that making scenes takes a tenth of the time at most. */
  private publishScene(n: number): void {
    this.shownN = n;
    const before = performance.now();
    this.scene = sceneOf(this.store.seek(n));
    this.lights = this.invariants.at(n);
    this.sceneEvery = Math.min(1000, Math.max(SCENE_EVERY_MS, (performance.now() - before) * 10));
    this.anchors.touch();
  }

  private publishInspection(now: number, n: number): void {
    const { inspected } = this;
    const fresh = this.inspectedN < 0;
    if (!inspected || (!fresh && (n === this.inspectedN || now - this.lastInspection < INSPECTION_EVERY_MS))) return;
    this.inspectedN = n;
    this.lastInspection = now;
    const { thing, everything = false } = inspected;
    if (thing) this.inspection = inspectionOf({ thing, everything }, this.store, n);
    else this.overview = overviewOf(this.store, n, this.packetsNow().packets);
  }

  private publishZnodes(now: number, n: number): void {
    const { explored } = this;
    if (!explored || (this.exploredN >= 0 && (n === this.exploredN || now - this.lastExplored < EXPLORE_EVERY_MS))) return;
    this.exploredN = n;
    this.lastExplored = now;
    this.znodes = znodeScene(this.store.seek(n), explored.open, explored.chosen);
  }

  private publishSeries(): void {
    const second = Math.floor(this.playback.time / 1000);
    if (!this.charted || second === this.lastSecond) return;
    this.lastSecond = second;
    this.seconds = this.series.upTo(this.playback.time);
  }

  private packetsNow(): PacketScene {
    const { time, speed } = this.playback;
    const minFlight = FLIGHT_MS * speed;
    const flights = this.store.flights.between(time - LOST_AFTER_MS, time + minFlight);
    return packetsAt(flights, time, { minFlight, limit: PACKET_LIMIT, hidden: this.hiddenFlows });
  }

  private publish(now: number, n: number, flying: PacketScene | undefined): void {
    if (now - this.lastScene >= this.sceneEvery) {
      this.lastScene = now;
      if (n !== this.shownN) this.publishScene(n);
      const { mode, speed, time } = this.playback;
      const span = this.store.span ?? { from: time, to: time };
      const to = mode === 'live' ? Math.max(span.to, time) : Math.max(span.to, (this.playback.serverTime(now) ?? span.to) - this.playback.delay);
      this.publishInspection(now, n);
      this.publishZnodes(now, n);
      this.publishSeries();
      this.clock = { mode, speed, time, n, from: span.from, to };
    }
    if (this.storyChanged) {
      this.storyChanged = false;
      this.sentences = [...this.story.all];
    }
    if (flying && now - this.lastStatus >= STATUS_EVERY_MS) {
      this.lastStatus = now;
      this.inFlight = { counts: flying.counts, surplus: flying.surplus };
    }
  }
}
