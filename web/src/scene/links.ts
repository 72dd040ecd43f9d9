import type { Link, State } from '../trace/types';
import { byName } from './order';

/** A link that is not healthy: one direction, or both when they have the same rule. */
export interface DisturbedLink {
  from: string;
  to: string;
  both: boolean;
  rule: LinkRule;
}

export type LinkRule = Pick<Link, 'cut' | 'delayMS' | 'jitterMS' | 'bytesPerSecond'>;

export const HEALTHY: LinkRule = { cut: false, delayMS: 0, jitterMS: 0, bytesPerSecond: 0 };

export function disturbedLinks(state: State): DisturbedLink[] {
  const links = Object.values(state.links).sort((a, b) => byName(a.from, b.from) || byName(a.to, b.to));
  const told = new Set<string>();
  const disturbed: DisturbedLink[] = [];
  for (const link of links) {
    const { from, to } = link;
    if (told.has(`${from}>${to}`)) continue;
    const back = state.links[`${to}>${from}`];
    const both = !!back && sameRule(link, back);
    if (both) told.add(`${to}>${from}`);
    disturbed.push({ from, to, both, rule: ruleOf(link) });
  }
  return disturbed;
}

function ruleOf({ cut, delayMS, jitterMS, bytesPerSecond }: Link): LinkRule {
  return { cut, delayMS, jitterMS, bytesPerSecond };
}

function sameRule(a: LinkRule, b: LinkRule): boolean {
  return a.cut === b.cut && a.delayMS === b.delayMS && a.jitterMS === b.jitterMS && a.bytesPerSecond === b.bytesPerSecond;
}

export type LinkEffect = 'cut' | 'delay' | 'slow';

export function effectOf({ cut, bytesPerSecond }: LinkRule): LinkEffect {
  if (cut) return 'cut';
  return bytesPerSecond > 0 ? 'slow' : 'delay';
}
