import { tick as settled } from 'svelte';
import type { Light } from '../scene/invariants';
import { concernedBy, NOTHING_CONCERNED, type Concerned } from '../scene/concerned';
import { noFlow, PacketPool, packetsAt, type Flow, type PacketScene } from '../scene/packets';
import { paceOf } from '../scene/pace';
import { keepUnchanged } from '../scene/unchanged';
import { sceneOf, type Scene } from '../scene/scene';
import { recordText } from '../scene/records';
import type { Sentence } from '../scene/story';
import { Connection, type ConnectionState } from '../trace/connection';
import { Playback, type Mode } from '../trace/playback';
import { parseTime } from '../trace/decode';
import type { Frame, SnapshotFrame, WireRecord } from '../trace/types';
import { recordsBetween } from './api';
import { CatchUp } from './catch-up';
import { CloserLook } from './closer.svelte';
import { History } from './history.svelte';
import { MovingPicture } from './moving-picture';
import { Telling } from './telling';

/** Milliseconds of wall clock that a message is drawn on its way, at least. */
const FLIGHT_MS = 500;
/** Packets that are drawn at once; the rest is counted. */
const PACKET_LIMIT = 2000;
const STATUS_EVERY_MS = 1000;

/** Where the clock is, for the timeline. */
export interface Clock {
  mode: Mode;
  speed: number;
  time: number;
  n: number;
  /** The records at hand begin behind this one. */
  firstN: number;
  from: number;
  to: number;
}

/** A recorded run, or the part of it that is at hand. */
export interface ShownRun {
  name: string;
  /** It is the run that is going on. */
  present: boolean;
  title: string;
  startedAt: string;
  /** All that the run holds. */
  firstN: number;
  lastN: number;
  /** What of it is shown: records after one and up to another. */
  from: number;
  to: number;
}

