import type { Text } from '../i18n/message';

export interface Notice {
  id: number;
  text: Text;
}

const KEPT = 4;

let shown = $state.raw<readonly Notice[]>([]);
let next = 0;

/** What the reader should know and can dismiss; the newest last. */
export function notices(): readonly Notice[] {
  return shown;
}

export function report(text: Text): void {
  // What is still shown need not be said twice.
  if (shown.some((notice) => JSON.stringify(notice.text) === JSON.stringify(text))) return;
  shown = [...shown, { id: next++, text }].slice(-KEPT);
}

export function dismiss(id: number): void {
  shown = shown.filter((notice) => notice.id !== id);
}
