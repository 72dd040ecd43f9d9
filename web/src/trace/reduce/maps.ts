// The state's maps are plain objects as JSON gives them, and their keys are names that users choose: a topic may be called "constructor"
// or "__proto__". So reading looks at own properties only, and writing never meets a setter.

export function own<T>(map: Record<string, T>, key: string | number): T | undefined {
  return Object.hasOwn(map, key) ? map[key] : undefined;
}

export function put<T>(map: Record<string, T>, key: string | number, value: T): T {
  if (key === '__proto__') Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  else map[key] = value;
  return value;
}

/** As put, for the many names that are written down in the code. */
export function give(to: Record<string, unknown>, name: string, value: unknown): void {
  if (name === '__proto__') put(to, name, value);
  else to[name] = value;
}

export function events(folded: number | undefined): number {
  return Math.max(1, folded ?? 0);
}

/** Appends and drops the oldest beyond a limit, into a list of its own: a clone of the state keeps the one before. */
export function keepLast<T>(kept: readonly T[], newest: T, limit: number): T[] {
  return [...kept.slice(Math.max(0, kept.length + 1 - limit)), newest];
}

export function sorted(values: Iterable<string>): string[] {
  return [...values].sort();
}
