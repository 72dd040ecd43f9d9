import { describe, expect, it } from 'vitest';
import { Playback } from './playback';

const span = { from: 1000, to: 9000 };

describe('the clock of the picture', () => {
  it('follows the server a delay behind while live', () => {
    const playback = new Playback(700);
    playback.observe(10_000, 500);
    playback.advance(600, 100, span);
    expect(playback.time).toBe(10_000 + 100 - 700);
  });

  it('shows the newest record while nothing tells the server’s time: the clusters are idle', () => {
    const playback = new Playback(700);
    playback.advance(600, 100, span);
    expect(playback.time).toBe(9000);
  });

  it('believes the frame that was the fastest on its way', () => {
    const playback = new Playback(0);
    playback.observe(10_000, 500);
    playback.observe(10_210, 900); // 190 ms late
    playback.advance(900, 16, span);
    expect(playback.time).toBeCloseTo(10_400, 0);
  });

  /** Frames of 60 a second, each with a record that came so much later than it was made. */
  function frames(playback: Playback, from: number, to: number, late: number): number[] {
    const steps: number[] = [];
    for (let now = from; now < to; now += 16) {
      playback.observe(now - late, now);
      const before = playback.time;
      playback.advance(now, 16, span);
      steps.push(playback.time - before);
    }
    return steps;
  }

  it('falls further behind when frames come late, until what it shows has come, and never goes back', () => {
    const playback = new Playback(700);
    frames(playback, 0, 1000, 0);
    expect(playback.time).toBeCloseTo(992 - 700, 0);
    const slower = frames(playback, 1000, 5000, 1000);
    expect(Math.min(...slower)).toBeGreaterThanOrEqual(8);
    expect(playback.time).toBeCloseTo(5000 - 16 - 700 - 800, -2);
    expect(playback.behind).toBeCloseTo(700 + 800, -2);
    const faster = frames(playback, 5000, 20_000, 0);
    expect(Math.max(...faster)).toBeLessThanOrEqual(20);
    expect(playback.behind).toBeCloseTo(700, 0);
    expect(playback.time).toBeCloseTo(20_000 - 8 - 700, -2);
  });

  it('waits no longer than it can be worth, and jumps when it is live again', () => {
    const playback = new Playback(700);
    frames(playback, 0, 1000, 0);
    frames(playback, 1000, 9000, 60_000);
    expect(playback.behind).toBeCloseTo(700 + 1500, -1);
    playback.moveTo(1500);
    playback.goLive();
    playback.advance(9000, 16, span);
    expect(playback.time).toBeCloseTo(9000 - playback.behind, -2);
  });

  it('stands still when paused, plays on at its speed, and becomes live when it has caught up', () => {
    const playback = new Playback(0);
    playback.observe(9000, 0);
    playback.moveTo(2000);
    playback.advance(100, 100, span);
    expect(playback.time).toBe(2000);
    playback.speed = 0.5;
    playback.play();
    playback.advance(200, 100, span);
    expect(playback.time).toBe(2050);
    playback.speed = 4;
    playback.time = 9100;
    playback.advance(300, 100, span);
    expect(playback.mode).toBe('live');
  });

  it('does not go before the first record', () => {
    const playback = new Playback(0);
    playback.moveTo(0);
    playback.advance(0, 0, span);
    expect(playback.time).toBe(1000);
  });
});

describe('at a record', () => {
  it('stands at it until it is played on, moved or live', () => {
    const playback = new Playback(100);
    playback.moveTo(50, 7);
    expect([playback.mode, playback.at]).toEqual(['paused', 7]);
    playback.play();
    expect(playback.at).toBeUndefined();
    playback.moveTo(50, 8);
    playback.moveTo(60);
    expect(playback.at).toBeUndefined();
    playback.moveTo(50, 8);
    playback.goLive();
    expect(playback.at).toBeUndefined();
  });

  it('of a recorded run stops at its end: there is no present', () => {
    const playback = new Playback(100, true);
    playback.moveTo(900);
    playback.play();
    playback.advance(0, 50, { from: 0, to: 1000 });
    expect(playback.mode).toBe('playing');
    playback.advance(50, 60, { from: 0, to: 1000 });
    expect([playback.mode, playback.time]).toEqual(['paused', 1000]);
  });
});
