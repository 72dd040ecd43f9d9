import { describe, expect, it } from 'vitest';
import { Playback } from './playback';

const span = { from: 1000, to: 9000 };

describe('the clock of the picture', () => {
  it('follows the server a fixed delay behind while live', () => {
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
    playback.observe(10_010, 900); // 390 ms late
    playback.advance(900, 16, span);
    expect(playback.time).toBeCloseTo(10_400, 0);
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
