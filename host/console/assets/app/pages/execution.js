// One execution: how it stands and why, what can be done, and its history in several views.

import { html, useEffect, useMemo, useRef, useState } from '../dom.js';
import { get, path } from '../api.js';
import { Command, segno } from '../command.js';
import { Actions, describe } from '../execution/actions.js';
import { Budget } from '../execution/budget.js';
import { Graph } from '../execution/graph.js';
import { Journal } from '../execution/journal.js';
import { Logs } from '../execution/logs.js';
import { Sagas } from '../execution/sagas.js';
import { readStreams, Streams } from '../execution/streams.js';
import { Timeline } from '../execution/timeline.js';
import { readTree, Tree } from '../execution/tree.js';
import { Waits } from '../execution/waits.js';
import { behind, Note, readWhy, Why } from '../execution/why.js';
import { Json } from '../json.js';
import { throttled, useChanges } from '../live.js';
import { Facts, Failed, Heading, Reading, Tabs } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { State } from '../state.js';
import { Elapsed, length, Time } from '../time.js';
import { Copy, count, Id, target, Text } from '../text.js';

const AT_ONCE = 10_000;
/** Calls whose states are shown in the timeline. */
const CALLS = 1000;
const READ_EVERY_MS = 700;

async function read(id, signal) {
  const [invocation, why] = await Promise.all([get(path`/v1/invocations/${id}`, {}, signal), readWhy(id, signal)]);
  const described = await describe(invocation.module, invocation.function, signal).catch(() => undefined);
  return { invocation, why, described };
}

/** The journal so far, of the generation that `id` stands for; further records are appended as there are more. */
function useJournal(id, generation, version, wanted) {
  const [state, set] = useState({ records: [], nodes: new Map(), complete: true, error: null, read: false });
  const held = useRef({ records: [], limit: AT_ONCE });
  const load = async (signal, nodesToo = true) => {
    try {
      const { records } = held.current;
      const fresh = [];
      let from = records.length;
      let next;
      do {
        const page = await get(path`/v1/invocations/${id}/journal`, { from, limit: AT_ONCE }, signal);
        fresh.push(...page.records);
        next = page.next;
        from = next;
      } while (next !== undefined && records.length + fresh.length < held.current.limit);
      const nodes = nodesToo ? await calls(generation, signal) : undefined;
      if (signal?.aborted) return;
      held.current.records = fresh.length ? [...records, ...fresh] : records;
      set((was) => ({ records: held.current.records, nodes: nodes || was.nodes, complete: next === undefined, error: null, read: true }));
    } catch (error) {
      if (error.name !== 'AbortError') set((was) => ({ ...was, error, read: true }));
    }
  };
  useEffect(() => {
    if (!wanted) return undefined;
    const abort = new AbortController();
    load(abort.signal);
    return () => abort.abort();
  }, [id, generation, version, wanted]);
  const more = () => {
    held.current.limit = held.current.records.length + AT_ONCE;
    load(undefined, false);
  };
  return { ...state, more };
}

/** The calls of an execution, by id. */
async function calls(id, signal) {
  try {
    const tree = await readTree(id, { depth: 1, limit: CALLS }, signal);
    return new Map(tree.nodes.map((node) => [node.id, node]));
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return new Map();
  }
}

