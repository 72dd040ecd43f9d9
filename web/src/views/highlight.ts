import type { Concerned } from '../scene/concerned';

/** Marks what of the stage is concerned (data-lit), and nothing else; elements come and go with the picture, so it is called again and again. */
export function lightUp(stage: HTMLElement, { nodes, places }: Concerned): void {
  const wanted = new Set<Element>();
  for (const node of nodes) for (const card of stage.querySelectorAll(`[data-node="${CSS.escape(node)}"]`)) wanted.add(card);
  for (const place of places) for (const element of stage.querySelectorAll(`[data-place="${CSS.escape(place)}"]`)) wanted.add(element);
  for (const element of stage.querySelectorAll('[data-lit]')) if (!wanted.has(element)) element.removeAttribute('data-lit');
  for (const element of wanted) if (!element.hasAttribute('data-lit')) element.setAttribute('data-lit', '');
}
