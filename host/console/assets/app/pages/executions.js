// Executions: a list with filters, whose address says all of them; counts; and what is done to many.

import { classes, html, useEffect, useLayoutEffect, useMemo, useRef, useState } from '../dom.js';
import { get, getList, path } from '../api.js';
import { Command, segno } from '../command.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Failed, Heading, Table } from '../parts.js';
import { address, go, Link } from '../route.js';
import { State, STATES } from '../state.js';
import { Elapsed, iso, Time } from '../time.js';
import { count, Id, target, Text } from '../text.js';
import { Bulk } from './bulk.js';
import { Filters, filterOf } from './filters.js';

const PAGE = 100;
/** Counting reads up to 10,000 rows on the host. */
const COUNT_EVERY_MS = 5000;
const READ_EVERY_MS = 1000;

/** The command that lists the same. */
function listing(query) {
  const words = ['list'];
  const at = (name, value) => value && words.push(`--${name}`, value);
  at('state', query.state);
  if (query.stuck) words.push('--stuck');
  for (const name of ['module', 'function', 'label', 'prefix', 'parent']) at(name, query[name]);
  at('error', query.error);
  if (query.calls) words.push('--calls');
  else if (!query.parent) words.push('--roots');
  if (query.since) at('since', /^\d+$/.test(query.since) ? iso(Number(query.since)) : query.since);
  if (query.until) at('until', iso(Number(query.until)));
  return segno(...words);
}

/** The list of a filter: its pages so far, read again as the host tells of changes. */
function useExecutions(filter) {
  const [state, set] = useState({ items: null, unreadable: [], next: undefined, error: null, reading: true });
  const key = JSON.stringify(filter);
  const current = useRef(key);
  const busy = useRef(false);

  const begin = async () => {
    try {
      const page = await getList('/v1/invocations', { ...filter(), limit: PAGE });
      if (current.current !== key) return;
      set((was) => {
        // Further pages that are shown stay behind the first.
        const first = new Set(page.items.map((item) => item.id));
        const oldest = page.items.at(-1)?.created_at_ms ?? Infinity;
        const behind = was.items && was.items.length > PAGE ? was.items.filter((item) => !first.has(item.id) && item.created_at_ms <= oldest) : [];
        return { items: [...page.items, ...behind], unreadable: page.unreadable || [], next: behind.length ? was.next : page.next, error: null, reading: false };
      });
    } catch (error) {
      if (current.current === key) set((was) => ({ ...was, error, reading: false }));
    }
  };
  const more = async () => {
    if (busy.current || !state.next) return;
    busy.current = true;
    try {
      // A host reads a bounded number of rows for a page: it may be empty, and not the last.
      let next = state.next;
      const found = [];
      for (let pages = 0; next && found.length < PAGE && pages < 20; pages += 1) {
        const page = await getList('/v1/invocations', { ...filter(), limit: PAGE, after: next });
        found.push(...page.items);
        next = page.next;
      }
      if (current.current !== key) return;
      set((was) => {
        const known = new Set(was.items.map((item) => item.id));
        return { ...was, items: [...was.items, ...found.filter((item) => !known.has(item.id))], next, error: null };
      });
    } catch (error) {
      set((was) => ({ ...was, error }));
    } finally {
      busy.current = false;
    }
  };
  /** Rows beyond the first page that changed. */
  const refresh = async (ids) => {
    for (const id of ids.slice(0, 20)) {
      try {
        const { waits: _, children: __, input: ___, output: ____, ...seen } = await get(path`/v1/invocations/${id}`);
        set((was) => ({ ...was, items: was.items.map((item) => (item.id === id ? { ...item, ...seen } : item)) }));
      } catch {
        // It is gone, or is read with the next change.
      }
    }
  };
  return { ...state, begin, more, refresh, use: (next) => (current.current = next), key };
}

function Counts({ query, counts }) {
  const all = counts ? Object.values(counts.states).reduce((sum, each) => sum + each, 0) : undefined;
  const chip = (state, number, name) => html`<${Link} to=${[]} query=${{ ...query, state, stuck: undefined }} class=${classes('chip', (query.state || '') === (state || '') && !query.stuck && 'here')} aria-current=${(query.state || '') === (state || '') && !query.stuck ? 'true' : undefined}>
    ${state ? html`<${State} state=${state} />` : name}${number !== undefined && html` <span class="count">${number.toLocaleString()}${counts.newest_only && number ? '+' : ''}</span>`}<//>`;
  return html`<nav class="chips" aria-label="States">
    ${chip(undefined, all, 'all')}
    ${STATES.map((state) => chip(state, counts?.states[state] ?? (counts ? 0 : undefined)))}
    <${Link} to=${[]} query=${{ ...query, state: undefined, stuck: 'true' }} class=${classes('chip', query.stuck && 'here')} title="Halted ones, and rows that this host has put into quarantine">stuck<//>
  </nav>`;
}