export function Execution({ id, tab = 'timeline', query = {} }) {
  const of = useRead((signal) => read(id, signal), [id]);
  const [version, change] = useState(0);
  const again = useMemo(() => throttled(() => {
    of.again();
    change((was) => was + 1);
  }, READ_EVERY_MS), [id]);
  const seen = useRef(null);
  seen.current = of.data?.invocation;
  useChanges(id, ({ ids, missed }) => {
    // What has ended does not change, unless it is told of.
    if (ids.length || missed || !seen.current?.settled_at_ms) again();
  });
  return html`${!of.data && html`<${Heading} title=${id.slice(0, 60)}><span class="id"><${Text} text=${id} most=${160} /></span><//>`}<${Reading} of=${of}>${(data) => html`<${Shown} ...${data} id=${id} tab=${tab} stream=${query.stream} version=${version} again=${again} />`}<//>
    ${of.error?.code === 'unknown-invocation' && html`<p><${Link} to=${['promises', id]}>Look for a promise with this id<//> or at <${Link} to=${[]}>all executions<//>.</p>`}`;
}

/** Signals that it has not read, and promises that were settled before it makes them, in words. */
function unread({ signals, promises = [] }) {
  const parts = [signals > 0 && count(signals, 'signal'), promises.length > 0 && html`the early ${promises.length > 1 ? 'promises' : 'promise'} ${promises.slice(0, 20).map((name, at) => html`${at > 0 && ', '}<code><${Text} text=${name} most=${60} /></code>`)}${promises.length > 20 && ` and ${promises.length - 20} more`}`].filter(Boolean);
  return html`${parts[0]}${parts[1] && html` and ${parts[1]}`}`;
}

/** Which generation of an invocation it is, and the way to the others. */
function Generation({ of: { of, number, generations } }) {
  const to = (other, words) => html` <${Link} to=${['executions', `${of}/g/${other}`]}>${words}<//>`;
  return html`${number} of ${generations} of <${Id} id=${of} most=${50} />${number > 1 && to(number - 1, 'earlier')}${number < generations && html`${number + 1 < generations && to(number + 1, 'later')}${to(generations, 'newest')}`}`;
}

