// JSON values: on one line while they are short, else as a tree that is folded.

import { html, useState } from './dom.js';
import { Copy, Text } from './text.js';

/** Entries of one object or list that are shown at once. */
const PAGE = 100;
/** The longest text that is laid out on one line. */
const SHORT = 100;

/** A value as one line of at most `most` characters. */
export function oneLine(value, most = 200) {
  if (value === undefined) return '';
  const text = JSON.stringify(value);
  return text.length > most ? `${text.slice(0, most)}…` : text;
}

/** A value with its copy button. */
export function Json({ value, label }) {
  if (value === undefined) return html`<span class="soft">nothing</span>`;
  const text = JSON.stringify(value, null, 2);
  return html`<div class="json">
    <div class="json-tools"><${Copy} text=${text} what=${label} /></div>
    <${Node} value=${value} open=${true} depth=${0} />
  </div>`;
}

function Node({ name, value, open, depth }) {
  const [isOpen, setOpen] = useState(open);
  const [shown, show] = useState(PAGE);
  const lead = name !== undefined && html`<span class="json-name"><${Text} text=${String(name)} /></span>: `;
  if (value === null || typeof value !== 'object') {
    return html`<div class="json-line">${lead}<${Leaf} value=${value} /></div>`;
  }
  const isList = Array.isArray(value);
  const keys = isList ? null : Object.keys(value);
  const size = isList ? value.length : keys.length;
  const [first, last] = isList ? ['[', ']'] : ['{', '}'];
  if (size === 0) return html`<div class="json-line">${lead}${first}${last}</div>`;
  if (size <= 20) {
    const line = JSON.stringify(value);
    if (line.length <= SHORT && depth > 0) return html`<div class="json-line">${lead}<${Text} text=${line} /></div>`;
  }
  const entries = [];
  for (let at = 0; isOpen && at < Math.min(size, shown); at += 1) {
    const key = isList ? at : keys[at];
    entries.push(html`<${Node} key=${key} name=${key} value=${value[key]} open=${depth < 1 && size <= 20} depth=${depth + 1} />`);
  }
  return html`<div class="json-line">
    <button type="button" class="fold" aria-expanded=${String(isOpen)} aria-label=${`${isOpen ? 'Fold' : 'Unfold'} ${isList ? 'list' : 'object'} of ${size}`} onClick=${() => setOpen(!isOpen)}>${isOpen ? '▾' : '▸'}</button>
    ${lead}${first}${!isOpen && html`<span class="soft"> ${size} ${isList ? 'items' : 'fields'} </span>${last}`}
    ${isOpen && html`<div class="json-inner">${entries}
      ${size > shown && html`<button type="button" class="link" onClick=${() => show(shown + 10 * PAGE)}>${size - shown} more</button>`}
    </div>${last}`}
  </div>`;
}

function Leaf({ value }) {
  if (typeof value === 'string') return html`<span class="json-text">"<${Text} text=${value} most=${2000} more />"</span>`;
  return html`<span class="json-plain">${String(value)}</span>`;
}
