import { en } from './en';
import { format, formatNumber, formatTime, LANGUAGES, type Catalogue, type Key, type Language, type Params, type Text } from './message';
import { zh } from './zh';

const catalogues: Record<Language, Catalogue> = { en, zh };

let current = $state<Language>('en');

/** The language that the page speaks now. Everything that reads it is told anew when it changes. */
export function language(): Language {
  return current;
}

export function setLanguage(to: Language): void {
  current = to;
  document.documentElement.lang = LANGUAGES.find(({ id }) => id === to)!.locale;
  try {
    localStorage.setItem('twinlog.language', to);
  } catch {
    // A browser that stores nothing asks again next time.
  }
}

/** The language of the last visit, else of the address (?lang=zh), else the browser's. */
export function chooseLanguage(): void {
  const asked = new URLSearchParams(location.search).get('lang');
  let stored: string | null = null;
  try {
    stored = localStorage.getItem('twinlog.language');
  } catch {
    // As above.
  }
  const wish = asked ?? stored ?? navigator.language;
  setLanguage(wish.startsWith('zh') ? 'zh' : 'en');
}

export function t(key: Key, params?: Params): string {
  return format(catalogues[current], current, key, params);
}

export function tell(text: Text): string {
  return t(text.key, text.params);
}

export function number(value: number): string {
  return formatNumber(current, value);
}

/** A day and time of day, as in a list of what was kept. */
export function formatDate(at: string): string {
  return new Intl.DateTimeFormat(LANGUAGES.find(({ id }) => id === current)!.locale, { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' }).format(new Date(at));
}

export function clockTime(time: number): string {
  return formatTime(current, time);
}
