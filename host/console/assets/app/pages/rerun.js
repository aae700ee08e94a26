// Recorded executions run again in memory, with other code: rows page by page, sums, and equal differences.
// Nothing is stored. It stops when the page is left.

import { classes, html, useEffect, useRef, useState } from '../dom.js';
import { get, post } from '../api.js';
import { Command, segno } from '../command.js';
import { Empty, Facts, Failed, Field, Heading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { address, go } from '../route.js';
import { length } from '../time.js';
import { count, Id, Text } from '../text.js';

/** Executions of one request, and those that are run if nothing else is wished for. */
const PAGE = 8;
const USUAL = 20;
const MOST = 1000;
/** Executions that are named with each difference. */
const NAMED = 3;

/** The verdicts in the order of the sums: the words of the sums, and what colour they have. */
const VERDICTS = {
  same: ['the same', 'good'],
  differs: ['with another outcome', 'warn'],
  failed: ['failed', 'bad'],
  diverged: ['diverged', 'bad'],
  unanswered: ['without an answer', 'warn'],
  skipped: ['skipped', 'off'],
};
const POLICIES = [['stop', 'end the run there'], ['fail', 'fail with code 404'], ['null', 'get null']];

/** The request for a query of the address. */
const requestOf = ({ function: name, label, module, unanswered }) => ({
  filter: { ...(name ? { function: name } : {}), ...(label ? { labels: [label] } : {}) },
  ...(module ? { module } : {}),
  unanswered: unanswered || 'stop',
});

const wanted = (query) => Math.min(MOST, Math.max(1, Math.round(Number(query.count)) || USUAL));

/** Runs them, a page after the other; `tell` gets all rows after each. */
async function run(query, tell, signal) {
  const rows = [];
  let after;
  do {
    const limit = Math.min(PAGE, wanted(query) - rows.length);
    const page = await post('/v1/rerun', { ...requestOf(query), limit, ...(after ? { after } : {}) }, signal);
    if (signal.aborted) return;
    rows.push(...page.items);
    after = page.next;
    tell({ rows: [...rows], done: after === undefined || rows.length >= wanted(query), more: after !== undefined });
  } while (after !== undefined && rows.length < wanted(query));
}

export function Rerun({ query }) {
  const [draft, setDraft] = useState(query);
  const [report, tell] = useState(null);
  const [error, fail] = useState(null);
  const running = useRef(null);
  const modules = useRead((signal) => get('/v1/modules', {}, signal), []);
  useEffect(() => setDraft(query), [JSON.stringify(query)]);
  useEffect(() => () => running.current?.abort(), []);
  const stop = () => {
    running.current?.abort();
    tell((was) => was && { ...was, done: true, stopped: true });
  };
  const start = async (event) => {
    event.preventDefault();
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    go(address(['rerun'], draft), true);
    fail(null);
    tell({ rows: [], done: false });
    try {
      await run(draft, tell, abort.signal);
    } catch (error) {
      if (abort.signal.aborted) return;
      fail(error);
      tell((was) => was && { ...was, done: true, stopped: true });
    }
  };
  const known = modules.data?.modules || [];
  const functions = known.flatMap((module) => module.aliases.flatMap((alias) => module.functions.filter((each) => each.kind === 'workflow').map((each) => `${alias}/${each.name}`)));
  const change = (name) => (event) => setDraft({ ...draft, [name]: event.target.value || undefined });
  const busy = report && !report.done;
  const line = segno('rerun', ...['function', 'label', 'module', 'unanswered'].flatMap((name) => (draft[name] ? [`--${name}`, draft[name]] : [])), '--limit', wanted(draft));
  return html`<${Heading} title="Rerun">Run executions again<//>
    <p class="lead">Executions that have ended run again in memory, and their own journals answer them. Nothing is stored, and nothing is done outside.</p>
    <form class="filters" aria-label="What is run again" onSubmit=${start}>
      <${Field} label="Function"><input name="function" list="rerun-functions" value=${draft.function || ''} placeholder="shop/order" autocomplete="off" spellcheck="false" onInput=${change('function')} />
        <datalist id="rerun-functions">${functions.map((name) => html`<option value=${name} />`)}</datalist><//>
      <${Field} label="Label"><input name="label" value=${draft.label || ''} placeholder="name=value" autocomplete="off" spellcheck="false" onInput=${change('label')} /><//>
      <${Field} label="Executions"><input name="count" type="number" min="1" max=${MOST} value=${draft.count ?? USUAL} onInput=${change('count')} /><//>
      <${Field} label="Module to run"><select name="module" value=${draft.module || ''} onChange=${change('module')}>
        <option value="">the one that each ran</option>
        ${draft.module && !known.some((module) => module.digest === draft.module || module.aliases.includes(draft.module)) && html`<option value=${draft.module}>${draft.module}</option>`}
        ${known.flatMap((module) => [...module.aliases, ...(module.aliases.length ? [] : [module.digest])]).map((name) => html`<option value=${name}>${name.length === 64 ? name.slice(0, 12) : name}</option>`)}
      </select><//>
      <${Field} label="Without an answer, commands"><select name="unanswered" value=${draft.unanswered || 'stop'} onChange=${change('unanswered')}>
        ${POLICIES.map(([name, words]) => html`<option value=${name}>${words}</option>`)}
      </select><//>
      ${busy ? html`<button type="button" onClick=${stop}>Stop</button>` : html`<button type="submit" class="primary">Run</button>`}
    </form>
    <${Failed} error=${error} />
    ${report && html`<${Report} report=${report} />`}
    <${Command} line=${line} />`;
}

/** Adds the costs of the rows, by unit. */
function costs(rows, name) {
  const sums = {};
  for (const row of rows) for (const [unit, amount] of Object.entries(row[name] || {})) sums[unit] = (sums[unit] || 0) + amount;
  return sums;
}

const amounts = (sums) => Object.keys(sums).sort().map((unit) => `${unit} ${sums[unit].toLocaleString(undefined, { maximumFractionDigits: 6 })}`).join(', ');

/** Rows that do not end as recorded, by equal differences: the largest group first, what was skipped last. */
function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows.filter((each) => each.difference !== undefined)) {
    const key = `${row.verdict} ${row.difference}`;
    if (!groups.has(key)) groups.set(key, { verdict: row.verdict, difference: row.difference, rows: [] });
    groups.get(key).rows.push(row);
  }
  return [...groups.values()].sort((one, other) => (one.verdict === 'skipped') - (other.verdict === 'skipped') || other.rows.length - one.rows.length);
}