function Shown({ id, invocation, why, described, tab, stream, version, again }) {
  const { generation } = invocation;
  // An older generation has ended; what goes on is the newest.
  const over = generation?.next;
  const waiters = invocation.awaited_by.filter((waiter) => waiter !== generation?.of);
  const isGraph = invocation.target === 'segno:graph';
  const journal = useJournal(id, invocation.id, version, tab === 'timeline' || tab === 'journal');
  const streams = useRead((signal) => readStreams(id, signal), [id]);
  useEffect(() => {
    if (version) streams.again();
  }, [version]);
  const at = (name, title, number) => ({ to: name === 'timeline' ? ['executions', id] : ['executions', id, name], name: title, count: number, here: tab === name });
  const module = invocation.target.startsWith('wasm://') ? target(invocation.target).split('/')[0] : undefined;
  const title = id.length > 60 ? `${id.slice(0, 60)}…` : id;
  return html`
    <${Heading} title=${title} aside=${html`${invocation.journal_len > 0 && html`<${Link} to=${['compare', id]}>compare<//> `}${module && invocation.journal_len > 0 && html`<${Link} to=${['rerun']} query=${{ function: target(invocation.target).replace(/@[^/]*/, '') }}>rerun<//> `}<${Copy} text=${id} what="the id" />`}><span class="id"><${Text} text=${id} most=${160} more /></span> ${over ? html`<span class="state off"><i aria-hidden="true"></i>handed over</span>` : html`<${State} state=${invocation.state} killed=${invocation.killed} />`}<//>
    <p class="lead"><${Link} to=${module ? ['modules', invocation.module || module] : ['modules']}><${Text} text=${target(invocation.target)} most=${120} /><//>${invocation.parent && html` called by <${Id} id=${invocation.parent} most=${60} />`}${invocation.forked_from && html` forked from <${Id} id=${invocation.forked_from.id} most=${60} /> after ${count(invocation.forked_from.records, 'record')}`}${invocation.schedule && html` started by <${Link} to=${['schedules', invocation.schedule]}>the schedule <${Text} text=${invocation.schedule} most=${60} /><//>`}</p>
    ${over && html`<div class="why"><p class="why-line">It continued as new: <${Id} id=${over} most=${60} /> began in its place.</p></div>`}
    ${!invocation.settled_at_ms && !over && html`<${Why} id=${invocation.id} why=${why} />`}
    ${invocation.failure && html`<div class="why bad"><p class="why-line">failed with ${invocation.failure.code}: <${Text} text=${invocation.failure.message} most=${1000} more /></p>${invocation.failure.details !== undefined && html`<${Json} value=${invocation.failure.details} label="the details" />`}</div>`}
    ${invocation.settled_at_ms && invocation.note && html`<${Note} note=${invocation.note} />`}
    ${invocation.settled_at_ms && invocation.unread && html`<div class="why warn"><p class="why-line">It ended and never read ${unread(invocation.unread)}.</p></div>`}
    <${Actions} invocation=${{ ...invocation, id }} over=${over} described=${described} onDone=${again} />
    ${!invocation.settled_at_ms && !over && html`<${Waits} invocation=${invocation} described=${described} onDone=${again} />`}
    <${Facts} facts=${[
      ['Created', html`<${Time} at=${invocation.created_at_ms} both />`],
      invocation.start_at_ms > invocation.created_at_ms && ['Starts', html`<${Time} at=${invocation.start_at_ms} both />`],
      invocation.settled_at_ms ? ['Ended', html`<${Time} at=${invocation.settled_at_ms} both /> after ${length(invocation.settled_at_ms - invocation.created_at_ms)}`] : !over && ['For', html`<${Elapsed} from=${invocation.created_at_ms} />`],
      invocation.timeout_at_ms && !invocation.settled_at_ms && ['Deadline', html`<${Time} at=${invocation.timeout_at_ms} both />`],
      ['Module', invocation.module && html`<${Link} to=${['modules', invocation.module]}><code>${invocation.module.slice(0, 12)}</code><//>`],
      invocation.attempt > 0 && ['Attempts', html`<span class="warn">${count(invocation.attempt, 'failed attempt')}</span>`],
      invocation.lease && ['Runs on', html`<${Text} text=${invocation.lease.node} />`],
      invocation.limit && ['Limit', behind(invocation.limit)],
      !invocation.settled_at_ms && invocation.unread && ['Unread', unread(invocation.unread)],
      generation && ['Generation', html`<${Generation} of=${generation} />`],
      invocation.cancel !== 'none' && ['Cancellation', invocation.cancel],
      Object.keys(invocation.labels).length > 0 && ['Labels', Object.entries(invocation.labels).map(([name, value]) => html`<${Link} to=${[]} query=${{ label: `${name}=${value}` }} class="tag"><${Text} text=${`${name}=${value}`} most=${80} /><//>`)],
      waiters.length > 0 && ['Awaited by', waiters.slice(0, 5).map((waiter) => html`<${Id} id=${waiter} most=${50} /> `)],
      invocation.progress && ['Progress', html`<${Text} text=${JSON.stringify(invocation.progress.value)} most=${200} more />, <${Time} at=${invocation.progress.at_ms} />`],
    ]} />
    ${(invocation.budget || []).length > 0 && html`<${Budget} id=${invocation.id} budget=${invocation.budget} />`}
    <div class="io short">
      <section aria-label="Input"><h2>Input</h2><${Json} value=${invocation.input} label="the input" /></section>
      ${invocation.output !== undefined && html`<section aria-label="Output"><h2>Output</h2><${Json} value=${invocation.output} label="the output" /></section>`}
    </div>
    <${Tabs} label="Views" tabs=${[at('timeline', 'Timeline'), at('journal', 'Journal', invocation.journal_len), at('logs', 'Logs'), at('streams', 'Streams', streams.data?.length || undefined), at('tree', 'Calls'), isGraph && at('graph', 'Graph'), (invocation.sagas || []).length > 0 && at('sagas', 'Sagas', invocation.sagas.length)]} />
    ${(tab === 'timeline' || tab === 'journal') && html`<${Failed} error=${journal.error} />`}
    ${tab === 'timeline' && (journal.read ? html`<${Timeline} invocation=${invocation} records=${journal.records} nodes=${journal.nodes} complete=${journal.complete} onMore=${journal.more} />` : html`<p class="empty" aria-busy="true">…</p>`)}
    ${tab === 'journal' && journal.read && html`<${Journal} id=${invocation.id} records=${journal.records} complete=${journal.complete} onMore=${journal.more} />`}
    ${tab === 'logs' && html`<${Logs} id=${id} version=${version} />`}
    ${tab === 'streams' && html`<${Streams} id=${id} streams=${streams} name=${stream} />`}
    ${tab === 'tree' && html`<${Tree} id=${invocation.id} version=${version} />`}
    ${tab === 'graph' && html`<${Graph} id=${id} version=${version} />`}
    ${tab === 'sagas' && html`<${Sagas} id=${id} version=${version} onDone=${again} />`}
    <${Command} line=${{ journal: segno('inspect', id), logs: segno('logs', id), streams: segno('stream', id, ...(stream ? [stream] : [])), tree: segno('tree', id), graph: segno('graph', 'show', id), sagas: segno('saga', 'show', id) }[tab] || segno('inspect', id)} />`;
}
