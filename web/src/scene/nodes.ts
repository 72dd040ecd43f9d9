import type { State } from '../trace/types';
import { byName } from './order';

/** What every node card shows. */
export interface NodeCard {
  name: string;
  role: string;
  id: number;
  /** starting, running, paused, stopped, killed, failed or lost. */
  state: string;
  detail: string;
  /** True while the node answers: running. */
  up: boolean;
}

export function nodeCards(state: State, role: string): NodeCard[] {
  return Object.entries(state.nodes)
    .filter(([, node]) => node.role === role)
    .sort(([a], [b]) => byName(a, b))
    .map(([name, node]) => ({
      name,
      role: node.role,
      id: node.id,
      state: node.state,
      detail: node.detail,
      up: node.state === 'running',
    }));
}
