import { FLOWS, type Flow } from '../scene/packets';
import type { Palette } from './packets';

/** The colours of the page's tokens, as the canvas needs them. */
export function readPalette(element: Element): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const flows = Object.fromEntries(FLOWS.map((flow) => [flow, colour(`--${flow}`)])) as Record<Flow, string>;
  return { flows, surface: colour('--surface'), bad: colour('--bad'), warn: colour('--warn') };
}
