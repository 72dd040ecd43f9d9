import type { Moment, Sentence } from './story';

/** A mark on the timeline: one notable moment, or several that would lie over each other. */
export interface Mark {
  /** Percent of the track. */
  left: number;
  /** The one that tells for all: the gravest, of equals the first. */
  sentence: Sentence;
  /** How many more are there. */
  more: number;
}

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
