import type { KafkaLog } from '../trace/types';

/** A segment of a replica's log: [base, end). The active one grows on. */
export interface SegmentBlock {
  base: number;
  end: number;
  active: boolean;
  /** Of the active segment: when it was told last. */
  bytes: number;
}

/** A leader epoch that begins within the strip. */
export interface EpochMark {
  epoch: number;
  start: number;
}

/** What a strip says below itself: an offset at a place. */
export interface RulerLabel {
  offset: number;
  /** start: the log begins here, its older records are gone; base: a segment does; edge: the strip does. */
  what: 'start' | 'base' | 'edge';
}

export interface LogShape {
  /** Rolled segments that end before the strip begins, oldest first. */
  shelf: SegmentBlock[];
  /** Segments that the strip shows, oldest first. */
  segments: SegmentBlock[];
  segmentCount: number;
  epochs: EpochMark[];
  ruler: RulerLabel[];
}

/** Labels below a strip keep this distance, as a share of the strip. */
const LABEL_DISTANCE = 0.2;

export function logShape(log: KafkaLog | undefined, scale: { from: number; to: number }): LogShape {
  if (!log) return { shelf: [], segments: [], segmentCount: 0, epochs: [], ruler: [] };
  const blocks = log.segments.map(({ base, bytes }, index): SegmentBlock => {
    const next = log.segments[index + 1];
    return { base, end: next?.base ?? Math.max(base, log.leo), active: next === undefined, bytes };
  });
  const shelf = blocks.filter(({ end, active }) => !active && end <= scale.from);
  const segments = blocks.slice(shelf.length);
  return {
    shelf,
    segments,
    segmentCount: Math.max(log.segmentCount, blocks.length),
    epochs: log.epochs.filter(({ start }) => start >= scale.from && start <= scale.to && start <= log.leo).map(({ epoch, start }) => ({ epoch, start })),
    ruler: rulerOf(log, segments, scale),
  };
}

/** The labels that have room; where the log starts comes before where a segment does. */
function rulerOf(log: KafkaLog, segments: readonly SegmentBlock[], scale: { from: number; to: number }): RulerLabel[] {
  const within = (offset: number) => offset >= scale.from && offset < scale.to;
  const wanted: RulerLabel[] = [
    ...(log.logStart > 0 && within(log.logStart) ? [{ offset: log.logStart, what: 'start' } as const] : []),
    ...segments.filter(({ base }) => base > 0 && within(base) && base > log.logStart).map(({ base }) => ({ offset: base, what: 'base' }) as const),
    { offset: scale.from, what: 'edge' },
  ];
  const kept: RulerLabel[] = [];
  const room = (scale.to - scale.from) * LABEL_DISTANCE;
  for (const label of wanted) if (kept.every(({ offset }) => Math.abs(offset - label.offset) >= room)) kept.push(label);
  return kept.sort((a, b) => a.offset - b.offset);
}
