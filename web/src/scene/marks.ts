import type { Moment, Sentence } from './story';

/** A mark on the timeline: one notable moment, or several that would lie over each other. */
export interface Mark {
  /** Percent of the track. */
  left: number;
  /** The one that tells for all: the gravest, of equals the first. */
  sentence: Sentence;
  /** How many more are there. */
  more: number;
  /** It is of the run before the part at hand: the clock cannot go there without more ado. */
  apart?: boolean;
}

/** Percent of the track that what was before the part at hand gets, however long that was. */
export const BEFORE = 20;

const RANK: Record<Moment, number> = { fault: 0, election: 1, ledger: 2, ownership: 3, partition: 4, client: 5, node: 6 };

/** The marks of a span of time, for a track that has room for so many side by side; two marks are never nearer than that. */
export function marksOf(sentences: readonly Sentence[], from: number, to: number, room: number): Mark[] {
  const length = Math.max(1, to - from);
  const places = Math.max(1, Math.floor(room));
  const groups = new Map<number, Mark>();
  for (const sentence of sentences) {
    if (sentence.time < from || sentence.time > to) continue;
    const place = Math.min(places - 1, Math.floor(((sentence.time - from) / length) * places));
    const there = groups.get(place);
    if (!there) groups.set(place, { left: ((place + 0.5) / places) * 100, sentence, more: 0 });
    else {
      there.more++;
      if (RANK[sentence.moment] < RANK[there.sentence.moment]) there.sentence = sentence;
    }
  }
  return [...groups].sort(([a], [b]) => a - b).map(([, mark]) => mark);
}

/**
 * The marks of a run of which a part is at hand, the records after firstN. What was before it stands in a stretch of its own at the left,
 * closer together, so that the part keeps most of the track.
 */
export function marksInParts(sentences: readonly Sentence[], firstN: number, from: number, to: number, room: number): Mark[] {
  const begin = sentences.findIndex(({ n }) => n > firstN);
  const before = begin < 0 ? sentences : sentences.slice(0, begin);
  const [oldest] = before;
  if (!oldest) return marksOf(sentences, from, to, room);
  const end = Math.max(from, before.at(-1)!.time);
  const share = BEFORE / 100;
  return [
    ...marksOf(before, oldest.time, end, room * share).map((mark) => ({ ...mark, left: mark.left * share, apart: true })),
    ...marksOf(begin < 0 ? [] : sentences.slice(begin), from, to, room * (1 - share)).map((mark) => ({ ...mark, left: BEFORE + mark.left * (1 - share) })),
  ];
}
