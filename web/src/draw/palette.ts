import { FLOWS, type Flow } from '../scene/packets';

/** The colours that the canvas needs: "#rrggbb". */
export interface Palette {
  flows: Record<Flow, string>;
  surface: string;
  bad: string;
  warn: string;
}

/** The colours of the page's tokens, as the canvas needs them. */
export function readPalette(element: Element, context: CanvasRenderingContext2D): Palette {
  const style = getComputedStyle(element);
  const colour = (name: string) => {
    context.fillStyle = style.getPropertyValue(name).trim();
    return context.fillStyle; // a canvas gives an opaque colour back as #rrggbb, however the style sheet writes it
  };
  const flows = Object.fromEntries(FLOWS.map((flow) => [flow, colour(`--${flow}`)])) as Record<Flow, string>;
  return { flows, surface: colour('--surface'), bad: colour('--bad'), warn: colour('--warn') };
}
