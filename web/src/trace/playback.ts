export type Mode = 'live' | 'paused' | 'playing';

/** Speeds of replay; live is always 1. */
export const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 4] as const;

/** Frames that come so much later than the fastest one find the delay long enough. */
const USUALLY_LATE_MS = 200;
/** The clock waits so much longer for late frames, and no more. */
const MOST_LATE_MS = 1500;
/** What is left of it with each frame that comes in time. */
const LATENESS_KEPT = 0.99;
/** Live, the clock makes up for what it is off at these parts of its speed; from further away it jumps. */
const SLOWEST = 0.5;
const FASTEST = 1.25;
const JUMP_MS = 2000;

/**
 * The page's own clock over recorded time. Live, it follows the server's time a delay behind, so that a message that takes
 * microseconds can be drawn on its way and still arrive at the instant at which it was received. On a machine that is too busy frames come
 * late: then the clock falls further behind, without going back, since otherwise every message would look lost until its receipt comes. Paused or playing, it is where the
 * viewer put it; the cluster runs on either way.
 */
export class Playback {
  mode: Mode = 'live';
  speed = 1;
  time = 0;
  /** The record that the clock was put at. Many records can share one instant; between them only their order tells. */
  at: number | undefined;
  /** The server's time minus performance.now(), from the frame that was the fastest on its way. */
  private offset: number | undefined;
  /** Milliseconds beyond what is usual that frames came late. */
  private late = 0;
  /** Live, and not just put there. */
  private following = false;

  /** A recorded run has no present: its playback stops at its end. */
  constructor(
    readonly delay = 700,
    readonly recorded = false,
  ) {
    if (recorded) this.mode = 'paused';
  }

  /** Learns the server's time from a record that has just arrived. Clocks drift: an old estimate gives way slowly. */
  observe(recordTime: number, now: number): void {
    const sample = recordTime - now;
    this.offset = this.offset === undefined ? sample : Math.max(sample, this.offset - 0.02);
    this.late = Math.max(0, Math.min(MOST_LATE_MS, this.offset - sample - USUALLY_LATE_MS), this.late * LATENESS_KEPT);
  }

  /** How far the clock is behind the server's time while live. */
  get behind(): number {
    return this.delay + this.late;
  }

  serverTime(now: number): number | undefined {
    return this.offset === undefined ? undefined : now + this.offset;
  }

  /** Moves the clock to the frame at now, elapsed milliseconds after the last one. */
  advance(now: number, elapsed: number, span: { from: number; to: number } | undefined): void {
    const live = this.serverTime(now);
    if (this.mode === 'live') {
      if (live !== undefined) this.follow(live - this.behind, elapsed);
      else if (span) this.time = span.to; // nothing has arrived yet that tells the server's time: the newest that is known
      return;
    }
    if (!span) return;
    if (this.mode === 'playing') {
      this.time += elapsed * this.speed;
      if (live !== undefined && this.time >= live - this.behind) this.mode = 'live';
      if (this.recorded && this.time >= span.to) this.moveTo(span.to);
    }
    this.time = Math.max(this.time, span.from);
  }

  private follow(target: number, elapsed: number): void {
    const off = target - this.time;
    if (!this.following || Math.abs(off) > JUMP_MS) this.time = target;
    else this.time += Math.min(Math.max(off, elapsed * SLOWEST), elapsed * FASTEST);
    this.following = true;
  }

  pause(): void {
    this.mode = 'paused';
    this.following = false;
  }

  play(): void {
    if (this.mode === 'paused') this.mode = 'playing';
    this.at = undefined;
  }

  goLive(): void {
    this.mode = 'live';
    this.following = false;
    this.speed = 1;
    this.at = undefined;
  }

  /** Puts the clock at an instant, or at a record that is shown at it, and stops it there. */
  moveTo(time: number, record?: number): void {
    this.pause();
    this.time = time;
    this.at = record;
  }
}
