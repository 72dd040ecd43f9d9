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

/** Returns the id of the notice, to dismiss it when it no longer holds. */
export function report(text: Text): number {
  // What is still shown need not be said twice.
  const said = shown.find((notice) => JSON.stringify(notice.text) === JSON.stringify(text));
  if (said) return said.id;
  const notice = { id: next++, text };
  shown = [...shown, notice].slice(-KEPT);
  return notice.id;
}

export function dismiss(id: number): void {
  shown = shown.filter((notice) => notice.id !== id);
}
