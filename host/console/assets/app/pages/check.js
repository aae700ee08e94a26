// What a module does with the executions in flight under a name: the report of a deploy. Nothing is changed by
// it. Without a module it is about the one that the name stands for, and is read again when that changes.

import { html, useEffect, useState } from '../dom.js';
import { get, path, post } from '../api.js';
import { Command, segno } from '../command.js';
import { Divergence } from '../execution/divergence.js';
import { Note } from '../execution/why.js';
import { Empty, Failed, Heading, Table } from '../parts.js';
import { Link } from '../route.js';
import { State } from '../state.js';
import { count, Id, Text } from '../text.js';

/** Executions on a page of the check, and the most that are replayed here. */
const PAGE = 100;
const MOST = 2000;
/** How often it is looked at what the name stands for. */
const LOOK_MS = 5000;

/** The lists, in the order in which they matter: the verdicts, the title, what it means. */
const LISTS = [
  [['diverges'], 'Diverge', 'bad', 'They ask for something else than was recorded. They stay on the code that they began with.'],
  [['fails'], 'Fail', 'bad', 'The module cannot repeat them. They stay on the code that they began with.'],
  [['damaged'], 'Cannot be read', 'bad', 'Their journals are damaged.'],
  [['same'], 'Same so far', 'good', 'Every record is repeated. They can go on with this module: it proves the past, not what is to come.'],
  [['not-started'], 'Not started', 'soft', 'Nothing is recorded yet.'],
  [['there'], 'On it already', 'soft', 'They run on this module.'],
  [['incomparable'], 'Nothing to compare', 'soft', ''],
];

/** Replays what is in flight, a page after the other; `tell` gets all that is known after each. */
async function replay(name, candidate, tell, signal) {
  const items = [];
  let after;
  do {
    const page = await post(path`/v1/modules/${name}/check`, { candidate, limit: PAGE, ...(after ? { after } : {}) });
    if (signal.aborted) return;
    items.push(...page.items);
    after = page.next;
    tell({ candidate: page.candidate, items: [...items], more: after !== undefined, done: after === undefined || items.length >= MOST });
  } while (after !== undefined && items.length < MOST);
}

/** The digest that a name stands for; looked at every now and then while nobody hides the page. */
function useDigest(name, wanted) {
  const [digest, set] = useState(undefined);
  const [error, fail] = useState(null);
  useEffect(() => {
    const abort = new AbortController();
    const look = async () => {
      if (document.hidden) return;
      try {
        set((await get(path`/v1/modules/${name}`, {}, abort.signal)).digest);
        fail(null);
      } catch (error) {
        if (error.name !== 'AbortError') fail(error);
      }
    };
    look();
    const timer = wanted ? 0 : setInterval(look, LOOK_MS);
    return () => {
      abort.abort();
      clearInterval(timer);
    };
  }, [name, wanted]);
  return { digest, error };
}

export function Check({ name, candidate }) {
  const now = useDigest(name, candidate);
  const module = candidate || now.digest;
  const [report, tell] = useState(null);
  const [error, fail] = useState(null);
  useEffect(() => {
    if (!module) return undefined;
    const abort = new AbortController();
    tell(null);
    fail(null);
    replay(name, module, tell, abort.signal).catch((error) => abort.signal.aborted || fail(error));
    return () => abort.abort();
  }, [name, module]);
  return html`<${Heading} title=${`check of ${name}`}>What <code>${(module || '').slice(0, 12)}</code> does with <${Link} to=${['modules', name]}><${Text} text=${name} most=${80} /><//><//>
    <p class="lead">Executions in flight under the name are replayed on the module. Nothing is changed.</p>
    <${Failed} error=${now.error || error} />
    ${!report && !error && html`<p class="empty" aria-busy="true">Replaying …</p>`}
    ${report && html`<${Report} report=${report} />`}
    <${Command} line=${candidate ? segno('deploy', 'FILE.wasm', '--as', name, '--check') : segno('dev', '--as', name)} />`;
}

function Report({ report: { items, more, done } }) {
  const lists = LISTS.map(([verdicts, ...rest]) => [items.filter((each) => verdicts.includes(each.verdict)), ...rest]);
  return html`<p role="status" aria-busy=${done ? undefined : 'true'}>${count(items.length, 'execution')}${more && done ? ', the newest: there are more' : ''}: ${lists.filter(([list]) => list.length).map(([list, title, tone], at) => html`${at > 0 && ', '}<span class=${tone}>${list.length.toLocaleString()} ${title.toLowerCase()}</span>`)}</p>
    ${!items.length && done && html`<${Empty}>Nothing is in flight under this name.<//>`}
    ${lists.filter(([list]) => list.length).map(([list, title, tone, about]) => html`<section><h2 class=${tone}>${title} <span class="count">${list.length.toLocaleString()}</span></h2>${about && html`<p class="soft">${about}</p>`}
      ${tone === 'bad' ? list.slice(0, 100).map((each) => html`<${Differs} of=${each} />`) : html`<${Table} label=${title} columns=${['Execution', 'State', 'Function', 'Records']}>${list.slice(0, 200).map((each) => html`<tr><td><${Id} id=${each.id} most=${60} /></td><td><${State} state=${each.state} /></td><td><${Text} text=${each.function} most=${80} /></td><td class="mono">${each.records.toLocaleString()}</td></tr>`)}<//>`}</section>`)}`;
}

/** One that does not go on with the module: where it leaves the journal, field by field, and in the code. */
function Differs({ of }) {
  const { divergence, error, note } = of.replay || {};
  return html`<article class="card"><header><h3><${Id} id=${of.id} most=${60} /></h3><${State} state=${of.state} /> <span class="soft">${count(of.records, 'record')}</span></header>
    ${divergence ? html`<${Divergence} of=${divergence} />` : html`<p><${Text} text=${error || of.reason || ''} most=${2000} more /></p>`}
    ${note && html`<${Note} note=${note} />`}</article>`;
}
