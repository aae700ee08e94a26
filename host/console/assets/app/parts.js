// Parts that every page has: headings, what failed, what is empty, tabs, facts, dialogs.

import { classes, html, useEffect, useId, useLayoutEffect, useRef } from './dom.js';
import { Link } from './route.js';
import { Text } from './text.js';

/** The heading of a page; the title of the tab follows it. */
export function Heading({ children, title, aside }) {
  useEffect(() => {
    document.title = `${title} · Segno`;
  }, [title]);
  return html`<header class="heading"><h1 tabindex="-1">${children || title}</h1>${aside && html`<div class="aside">${aside}</div>`}</header>`;
}

/** Why something failed, in the host's words. */
export function Failed({ error }) {
  if (!error) return null;
  const errors = error.problem?.errors;
  return html`<div class="failed" role="alert">
    <${Text} text=${error.message} most=${1500} more />
    ${Array.isArray(errors) && errors.length > 0 && html`<ul>${errors.slice(0, 20).map((each) => html`<li><code><${Text} text=${each.path || '/'} /></code> <${Text} text=${each.reason} /></li>`)}</ul>`}
  </div>`;
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

/** What a reading page shows: what failed, that it is read, or its content. */
export function Reading({ of, children }) {
  if (of.data === undefined && of.error) return html`<${Failed} error=${of.error} />`;
  if (of.data === undefined) return html`<p class="empty" aria-busy="true">…</p>`;
  return html`${of.error && html`<${Failed} error=${of.error} />`}${children(of.data)}`;
}

/** Links to the tabs of a page; each is `{to, query, name, count, here}`. */
export const Tabs = ({ tabs, label }) => html`<nav class="tabs" aria-label=${label}>
  ${tabs.filter(Boolean).map((tab) => html`<${Link} to=${tab.to} query=${tab.query} aria-current=${tab.here ? 'page' : undefined}>${tab.name}${tab.count !== undefined && html` <span class="count">${tab.count.toLocaleString()}</span>`}<//>`)}
</nav>`;

/** Names and what they stand for; entries without a value are left out. */
export const Facts = ({ facts }) => html`<dl class="facts">
  ${facts.filter((fact) => fact && fact[1] !== undefined && fact[1] !== null && fact[1] !== false && fact[1] !== '').map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
</dl>`;

/** A table that a narrow window scrolls. `columns` are names or `{name, class}`. */
export const Table = ({ columns, label, children, ...rest }) => html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
  <table ...${rest}>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.class}>${column.name ?? column}</th>`)}</tr></thead>
    <tbody>${children}</tbody>
  </table>
</div>`;

/** A dialog before the page: it has the focus until it is closed, by Escape as well. */
export function Dialog({ title, onClose, wide, children }) {
  const element = useRef(null);
  const name = useId();
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement;
    dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  return html`<dialog ref=${element} class=${classes(wide && 'wide')} aria-labelledby=${name} onCancel=${cancel} onClick=${(event) => event.target === element.current && onClose()}>
    <div class="dialog">
      <header><h2 id=${name}>${title}</h2><button type="button" class="close" aria-label="Close" onClick=${onClose}>×</button></header>
      ${children}
    </div>
  </dialog>`;
}

/** A field with its label. */
export function Field({ label, hint, children, ...rest }) {
  return html`<label class="field" ...${rest}><span class="label">${label}</span>${children}${hint && html`<span class="hint"> ${hint}</span>`}</label>`;
}
