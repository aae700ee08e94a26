// Addresses: every page, tab and filter has one, which can be shared and loaded again.

import { html } from './dom.js';
import { shared } from './value.js';

const BASE = '/console';

function read() {
  const parts = location.pathname.slice(BASE.length).split('/').filter(Boolean);
  const decoded = parts.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { parts: decoded, query: Object.fromEntries(new URLSearchParams(location.search)), at: location.pathname + location.search };
}

export const route = shared(read());

addEventListener('popstate', () => route.set(read()));

/** The address of a page: its parts, and its query without what is empty. */
export function address(parts, query = {}) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  const search = entries.length ? `?${new URLSearchParams(entries)}` : '';
  return `${BASE}/${parts.map(encodeURIComponent).join('/')}${search}`;
}

/** Goes to an address, as a new entry of the history or in place of this one. */
export function go(to, replace = false) {
  if (to === location.pathname + location.search) return;
  history[replace ? 'replaceState' : 'pushState'](null, '', to);
  const before = route.get().parts.slice(0, 2).join('/');
  route.set(read());
  if (before !== route.get().parts.slice(0, 2).join('/')) scrollTo(0, 0);
}

/** A link to a page of the console. */
export function Link({ to, query, children, ...rest }) {
  const href = address(to, query);
  const follow = (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(href);
  };
  return html`<a href=${href} onClick=${follow} ...${rest}>${children}</a>`;
}
