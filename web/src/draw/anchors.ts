import type { Place } from '../scene/packets';

export interface Point {
  x: number;
  y: number;
}

export interface Points {
  /** The point of the first of the places that the picture has. */
  of(place: Place): Point | undefined;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

const MEASURE_EVERY_MS = 400;
/** Device pixels of the canvas: beyond, what moves is drawn coarser, since each frame is a copy of all of them. */
const MOST_PIXELS = 4_000_000;

/**
 * Where the named things are on the stage. A thing with a place carries data-place; one that is scrolled out of its panel (data-clip) is
 * taken to be at the panel's edge. Everything is measured in one go, after the layout has changed and now and then.
 */
export class Anchors implements Points {
  stage: HTMLElement | undefined;
  ratio = 1;
  /** What must be readable whatever moves over it: names, counts (data-keep). */
  keeps: readonly Box[] = [];

  private canvas: HTMLCanvasElement | undefined;
  private points = new Map<string, Point>();
  private cards = new Map<string, Box>();
  private measuredAt = -Infinity;
  private changed = true;

  watch(stage: HTMLElement, canvas: HTMLCanvasElement): () => void {
    this.stage = stage;
    this.canvas = canvas;
    const touch = () => {
      this.changed = true;
      this.measuredAt = -Infinity;
    };
    const resized = new ResizeObserver(touch);
    resized.observe(stage);
    // While the clock stands nothing else tells of what came and went: a panel, which counts at once, or a line in one.
    const mutated = new MutationObserver((mutations) => (mutations.some(({ target }) => target === stage) ? touch() : this.touch()));
    mutated.observe(stage, { childList: true, subtree: true });
    stage.addEventListener('scroll', touch, true);
    touch();
    return () => {
      resized.disconnect();
      mutated.disconnect();
      stage.removeEventListener('scroll', touch, true);
      this.stage = undefined;
      this.canvas = undefined;
    };
  }

  /** Something may have moved. */
  touch(): void {
    this.changed = true;
  }

  of(place: Place): Point | undefined {
    for (const name of place) {
      const point = this.points.get(name);
      if (point) return point;
    }
    return undefined;
  }

  /** The box of a node's card. Who has none is a client, and stands where the producers do. */
  card(node: string): Box | undefined {
    const card = this.cards.get(node);
    if (card) return card;
    const point = this.of([node, 'producers/kafka']);
    return point && { ...point, width: 0, height: 0 };
  }

  measure(now: number): void {
    const { stage, canvas } = this;
    if (!stage || !canvas || !this.changed || now - this.measuredAt < MEASURE_EVERY_MS) return;
    this.measuredAt = now;
    this.changed = false;
    const origin = stage.getBoundingClientRect();
    this.fitCanvas(canvas, origin.width, origin.height);
    const clips = new Map<Element, DOMRect>();
    const clipOf = (element: Element): DOMRect | undefined => {
      const clip = element.closest('[data-clip]');
      if (!clip) return undefined;
      let box = clips.get(clip);
      if (!box) clips.set(clip, (box = clip.getBoundingClientRect()));
      return box;
    };
    this.keeps = [...stage.querySelectorAll<HTMLElement>('[data-keep]')].flatMap((element) => boxOf(element, origin, clipOf) ?? []);
    this.points.clear();
    this.cards.clear();
    for (const element of stage.querySelectorAll<HTMLElement>('[data-node]')) {
      const { left, top, width, height } = element.getBoundingClientRect();
      if (width > 0) this.cards.set(element.dataset.node!, { x: left - origin.left, y: top - origin.top, width, height });
    }
    for (const element of stage.querySelectorAll<HTMLElement>('[data-place]')) {
      const point = pointOf(element, origin, clipOf);
      if (point) this.points.set(element.dataset.place!, point);
    }
  }

  private fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): void {
    this.ratio = Math.min(2, globalThis.devicePixelRatio || 1, Math.sqrt(MOST_PIXELS / Math.max(1, width * height)));
    const wide = Math.round(width * this.ratio);
    const high = Math.round(height * this.ratio);
    if (canvas.width !== wide) canvas.width = wide;
    if (canvas.height !== high) canvas.height = high;
  }
}

/** The box of the panel that an element is scrolled in, if it is in one. */
type ClipOf = (element: Element) => DOMRect | undefined;

/** Where an element shows, undefined when it is hidden or scrolled out of its panel. */
function boxOf(element: HTMLElement, origin: DOMRect, clipOf: ClipOf): Box | undefined {
  const box = element.getBoundingClientRect();
  if (box.width === 0 || box.height === 0) return undefined;
  const clip = clipOf(element);
  if (clip && (box.top < clip.top || box.bottom > clip.bottom)) return undefined;
  return { x: box.left - origin.left - 1, y: box.top - origin.top, width: box.width + 2, height: box.height };
}

function pointOf(element: HTMLElement, origin: DOMRect, clipOf: ClipOf): Point | undefined {
  const box = element.getBoundingClientRect();
  if (box.width === 0 && box.height === 0) return undefined;
  const along = Number(element.dataset.along ?? 0.5);
  let x = box.left + box.width * along;
  let y = box.top + box.height / 2;
  const clip = clipOf(element);
  if (clip) {
    x = Math.min(Math.max(x, clip.left), clip.right);
    y = Math.min(Math.max(y, clip.top), clip.bottom);
  }
  return { x: x - origin.left, y: y - origin.top };
}
