// The filters of the list, which are the query of its address.

import { html, useEffect, useState } from '../dom.js';
import { address, go } from '../route.js';

const SPANS = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 };

/** The query of the API for that of the address. */
export function filterOf(query) {
  const { calls, since, until, ...rest } = query;
  const from = SPANS[since] ? Date.now() - SPANS[since] : /^\d+$/.test(since || '') ? Number(since) : undefined;
  return {
    ...Object.fromEntries(['state', 'stuck', 'module', 'function', 'label', 'prefix', 'parent', 'error'].map((name) => [name, rest[name]])),
    since_at_ms: from,
    until_at_ms: /^\d+$/.test(until || '') ? Number(until) : undefined,
    roots: calls || rest.parent ? undefined : true,
  };
}

/** An instant as a field of the reader's zone writes it, and back. */
const local = (at) => {
  if (!/^\d+$/.test(at || '')) return '';
  const zoned = new Date(Number(at) - new Date(Number(at)).getTimezoneOffset() * 60_000);
  return Number.isNaN(zoned.getTime()) ? '' : zoned.toISOString().slice(0, 16);
};
const instant = (text) => (text ? String(new Date(text).getTime()) : undefined);

export function Filters({ query }) {
  const [draft, setDraft] = useState(query);
  const [custom, setCustom] = useState(Boolean(query.until || /^\d+$/.test(query.since || '')));
  useEffect(() => setDraft(query), [JSON.stringify(query)]);
  const apply = (changes) => go(address([], { ...query, ...draft, ...changes }));
  const text = (name, label, placeholder) => html`<label class="field"><span class="label">${label}</span>
    <input type="search" value=${draft[name] || ''} placeholder=${placeholder} autocomplete="off" spellcheck="false"
      onInput=${(event) => setDraft({ ...draft, [name]: event.target.value || undefined })} onChange=${(event) => apply({ [name]: event.target.value || undefined })} /></label>`;
  const submit = (event) => {
    event.preventDefault();
    apply({});
  };
  const used = ['prefix', 'module', 'function', 'label', 'error', 'since', 'until', 'calls'].filter((name) => query[name]).length;
  const wide = matchMedia('(min-width: 561px)').matches;
  return html`<details class="filter-box" open=${wide || used > 0}><summary>Filters${used > 0 && html` <span class="count">${used}</span>`}</summary><form class="filters" role="search" aria-label="Filters" onSubmit=${submit}>
    ${text('prefix', 'Id begins with', 'order-')}
    ${text('module', 'Module', 'shop')}
    ${text('function', 'Function', 'order')}
    ${text('label', 'Label', 'name=value')}
    ${text('error', 'Error contains', 'declined')}
    <label class="field"><span class="label">Created</span>
      <select value=${custom ? 'custom' : query.since || ''} onChange=${(event) => {
        const chosen = event.target.value;
        setCustom(chosen === 'custom');
        if (chosen !== 'custom') apply({ since: chosen || undefined, until: undefined });
      }}>
        <option value="">at any time</option>
        ${Object.keys(SPANS).map((span) => html`<option value=${span}>in the last ${span}</option>`)}
        <option value="custom">between …</option>
      </select></label>
    ${custom && html`
      <label class="field"><span class="label">From</span><input type="datetime-local" value=${local(draft.since)} onChange=${(event) => apply({ since: instant(event.target.value) })} /></label>
      <label class="field"><span class="label">Before</span><input type="datetime-local" value=${local(draft.until)} onChange=${(event) => apply({ until: instant(event.target.value) })} /></label>`}
    <label class="check"><input type="checkbox" checked=${Boolean(query.calls)} onChange=${(event) => apply({ calls: event.target.checked ? 'true' : undefined })} /> calls as well</label>
    ${Object.keys(query).length > 0 && html`<button type="button" class="link" onClick=${() => {
      setCustom(false);
      go(address([]));
    }}>clear</button>`}
    <button type="submit" class="unseen" tabindex="-1" aria-hidden="true">Apply</button>
  </form></details>`;
}