const Verdict = ({ of }) => html`<span class=${`state ${VERDICTS[of]?.[1] ?? 'off'}`}><i aria-hidden="true"></i>${of}</span>`;

function Report({ report: { rows, done, stopped, more } }) {
  const ran = rows.filter((row) => row.verdict !== 'skipped');
  const sum = (name) => ran.reduce((all, row) => all + (row[name] || 0), 0);
  const parts = Object.entries(VERDICTS).map(([verdict, [words, tone]]) => [rows.filter((row) => row.verdict === verdict).length, words, tone]).filter(([number]) => number);
  const [recorded, taken] = [amounts(costs(rows, 'recorded_cost')), amounts(costs(rows, 'cost'))];
  if (!rows.length && done && !stopped) return html`<${Empty}>No executions match.<//>`;
  return html`<p role="status" class="lead" aria-busy=${done ? undefined : 'true'}>${count(rows.length, 'execution')}${parts.length > 0 && ': '}${parts.map(([number, words, tone], at) => html`${at > 0 && ', '}<span class=${tone === 'off' ? 'soft' : tone}>${number.toLocaleString()} ${words}</span>`)}${stopped ? '. It was stopped' : !done ? ' …' : more ? '. There are more' : ''}</p>
    ${ran.length > 0 && html`<${Facts} facts=${[
      ['Commands', `${sum('answered').toLocaleString()} answered, ${sum('unanswered').toLocaleString()} new`],
      ['Recorded in', length(sum('duration_ms'))],
      recorded && ['Recorded cost', recorded],
      recorded && ['Of it taken over', taken || 'nothing'],
    ]} />`}
    ${groupsOf(rows).map((group) => html`<${Group} key=${`${group.verdict} ${group.difference}`} of=${group} />`)}
    ${rows.length > 0 && html`<h2>Executions</h2><${Table} label="Executions" class="list" columns=${['Id', 'Result', { name: 'Before', class: 'wide-only' }, 'After', { name: 'Answered', class: 'num' }, { name: 'New', class: 'num' }, { name: 'Took', class: 'num' }]}>
      ${rows.map((row) => html`<${Row} key=${row.id} of=${row} />`)}<//>`}`;
}

const outcome = ({ value, failure }) => (failure ? `failed with ${failure.code}: ${failure.message}` : JSON.stringify(value ?? null));

function Row({ of }) {
  const number = (name) => (of.verdict === 'skipped' ? '–' : of[name].toLocaleString());
  return html`<tr>
    <td class="main"><${Id} id=${of.id} most=${60} /></td>
    <td class="how"><${Verdict} of=${of.verdict} /></td>
    <td class="wide-only">${of.before && html`<code><${Text} text=${outcome(of.before)} most=${60} /></code>`}</td>
    <td class="what">${of.after ? html`<code><${Text} text=${outcome(of.after)} most=${60} /></code>` : html`<${Text} text=${of.reason || ''} most=${100} />`}</td>
    <td class="num">${number('answered')}</td><td class="num">${number('unanswered')}</td>
    <td class="num">${of.duration_ms === undefined ? '–' : length(of.duration_ms)}</td></tr>`;
}

const shown = (value) => (value === undefined ? '(absent)' : JSON.stringify(value));

/** The first place at which two outcomes differ; failures as people read them. */
function Difference({ of: { before, after, output } }) {
  const whole = output.path === '$';
  const code = (value) => html`<code><${Text} text=${value} most=${200} more /></code>`;
  return html`<${Facts} facts=${[
    [whole ? 'before' : `${output.path} before`, code(whole ? outcome(before) : shown(output.before))],
    ['after', code(whole ? outcome(after) : shown(output.after))],
  ]} />`;
}

function Group({ of: { verdict, difference, rows } }) {
  const [first] = rows;
  return html`<article class="card"><header><h3><${Verdict} of=${verdict} /> ${count(rows.length, 'execution')}</h3>
      <span>${rows.slice(0, NAMED).map((row, at) => html`${at > 0 && ', '}<${Id} id=${row.id} most=${40} />`)}${rows.length > NAMED && ` and ${rows.length - NAMED} more`}</span></header>
    <p class=${classes('note', verdict === 'skipped' && 'soft')}><${Text} text=${difference} most=${400} more /></p>
    ${first.output ? html`<${Difference} of=${first} />` : verdict !== 'skipped' && first.reason && first.reason !== difference && html`<p class="soft note"><${Text} text=${first.reason} most=${300} more /></p>`}</article>`;
}
