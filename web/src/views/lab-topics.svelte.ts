/** What the lab that is open names its topics, groups and the like; nothing when none is open. */
let values = $state.raw<Readonly<Record<string, string>>>({});

export function followLab(of: Readonly<Record<string, string>>): void {
  values = of;
}

/** The topic that the open lab's tasks are about. */
export function labTopic(): string | undefined {
  return values.topic;
}

/** Those that the open lab is about come first: a lab's text tells to look at them, and a card may have room for few. */
export function labFirst<T extends { topic: string }>(topics: readonly T[]): readonly T[] {
  const names = new Set(Object.values(values));
  return topics.some(({ topic }) => names.has(topic)) ? topics.toSorted((a, b) => Number(names.has(b.topic)) - Number(names.has(a.topic))) : topics;
}
