// A list of very many rows of one height: only those that are seen are in the page.

import { html, useLayoutEffect, useRef, useState } from './dom.js';

/** Rows that are drawn beyond the ones that are seen, so that scrolling shows no gaps. */
const BEYOND = 12;

/**
 * `count` rows, `row` pixels high, each drawn by `draw(index)`. `most` bounds the height of the list.
 * `at`: the index of a row to scroll to when it changes.
 */
export function Rows({ count, row, draw, most = 640, at, label, ...rest }) {
  const element = useRef(null);
  const [from, setFrom] = useState(0);
  const height = Math.min(most, count * row + 2);
  useLayoutEffect(() => {
    if (at === undefined || at < 0) return;
    const list = element.current;
    const top = at * row;
    if (top < list.scrollTop || top + row > list.scrollTop + list.clientHeight) list.scrollTop = Math.max(0, top - height / 2);
  }, [at]);
  const scrolled = () => {
    const first = Math.max(0, Math.floor(element.current.scrollTop / row) - BEYOND);
    // A multiple, so that most scrolling draws nothing anew.
    setFrom(first - (first % 6));
  };
  const until = Math.min(count, from + Math.ceil(height / row) + 2 * BEYOND + 6);
  const drawn = [];
  for (let index = Math.min(from, Math.max(0, count - 1)); index < until; index += 1) drawn.push(draw(index));
  return html`<div class="rows" ref=${element} style=${{ height: `${height}px` }} onScroll=${scrolled} tabindex="0" aria-label=${label} ...${rest}>
    <div class="rows-all" style=${{ height: `${count * row}px` }}>
      <div class="rows-seen" style=${{ transform: `translateY(${Math.min(from, count) * row}px)` }}>${drawn}</div>
    </div>
  </div>`;
}
