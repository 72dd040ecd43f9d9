/** Runs in the page: what a reader could not read. Each flaw is a line; equal ones of several views are told once. */
export function flaws(width) {
  const LEAST_PX = 11.5;
  const SCROLLS = ['auto', 'scroll'];
  const HIDES = ['hidden', 'clip'];
  const list = new Set();
  const seen = (element) => {
    const { width: w, height: h } = element.getBoundingClientRect();
    return w > 1 && h > 1 && element.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && !element.closest('.visually-hidden, [aria-hidden="true"] svg');
  };
  const nameOf = (element) => {
    const own = [...element.classList].filter((name) => !name.startsWith('s-') && !name.startsWith('svelte-')).join('.');
    const parent = element.parentElement;
    const above = parent ? `${parent.localName}.${[...parent.classList].filter((name) => !name.startsWith('svelte-')).join('.')}` : '';
    return `${above} > ${element.localName}${own && '.' + own}`;
  };
  const short = (text) => text.trim().replace(/\s+/g, ' ').replace(/\d[\d,.:]*/g, '#').slice(0, 70);

  if (document.documentElement.scrollWidth > width) list.add(`the page is ${document.documentElement.scrollWidth} wide`);

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !element || element.closest('script, style, option') || !seen(element)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.width < 2 || box.height < 2) continue;
    // A node, a partition or a topic's name over two lines is read as two things.
    for (const { 0: name, index } of node.data.matchAll(/[a-z]+(?:-[a-z]+)*-\d+/gi)) {
      range.setStart(node, index);
      range.setEnd(node, index + name.length);
      const [first, ...more] = [...range.getClientRects()].filter(({ width: w }) => w > 1);
      if (first && more.some(({ top }) => top > first.bottom - 2)) list.add(`broken name: “${short(node.data)}” in ${nameOf(element)}`);
    }
    const size = parseFloat(getComputedStyle(element).fontSize);
    if (size < LEAST_PX) list.add(`small: ${size.toFixed(1)} px, ${nameOf(element)}`);
    // Cut by an ancestor that neither scrolls nor shows what goes beyond it. What can be scrolled to is not cut.
    let clipped = { left: box.left, right: box.right, top: box.top, bottom: box.bottom };
    for (let above = element; above && above !== document.body; above = above.parentElement) {
      const style = getComputedStyle(above);
      if (style.position === 'fixed') break; // a menu lies over everything
      const frame = above.getBoundingClientRect();
      if (SCROLLS.includes(style.overflowY) || SCROLLS.includes(style.overflowX)) {
        clipped = { left: Math.max(clipped.left, frame.left), right: Math.min(clipped.right, frame.right), top: Math.max(clipped.top, frame.top), bottom: Math.min(clipped.bottom, frame.bottom) };
        if (clipped.right - clipped.left < 2 || clipped.bottom - clipped.top < 2) break;
      } else if (HIDES.includes(style.overflowX) && (clipped.right > frame.right + 1.5 || clipped.left < frame.left - 1.5)) {
        list.add(`cut${above.title || element.title || above.closest('[title]') ? ' (title tells)' : ''}: “${short(node.data)}” by ${nameOf(above)}`);
        break;
      } else if (HIDES.includes(style.overflowY) && (clipped.bottom > frame.bottom + 2 || clipped.top < frame.top - 2)) {
        list.add(`cut below: “${short(node.data)}” by ${nameOf(above)}`);
        break;
      }
    }
    if (clipped.right - clipped.left > 2 && clipped.bottom - clipped.top > 2) texts.push({ element, box: clipped, text: short(node.data) });
  }
  // Texts that lie over each other, each of them uncovered where they meet.
  const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
  const uncovered = ({ element }, x, y) => document.elementsFromPoint(x, y).slice(0, 3).includes(element);
  for (let i = 0; i < texts.length; i++) {
    for (let j = i + 1; j < texts.length; j++) {
      const [a, b] = [texts[i], texts[j]];
      if (!over(a.box, b.box) || a.element.contains(b.element) || b.element.contains(a.element)) continue;
      const x = (Math.max(a.box.left, b.box.left) + Math.min(a.box.right, b.box.right)) / 2;
      const y = (Math.max(a.box.top, b.box.top) + Math.min(a.box.bottom, b.box.bottom)) / 2;
      if (uncovered(a, x, y) && uncovered(b, x, y)) list.add(`over each other: “${a.text}” (${nameOf(a.element)}) and “${b.text}” (${nameOf(b.element)})`);
    }
  }
  return [...list];
}
