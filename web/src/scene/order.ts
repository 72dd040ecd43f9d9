/** Compares names so that kafka-2 comes before kafka-10 and orders-2 before orders-10. */
const collator = new Intl.Collator('en', { numeric: true });

export function byName(a: string, b: string): number {
  return collator.compare(a, b);
}

export function sortedEntries<T>(map: Record<string, T>): [string, T][] {
  return Object.entries(map).sort(([a], [b]) => byName(a, b));
}
