// Two executions side by side: what they are, and their journals record by record, with the first
// difference marked.

import { classes, html, useState } from '../dom.js';
import { get, path } from '../api.js';
import { Command, segno } from '../command.js';
import { headline, RecordDetail } from '../execution/record.js';
import { oneLine } from '../json.js';
import { Empty, Field, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { address, go } from '../route.js';
import { State } from '../state.js';
import { Elapsed, length, Time } from '../time.js';
import { count, Id, target, Text } from '../text.js';

/** Records of each journal that are compared. */
const MOST = 10_000;
/** Rows that are shown at first. */
const SHOWN = 500;

async function read(id, signal) {
  const invocation = await get(path`/v1/invocations/${id}`, {}, signal);
  const { records, next } = await get(path`/v1/invocations/${id}/journal`, { from: 0, limit: MOST }, signal);
  return { invocation, records, more: next !== undefined };
}

/** What a record says, without its time and with its own execution's id replaced, as text. */
function content(record, id) {
  if (!record) return undefined;
  const { at_ms: _, seq: __, ...rest } = record;
  return JSON.stringify(rest).replaceAll(JSON.stringify(id).slice(1, -1), '{id}');
}

const short = (record) => (record ? `${headline(record)} ${oneLine(record.outcome?.failure?.message ?? record.outcome?.value ?? record.request ?? '', 120)}` : '');

export function Compare({ left, right }) {
  const [other, name] = useState(right ?? '');
  const of = useRead((signal) => (right ? Promise.all([left, right].map((id) => read(id, signal))) : Promise.resolve(null)), [left, right]);
  const choose = (event) => {
    event.preventDefault();
    go(address(['compare', left, other.trim()]));
  };
  return html`<${Heading} title="Compare">Compare <span class="id"><${Text} text=${left} most=${80} /></span><//>
    <form class="filters" onSubmit=${choose}><${Field} label="With the execution"><input type="text" spellcheck="false" autocomplete="off" required value=${other} onInput=${(event) => name(event.target.value)} /><//><button type="submit" disabled=${!other.trim()}>compare</button></form>
    <${Reading} of=${of}>${(both) => (both ? html`<${Sides} both=${both} />` : html`<${Empty}>Name the execution to compare it with.<//>`)}<//>`;
}

function Sides({ both }) {
  const [shown, show] = useState(SHOWN);
  const [selected, select] = useState(undefined);
  const ids = both.map(({ invocation }) => invocation.id);
  const all = Math.max(...both.map(({ records }) => records.length));
  const differs = (at) => content(both[0].records[at], ids[0]) !== content(both[1].records[at], ids[1]);
  let first = 0;
  while (first < all && !differs(first)) first += 1;
  const from = (invocation) => both.find((side) => side.invocation === invocation).records[0]?.at_ms ?? 0;
  const row = (name, draw) => html`<tr><td>${name}</td>${both.map(({ invocation }) => html`<td class="main">${draw(invocation)}</td>`)}</tr>`;
  const json = (value) => html`<code><${Text} text=${oneLine(value, 300)} /></code>`;
  const cell = ({ invocation, records }, at) => {
    const record = records[at];
    return html`<td class="main">${record ? html`<span class="soft num">+${length(record.at_ms - from(invocation))}</span> <${Text} text=${short(record)} most=${160} />` : html`<span class="soft">–</span>`}</td>`;
  };
  return html`
    <${Table} label="The executions" columns=${['', ...ids.map((id) => html`<${Id} id=${id} most=${60} />`)]}>
      ${row('State', (it) => html`<${State} state=${it.state} killed=${it.killed} />`)}
      ${row('Function', (it) => html`<${Text} text=${target(it.target)} />`)}
      ${row('Module', (it) => it.module && html`<code>${it.module.slice(0, 12)}</code>`)}
      ${row('Created', (it) => html`<${Time} at=${it.created_at_ms} both />`)}
      ${row('Took', (it) => html`<${Elapsed} from=${it.created_at_ms} until=${it.settled_at_ms} />`)}
      ${row('Input', (it) => json(it.input))}
      ${row('Outcome', (it) => (it.failure ? html`<span class="bad"><${Text} text=${`${it.failure.code}: ${it.failure.message}`} most=${300} /></span>` : it.output !== undefined && json(it.output)))}
    <//>
    <h2>Journals</h2>
    <p class="soft">${first === all ? `All ${count(all, 'record')} say the same.` : first ? `The first ${count(first, 'record')} say the same; they differ from record ${first} on.` : 'They differ from the first record on.'} Times and the executions' own ids are not compared.${both.some(({ more }) => more) && ` Only the first ${MOST.toLocaleString()} records are.`}</p>
    <${Table} label="Records" class="compare" columns=${[{ name: '#', class: 'num' }, ...ids.map((id) => html`<${Text} text=${id} most=${40} />`)]}>
      ${Array.from({ length: Math.min(all, shown) }, (_, at) => html`<tr key=${at} class=${classes('row', selected === at && 'selected', at === first && 'first-difference', at > first && differs(at) && 'differs')} onClick=${() => select(selected === at ? undefined : at)}>
        <td class="num soft">${at}</td>${both.map((side) => cell(side, at))}</tr>`)}
    <//>
    ${all > shown && html`<button type="button" onClick=${() => show(shown + 10 * SHOWN)}>Show more</button>`}
    ${selected !== undefined && html`<div class="io">${both.map(({ invocation, records }) => html`<section class="detail" aria-label=${`Record ${selected} of ${invocation.id}`}>${records[selected] ? html`<${RecordDetail} record=${records[selected]} owner=${invocation.id} />` : html`<p class="soft">It has no such record.</p>`}</section>`)}</div>`}
    ${ids.map((id) => html`<${Command} line=${segno('inspect', id)} />`)}`;
}
