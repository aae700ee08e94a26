// Texts of others: ids, names, messages. They are text and nothing else: isolated, so that what they
// do to the direction of writing ends with them, and with marks shown that nobody would see.

import { html, useState } from './dom.js';
import { Link } from './route.js';

/** Control characters but line breaks and tabs, marks of direction, and what has no width. */
const MARKS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;
const MARKED = new RegExp(MARKS.source);

const code = (mark) => `U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`;

function pieces(text) {
  if (!MARKED.test(text)) return text;
  const shown = [];
  let from = 0;
  for (const match of text.matchAll(MARKS)) {
    if (match.index > from) shown.push(text.slice(from, match.index));
    shown.push(html`<span class="mark" title=${`control mark ${code(match[0])}`}>${code(match[0])}</span>`);
    from = match.index + 1;
  }
  shown.push(text.slice(from));
  return shown;
}

const size = (length) => (length < 1024 ? `${length} characters` : length < 1_048_576 ? `${(length / 1024).toFixed(0)} KiB` : `${(length / 1_048_576).toFixed(1)} MiB`);

/** A text. Beyond `most` characters it is cut; with `more`, there is a way to see all of it. */
export function Text({ text, most = 300, more = false }) {
  const [whole, show] = useState(false);
  const all = String(text ?? '');
  if (all.length <= most || whole) return html`<bdi dir="auto">${pieces(all)}</bdi>`;
  return html`<bdi dir="auto">${pieces(all.slice(0, most))}<span class="soft">…</span></bdi>${
    more && html` <button type="button" class="link" onClick=${() => show(true)}>show all, ${size(all.length)}</button>`
  }`;
}

/** The id of an invocation or promise, as a link to its page. */
export function Id({ id, to = 'executions', most = 120 }) {
  return html`<${Link} to=${[to, id]} class="id" title=${id.length > most ? id.slice(0, 1000) : undefined}><${Text} text=${id} most=${most} /><//>`;
}

/** A text that cannot be copied wrongly: with a button that copies it. */
export function Copy({ text, what }) {
  const [done, say] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say('copied');
    } catch {
      const area = document.createElement('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      say(document.execCommand('copy') ? 'copied' : 'not copied');
      area.remove();
    }
    setTimeout(() => say(''), 1500);
  };
  return html`<button type="button" class="copy" aria-label=${`Copy ${what}`} onClick=${copy}>${done || 'copy'}</button>`;
}

/** `3 steps`, `1 step`. */
export const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? '' : 's'}`;

/** An address as users write it: `shop/order` for `wasm://shop/order`. */
export const target = (address) => (address || '').replace(/^wasm:\/\/\/?/, '');
