import { Anchors } from '../draw/anchors';
import { drawLinks } from '../draw/links';
import { drawPackets } from '../draw/packets';
import { readPalette, type Palette } from '../draw/palette';
import { Pixels } from '../draw/pixels';
import { Sprites } from '../draw/sprites';
import type { DisturbedLink } from '../scene/links';
import type { PacketScene } from '../scene/packets';

/** With reduced motion the canvas shows a new step this often. */
const STEP_MS = 500;

/** The canvas over the stage: messages on their way, and links that are disturbed. It draws when it is told to, and keeps no time. */
export class MovingPicture {
  private readonly anchors = new Anchors();
  private context: CanvasRenderingContext2D | undefined;
  private palette: Palette | undefined;
  private pixels: Pixels | undefined;
  private sprites: Sprites | undefined;
  private linksShown = false;
  private stillness = matchMedia('(prefers-reduced-motion: reduce)');
  private lastStep = -Infinity;
  private empty = false;

  /** Gives the canvas that lies over the stage, and the stage whose places messages travel between. */
  attach(canvas: HTMLCanvasElement, stage: HTMLElement): () => void {
    this.context = canvas.getContext('2d') ?? undefined;
    this.empty = false;
    const detach = this.anchors.watch(stage, canvas);
    this.repaint();
    return () => {
      detach();
      this.context = undefined;
    };
  }

  /** The colours of the page have changed. */
  repaint(): void {
    const { stage } = this.anchors;
    if (!stage || !this.context) return;
    this.palette = readPalette(stage, this.context);
    this.sprites = undefined;
    this.pixels = undefined;
  }

  /** The places on the stage may have moved. */
  touch(): void {
    this.anchors.touch();
  }

  /** Draws what is on its way; undefined while there is no canvas, or a still picture is not due yet. */
  draw(now: number, sceneNow: () => PacketScene, links: readonly DisturbedLink[]): PacketScene | undefined {
    const { context, palette } = this;
    if (!context || !palette) return undefined;
    const still = this.stillness.matches;
    if (still && now - this.lastStep < STEP_MS) return undefined;
    this.lastStep = now;
    const scene = sceneNow();
    const empty = scene.packets.length === 0 && links.length === 0;
    if (empty && this.empty) return scene; // calm: nothing moves, nothing is drawn
    this.empty = empty;
    this.anchors.measure(now);
    this.paint(context, palette, scene, links, still);
    return scene;
  }

  private paint(context: CanvasRenderingContext2D, palette: Palette, scene: PacketScene, links: readonly DisturbedLink[], still: boolean): void {
    const { anchors } = this;
    const { width, height } = context.canvas;
    if (width === 0 || height === 0) return;
    const fresh = this.pixels?.width !== width || this.pixels.height !== height;
    if (fresh) this.pixels = new Pixels(width, height, (wide, high) => new ImageData(wide, high));
    if (this.sprites?.ratio !== anchors.ratio) this.sprites = new Sprites(palette, anchors.ratio);
    drawPackets(this.pixels!, scene.packets, anchors, this.sprites!, { still, keeps: anchors.keeps });
    // Links are drawn over the pixels, so that these have to be put wherever a link is or was.
    this.pixels!.show(context, fresh || this.linksShown || links.length > 0);
    this.linksShown = links.length > 0;
    context.setTransform(anchors.ratio, 0, 0, anchors.ratio, 0, 0);
    drawLinks(context, links, anchors, palette);
  }
}
