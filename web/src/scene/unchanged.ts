/**
 * What is now, made of what was before wherever both are equal: a component is told of a part only when the part has changed. Takes plain
 * data, which nobody changes; of a list's items those are compared that stand at the same place.
 */
export function keepUnchanged<T>(before: T | undefined, now: T): T {
  if (Object.is(before, now) || typeof before !== 'object' || typeof now !== 'object' || before === null || now === null) return now;
  if (Array.isArray(before) !== Array.isArray(now)) return now;
  const was = before as Record<string, unknown>;
  const is = now as Record<string, unknown>;
  const keys = Object.keys(is);
  let same = keys.length === Object.keys(was).length;
  for (const key of keys) {
    const there = Object.hasOwn(was, key);
    const kept = there ? keepUnchanged(was[key], is[key]) : is[key];
    if (!there || !Object.is(kept, was[key])) same = false;
    if (kept !== is[key]) is[key] = kept;
  }
  return same ? before : now;
}
