// The command line that does what a button does.

import { html } from './dom.js';
import { Copy, Text } from './text.js';

/** A word as a shell takes it. */
export function quoted(word) {
  const text = String(word);
  return /^[\w/.:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** `segno` with these words; those that are empty are left out, but for the empty text in JSON. */
export const segno = (...words) => ['segno', ...words.filter((word) => word !== undefined && word !== null && word !== '').map(quoted)].join(' ');

/** A command line with a button that copies it. */
export const Command = ({ line }) => html`<div class="command">
  <code><span class="soft" aria-hidden="true">$ </span><${Text} text=${line} most=${600} /></code>
  <${Copy} text=${line} what="the command" />
</div>`;
