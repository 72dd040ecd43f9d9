import type { View } from './tool';

/** What a link of the page asks for: a note, a lab, a view, or a piece of the engines' code. */
export interface Reading {
  note?: string;
  lab?: string;
  view?: View;
  source?: string;
  symbol?: string;
}

const VIEWS: readonly View[] = ['picture', 'table', 'charts', 'story'];
const NAME = /^\d\d-[a-z0-9-]+$/;

/** Reads ?note=, ?lab=, ?view= and ?source= with &symbol=; undefined when there is none of them, or what is there names nothing. */
export function readingOf(query: URLSearchParams): Reading | undefined {
  const [note, lab, source] = [query.get('note'), query.get('lab'), query.get('source')];
  const view = VIEWS.find((one) => one === query.get('view'));
  if (note && NAME.test(note)) return { note };
  if (lab && NAME.test(lab)) return { lab };
  if (source?.startsWith('engine/')) return { source, ...(query.get('symbol') && { symbol: query.get('symbol')! }) };
  return view && { view };
}
