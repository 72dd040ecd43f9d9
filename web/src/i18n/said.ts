import type { Sentence } from '../trace/events.gen';
import { en } from './en';
import type { Key, Param, Text } from './message';

/** What the server said, to be told in the reader's language. What this page has no words for is quoted as it came. */
export function saidText(said: Sentence | null | undefined, quoted: string): Text {
  return (said && translatable(said)) ?? { key: 'problem.quoted', params: { quoted } };
}

/** Undefined when the page does not know the sentence, or one within it: the server may be a newer one. */
function translatable({ key, params }: Sentence): Text | undefined {
  const known = `said.${key}` as Key;
  if (!Object.hasOwn(en, known)) return undefined;
  const translated: Record<string, Param> = {};
  for (const [name, value] of Object.entries(params ?? {})) {
    const param = isSentence(value) ? translatable(value) : (value as Param);
    if (param === undefined) return undefined;
    translated[name] = param;
  }
  return { key: known, params: translated };
}

function isSentence(value: unknown): value is Sentence {
  return typeof value === 'object' && value !== null && 'key' in value;
}