/** A record that need not be notable. */
export type Standing = Pick<Sentence, 'n' | 'time' | 'text'>;

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
  /** What is told of the run before that; of the oldest of it, how much is not. */
  earlier = $state.raw<Telling['earlier']>({ sentences: [], dropped: 0 });
  clock = $state.raw<Clock>({ mode: 'live', speed: 1, time: 0, n: 0, firstN: 0, from: 0, to: 0 });
  inFlight = $state.raw<InFlight>({ counts: noFlow(), surplus: 0 });
  hiddenFlows = $state.raw<ReadonlySet<Flow>>(new Set());
  resynchronised = $state(0);
  lights = $state.raw<readonly Light[]>([]);
  /** What the record that the clock was put at led from and to; for the buttons that go there. */
  causes = $state.raw<{ cause: number | undefined; effect: number | undefined }>({ cause: undefined, effect: undefined });
  /** The record that the clock was put at, as a sentence, while it stands there. */
  standing = $state.raw<Standing | undefined>(undefined);
  /** The recorded run that is shown instead of the present. */
  recorded = $state.raw<ShownRun | undefined>(undefined);
  /** What the record is about that was picked last, while the clock stands there. */
  concerned = $state.raw<Concerned>(NOTHING_CONCERNED);

  /** What is made only while somebody looks at it. */
  readonly closer = new CloserLook();
  /** Frames drawn, how long drawing took, and records taken in, for measurements. */
  readonly frames = { count: 0, spentMS: 0, records: 0 };

  private readonly live = new Telling();
  private readonly catchUp = new CatchUp(this.live, recordsBetween, (whole, frame) => this.caughtUp(whole, frame));
  /** What happened before this page was opened. */
  readonly history = new History(this.live, () => this.historyGrown());
  private readonly livePlayback = new Playback(FLIGHT_MS + 200);
  /** What is shown: the live trace, or a recorded run with a clock of its own. */
  private shown = this.live;
  private playback = this.livePlayback;
  private readonly stream: Connection;
  private readonly moving = new MovingPicture();
  private readonly packets = new PacketPool();
  private frame = 0;
  private lastFrame = 0;
  private lastScene = -Infinity;
  private sceneEvery = 0;
  private lastStatus = -Infinity;
  private shownN = -1;
  private causesN = -1;

  private get store() {
    return this.shown.store;
  }

  constructor(url: string) {
    this.stream = new Connection(url, {
      frame: (frame) => this.take(frame),
      state: (state, retryAt) => {
        this.connection = state;
        this.retryAt = retryAt;
      },
    });
  }

  /** Shows a recorded run, its clock at a record; the cluster and its stream go on. */
  showRun(run: ShownRun, telling: Telling, n: number): void {
    this.recorded = run;
    if (run.present) telling.earlier = this.live.toldUpTo(telling.store.firstN);
    this.show(telling, new Playback(FLIGHT_MS + 200, true));
    const { firstN, lastN } = telling.store;
    this.moveToRecord(Math.min(Math.max(n, firstN + 1), lastN));
  }

  private show(telling: Telling, playback: Playback): void {
    this.shown = telling;
    this.playback = playback;
    telling.changed = true;
    this.anew();
  }

  private historyGrown(): void {
    if (this.recorded?.present) this.shown.earlier = this.live.toldUpTo(this.shown.store.firstN);
    this.shown.changed = true;
    if (this.shown === this.live) this.anew();
  }

  /** Whatever was made of the records shown has to be made anew. */
  private anew(): void {
    this.shownN = -1;
    this.causesN = -1;
    this.closer.anew();
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
    return this.moving.attach(canvas, stage);
  }

  /** The colours of the page have changed. */
  repaint(): void {
    this.moving.repaint();
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
    if (this.recorded) {
      this.recorded = undefined;
      this.show(this.live, this.livePlayback);
    }
    this.playback.goLive();
  }

  setSpeed(speed: number): void {
    this.playback.speed = speed;
    if (this.playback.mode === 'live' && speed !== 1) this.playback.mode = 'playing'; // the present has one speed only
  }

  moveTo(time: number): void {
    this.playback.moveTo(time);
  }

  /** Shows what came of a span of the present run's time: the last thing that the clusters did in it, or else its end. */
  showSpan(from: number, to: number): void {
    if (this.recorded) this.goLive();
    // What begins at its end is another thing; within a millisecond there is no end.
    const told = this.shown.story.all.filter(({ time }) => time >= from && time < Math.max(to, from + 1));
    const last = told.findLast(({ moment }) => moment !== 'client') ?? told.at(-1);
    if (!last || !this.moveToRecord(last.n)) this.moveTo(Math.max(from, to - 1));
  }

  /** Plays what has happened since a time of the present run. */
  playFrom(time: number, speed: number): void {
    if (this.recorded) this.goLive();
    this.moveTo(time);
    this.setSpeed(speed);
    this.play();
  }

  /** Moves the clock to a record; false when it is no longer at hand. */
  moveToRecord(n: number): boolean {
    const time = this.store.timeOf(n);
    if (time === undefined) return false;
    this.playback.moveTo(time, n);
    return true;
  }

  /** Moves the clock to the record that led to the one shown, or to the first that it led to. */
  stepCause(by: 1 | -1): void {
    const record = this.store.record(this.clock.n);
    const next = record && (by === -1 ? this.store.causeOf(record) : this.store.firstEffectOf(record));
    if (next) this.moveToRecord(next.n);
  }

  /** Moves the clock to a record of the present run as soon as it is at hand; false when it will not be. */
  async reach(n: number): Promise<boolean> {
    const deadline = performance.now() + 5000;
    while (!this.moveToRecord(n)) {
      const { store } = this.live;
      const fetching = this.history.state === 'fetching';
      if ((!fetching && performance.now() > deadline) || (store.ready && n > store.lastN + 50_000)) return false;
      if (this.history.state === 'fetched' && n <= store.firstN) return false;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return true;
  }

  /** Moves the clock by one record. */
  stepRecord(by: 1 | -1): void {
    this.moveToRecord(Math.min(Math.max(this.clock.n + by, this.store.firstN + 1), this.store.lastN));
  }

  /** Moves the clock to the notable event before or after the instant shown. */
  stepEvent(by: 1 | -1): void {
    const { all } = this.shown.story;
    const next = by === 1 ? all.find(({ n }) => n > this.clock.n) : all.findLast(({ n }) => n < this.clock.n);
    if (next) this.moveToRecord(next.n);
  }

  toggleFlow(flow: Flow): void {
    const hidden = new Set(this.hiddenFlows);
    if (!hidden.delete(flow)) hidden.add(flow);
    this.hiddenFlows = hidden;
  }

  private take(frame: Frame): void {
    if (frame.type === 'snapshot') {
      this.resynchronised = frame.resynchronised;
      if (this.catchUp.begin(frame)) return;
      this.live.begin(frame);
      this.begunAnew(frame);
      return;
    }
    const now = performance.now();
    if (this.catchUp.busy) this.catchUp.hold(this.counted(frame.records, now));
    else this.live.append(this.counted(frame.records, now));
  }

  /** Hands records on, one by one; the newest of them tells the server's time. */
  private *counted(records: Iterable<WireRecord>, now: number): Generator<WireRecord, void, void> {
    let at: string | undefined;
    for (const record of records) {
      this.frames.records++;
      at = record.at;
      yield record;
    }
    if (at !== undefined) this.livePlayback.observe(parseTime(at), now);
  }

  /** What the stream left out, because this page slept or was too slow, is at hand again; or it is not, and the trace began anew. */
  private caughtUp(whole: boolean, frame: SnapshotFrame): void {
    if (!whole) this.begunAnew(frame);
    else this.causesN = -1;
  }

  private begunAnew(frame: SnapshotFrame): void {
    this.livePlayback.goLive();
    if (this.shown === this.live) this.anew();
    void this.history.fetch(frame);
  }

  private onFrame(now: number): void {
    const elapsed = Math.min(now - this.lastFrame, 250);
    this.lastFrame = now;
    if (!this.store.ready) return;
    const before = performance.now();
    this.playback.advance(now, elapsed, this.store.span);
    const n = this.playback.at ?? (this.store.span ? this.store.nAt(this.playback.time) : this.store.lastN);
    const flying = this.moving.draw(now, () => this.packetsNow(), this.scene?.links ?? []);
    this.publish(now, n, flying);
    this.frames.count++;
    this.frames.spentMS += performance.now() - before;
  }

  private publishScene(n: number, elapsedMS: number): void {
    const records = this.shownN < 0 || this.playback.mode === 'paused' ? 0 : n - this.shownN; // a clock that is put somewhere passes none
    this.shownN = n;
    const before = performance.now();
    this.scene = keepUnchanged(this.scene, sceneOf(this.store.seek(n)));
    this.lights = keepUnchanged(this.lights, this.shown.invariants.at(n));
    this.moving.touch();
    this.sceneEvery = paceOf({ records, elapsedMS, tookMS: 0 });
    // Svelte puts it into the document right after this frame's script.
    void settled().then(() => (this.sceneEvery = paceOf({ records, elapsedMS, tookMS: performance.now() - before })));
  }

  /** Only where the clock stands: nobody can press a button that changes with every frame. */
  private publishCauses(n: number): void {
    if (this.playback.mode !== 'paused') {
      if (this.concerned !== NOTHING_CONCERNED) this.concerned = NOTHING_CONCERNED;
      this.standing = undefined;
      this.causesN = -1;
    }
    if (this.playback.mode !== 'paused' || n === this.causesN) return;
    this.causesN = n;
    const record = this.store.record(n);
    this.concerned = record && this.playback.at === n ? concernedBy(record, this.store.seek(n)) : NOTHING_CONCERNED;
    this.standing = record && this.playback.at === n ? { n, time: this.store.timeOf(n) ?? record.time, text: recordText(record, this.store.seek(n)) } : undefined;
    this.causes = { cause: record && this.store.causeOf(record)?.n, effect: record && this.store.firstEffectOf(record)?.n };
  }

  private packetsNow(): PacketScene {
    const { time, speed } = this.playback;
    const minFlight = FLIGHT_MS * speed;
    return packetsAt(this.store.flights.around(time, minFlight), time, { minFlight, limit: PACKET_LIMIT, hidden: this.hiddenFlows }, this.packets);
  }

  private publish(now: number, n: number, flying: PacketScene | undefined): void {
    if (now - this.lastScene >= this.sceneEvery) {
      const elapsedMS = Math.min(now - this.lastScene, 1000);
      this.lastScene = now;
      if (n !== this.shownN) this.publishScene(n, elapsedMS);
      this.publishStory();
      const { mode, speed, time } = this.playback;
      const span = this.store.span ?? { from: time, to: time };
      const to = this.recorded ? span.to : mode === 'live' ? Math.max(span.to, time) : Math.max(span.to, (this.playback.serverTime(now) ?? span.to) - this.playback.behind);
      this.closer.publish(now, n, { telling: this.shown, playback: this.playback, packets: () => this.packetsNow() });
      this.publishCauses(n);
      this.clock = { mode, speed, time, n, firstN: this.store.firstN, from: span.from, to };
    }
    if (flying && now - this.lastStatus >= STATUS_EVERY_MS) {
      this.lastStatus = now;
      this.inFlight = { counts: flying.counts, surplus: flying.surplus };
    }
  }

  private publishStory(): void {
    if (!this.shown.changed) return;
    this.shown.changed = false;
    this.sentences = [...this.shown.story.all];
    this.earlier = this.shown.earlier;
    this.closer.storyChanged();
  }
}
