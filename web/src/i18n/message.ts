import type { en } from './en';

export type Key = keyof typeof en;

/** A message with forms by number: the parameter "count" picks one. Chinese needs "other" only. For a number of another name see PARAMETER. */
export interface Forms {
  one?: string;
  other: string;
}

/** What a translation of a part of the catalogue must have: the same keys. */
export type Translation<Part> = Record<keyof Part, string | Forms>;

export type Catalogue = Record<Key, string | Forms>;

/** A sentence to be told in whatever language the reader has chosen: a key and its parameters, never text. */
export interface Text {
  key: Key;
  params?: Params;
}

export type Param = string | number | Text | readonly string[];
export type Params = Readonly<Record<string, Param>>;

export type Language = 'en' | 'zh';

export const LANGUAGES: readonly { id: Language; name: string; locale: string }[] = [
  { id: 'en', name: 'English', locale: 'en' },
  { id: 'zh', name: '中文', locale: 'zh-Hans' },
];

/** {name}, or {name|one|other}: the word that goes with the number of that name. */
const PARAMETER = /\{(\w+)(?:\|([^|{}]*)\|([^|{}]*))?\}/g;

/** Puts the parameters into a message. Numbers, lists and plural forms follow the language. */
export function format(catalogue: Catalogue, language: Language, key: Key, params: Params = {}): string {
  const message = catalogue[key];
  const pattern = typeof message === 'string' ? message : plural(language, params.count, message.one ?? message.other, message.other);
  let words = false; // a parameter is a text itself
  const text = pattern.replace(PARAMETER, (whole, name: string, one: string | undefined, other = '') => {
    const value = params[name];
    if (one !== undefined) return plural(language, value, one, other);
    words ||= typeof value === 'object' && 'key' in value;
    return value === undefined ? whole : formatParam(catalogue, language, value);
  });
  // The space that sets a name off from Chinese words is none between Chinese words.
  return words && language === 'zh' ? text.replace(/(?<=\p{Script=Han}) (?=\p{Script=Han})/gu, '') : text;
}

/** The form that a number asks for: the only place where that is decided. A number that is rounded when it is written is rounded here as well. */
function plural(language: Language, count: Param | undefined, one: string, other: string): string {
  let rules = plurals.get(language);
  if (!rules) plurals.set(language, (rules = new Intl.PluralRules(language, { maximumFractionDigits: 2 })));
  return rules.select(typeof count === 'number' ? count : 0) === 'one' ? one : other;
}

const plurals = new Map<Language, Intl.PluralRules>();

function formatParam(catalogue: Catalogue, language: Language, value: Param): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatNumber(language, value);
  if ('key' in value) return format(catalogue, language, value.key, value.params);
  const list = new Intl.ListFormat(language, { type: 'conjunction' }).format(value);
  // Between Latin names the word has a space on either side, as in all Chinese texts of the page.
  return language === 'zh' ? list.replace(/(?<=[\x21-\x7e])和(?=[\x21-\x7e])/g, ' 和 ') : list;
}

const numbers = new Map<Language, Intl.NumberFormat>();

export function formatNumber(language: Language, value: number): string {
  let formatter = numbers.get(language);
  if (!formatter) numbers.set(language, (formatter = new Intl.NumberFormat(language, { maximumFractionDigits: 2 })));
  return formatter.format(value);
}

/** A time of day with milliseconds: events of one second are many. */
export function formatTime(language: Language, time: number): string {
  let formatter = times.get(language);
  if (!formatter) {
    const options = { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hourCycle: 'h23' } as const;
    times.set(language, (formatter = new Intl.DateTimeFormat(language, options)));
  }
  return formatter.format(time);
}

const times = new Map<Language, Intl.DateTimeFormat>();