export function Executions({ query }) {
  const key = JSON.stringify(query);
  const filter = () => filterOf(query);
  const list = useExecutions(filter);
  const [counts, setCounts] = useState(null);
  const [selected, select] = useState(new Set());
  const [bulk, setBulk] = useState(null);
  const end = useRef(null);
  const shown = useRef(null);
  shown.current = list;

  const recount = async () => {
    try {
      const { state: _, stuck: __, error, ...others } = filterOf(query);
      // The host does not count what it has to search.
      if (error) return;
      const page = await getList('/v1/invocations', { ...others, limit: 1, counts: true });
      setCounts(page.counts);
    } catch {
      // They stay as they were.
    }
  };
  const read = useMemo(() => throttled(() => shown.current.begin(), READ_EVERY_MS), [key]);
  const countAgain = useMemo(() => throttled(() => recount(), COUNT_EVERY_MS), [key]);
  // Asked before the first picture is painted, which takes as long as an answer.
  useLayoutEffect(() => {
    select(new Set());
    setCounts(null);
    // The list first: it is what is looked at.
    list.begin().then(countAgain);
  }, [key]);
  useChanges('', ({ ids, missed }) => {
    read();
    if (ids.length || missed) countAgain();
    const items = shown.current.items || [];
    if (items.length > PAGE) {
      const changed = new Set(ids);
      shown.current.refresh(items.slice(PAGE).filter((item) => changed.has(item.id)).map((item) => item.id));
    }
  });
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && shown.current.more(), { rootMargin: '600px' });
    if (end.current) seen.observe(end.current);
    return () => seen.disconnect();
  }, [list.next]);

  const items = list.items || [];
  const toggle = (id) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    select(next);
  };
  const all = items.length > 0 && items.every((item) => selected.has(item.id));
  return html`
    <${Heading} title="Executions" aside=${html`<${Link} to=${['modules']} class="button">Start one<//>`} />
    <${Counts} query=${query} counts=${counts} />
    <${Filters} query=${query} />
    <div class="bar" role="group" aria-label="What is done to many">
      <span class="soft">${selected.size ? `${selected.size} selected` : 'All that the filter takes:'}</span>
      ${['cancel', 'kill', 'continue'].map((verb) => html`<button type="button" onClick=${() => setBulk(verb)} disabled=${!items.length}>${verb} …</button>`)}
      ${selected.size === 2 && html`<${Link} to=${['compare', ...selected]} class="button">compare<//>`}
      ${selected.size > 0 && html`<button type="button" class="link" onClick=${() => select(new Set())}>select none</button>`}
    </div>
    <${Failed} error=${list.error} />
    ${list.unreadable.length > 0 && html`<div class="failed" role="alert"><strong>${count(list.unreadable.length, 'row')} that cannot be read</strong><ul>${list.unreadable.map((row) => html`<li>${row.kind} <${Text} text=${row.id} />: <${Text} text=${row.reason} /></li>`)}</ul></div>`}
    ${list.items && !items.length && !list.next
      ? html`<${Empty}>No execution fits. ${Object.keys(query).length > 0 && html`<${Link} to=${[]}>Show all<//>`}<//>`
      : html`<${Table} label="Executions" class="list" columns=${[
          { name: html`<input type="checkbox" aria-label="Select all that are shown" checked=${all} onChange=${() => select(all ? new Set() : new Set(items.map((item) => item.id)))} />`, class: 'narrow' },
          'Id', 'Function', 'State', { name: 'Created', class: 'time' }, { name: 'Took', class: 'num' }, { name: 'Labels', class: 'wide-only' },
        ]}>
          ${items.map((item) => html`<${Row} key=${item.id} item=${item} query=${query} selected=${selected.has(item.id)} onToggle=${() => toggle(item.id)} />`)}
        <//>`}
    ${list.items === null && !list.error && html`<p class="empty" aria-busy="true">…</p>`}
    <div ref=${end} class="list-end">${list.next && html`<button type="button" onClick=${list.more}>Show more</button>`}</div>
    <${Command} line=${listing(query)} />
    ${bulk && html`<${Bulk} verb=${bulk} filter=${filter()} chosen=${selected.size ? items.filter((item) => selected.has(item.id)) : null} line=${listing(query)} onClose=${() => {
      setBulk(null);
      select(new Set());
      read();
      countAgain();
    }} />`}`;
}

function Row({ item, query, selected, onToggle }) {
  const { id, note, failure } = item;
  const name = item.function && !target(item.target).endsWith(item.function) ? `${target(item.target)} ${item.function}` : target(item.target);
  const open = (event) => {
    if (event.target.closest('a, button, input, summary') || getSelection().toString()) return;
    go(address(['executions', id]));
  };
  return html`<tr class=${classes('row', selected && 'selected')} onClick=${open}>
    <td class="narrow"><input type="checkbox" aria-label=${`Select ${id.slice(0, 80)}`} checked=${selected} onChange=${onToggle} /></td>
    <td class="main"><${Id} id=${id} most=${70} />${item.parent && html`<div class="sub">called by <${Text} text=${item.parent} most=${60} /></div>`}
      ${note && html`<div class=${classes('sub', item.state === 'halted' ? 'warn' : 'soft')}><${Text} text=${`${note.kind}: ${note.message}`} most=${140} /></div>`}
      ${failure && html`<div class=${classes('sub', item.state === 'cancelled' ? 'soft' : 'bad')}><${Text} text=${`${failure.code}: ${failure.message}`} most=${140} /></div>`}</td>
    <td class="what"><${Text} text=${name} most=${60} /></td>
    <td class="how"><${State} state=${item.state} killed=${item.killed} />${item.attempt > 0 && html`<div class="sub warn">${count(item.attempt, 'failed attempt')}</div>`}${item.settled_at_ms && item.unread > 0 && html`<div class="sub warn" title="Signals, and promises that were settled early, that it never read">${item.unread} unread</div>`}</td>
    <td class="time"><${Time} at=${item.created_at_ms} /></td>
    <td class="num">${item.settled_at_ms || item.state === 'acquired' ? html`<${Elapsed} from=${item.created_at_ms} until=${item.settled_at_ms} />` : html`<span class="soft">–</span>`}</td>
    <td class="wide-only">${Object.entries(item.labels || {}).slice(0, 4).map(([key, value]) => html`<${Link} to=${[]} query=${{ ...query, label: `${key}=${value}` }} class="tag"><${Text} text=${`${key}=${value}`} most=${40} /><//>`)}</td>
  </tr>`;
}
