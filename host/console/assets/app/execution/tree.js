// The tree of calls below an execution, across modules and external workers.

import { html, useState } from '../dom.js';
import { get, path } from '../api.js';
import { useRead } from '../read.js';
import { Failed, Reading } from '../parts.js';
import { State } from '../state.js';
import { Elapsed, relative } from '../time.js';
import { count, Id, target, Text } from '../text.js';

export const readTree = (id, query, signal) => get(path`/v1/promises/${id}/tree`, query, signal);

export function Tree({ id, version }) {
  const [depth, setDepth] = useState(8);
  const query = { depth, width: 50, limit: 500 };
  const tree = useRead((signal) => readTree(id, query, signal), [id, depth, version]);
  const [further, setFurther] = useState({ nodes: [], next: undefined, of: null });
  const [error, fail] = useState(null);
  const more = async (next) => {
    try {
      const page = await readTree(id, { ...query, after: next });
      setFurther((was) => ({ nodes: [...(was.of === tree.data ? was.nodes : []), ...page.nodes], next: page.next, of: tree.data }));
    } catch (error) {
      fail(error);
    }
  };
  return html`<${Reading} of=${tree}>${(page) => {
    const added = further.of === page ? further : { nodes: [], next: page.next };
    const next = further.of === page ? further.next : page.next;
    const nodes = [...page.nodes, ...added.nodes];
    return html`
      ${page.path.length > 0 && html`<p class="soft">called by ${page.path.map((above, at) => html`${at > 0 && ' › '}<${Id} id=${above} most=${50} />`)}</p>`}
      <ul class="tree" aria-label="Calls">
        ${nodes.map((node) => html`<${Node} key=${node.id} node=${node} />`)}
      </ul>
      <${Failed} error=${error} />
      ${next && html`<button type="button" onClick=${() => more(next)}>Show more</button>`}
      ${depth < 64 && nodes.some((node) => node.depth === depth && node.left_out) && html`<button type="button" onClick=${() => setDepth(64)}>Show deeper levels</button>`}`;
  }}<//>`;
}

function Node({ node }) {
  const waits = node.waits || [];
  return html`
    ${node.after_gap && html`<li class="gap soft" style=${{ '--depth': node.depth }}>…</li>`}
    <li style=${{ '--depth': node.depth }} aria-level=${node.depth + 1}>
      <span class="tree-kind">${node.kind}</span>
      <${Id} id=${node.id} to=${node.kind === 'call' || node.kind === 'step' ? 'executions' : 'promises'} most=${70} />
      ${node.target && html` <span class="soft"><${Text} text=${target(node.target)} most=${50} /></span>`}
      <${State} state=${node.state} />
      ${node.settled_at_ms && html`<span class="soft"><${Elapsed} from=${node.created_at_ms} until=${node.settled_at_ms} /></span>`}
      ${node.attempt > 0 && html`<span class="warn">${count(node.attempt, 'failed attempt')}${node.retry_at_ms > Date.now() ? `, the next ${relative(node.retry_at_ms)}` : ''}</span>`}
      ${node.holder && html`<span class="soft">held by <${Text} text=${node.holder} most=${40} /></span>`}
      ${waits.length > 0 && html`<span class="soft">waits for ${waits.map((id, at) => html`${at > 0 && ', '}<${Text} text=${id} most=${40} />`)}${node.waits_more && ', …'}</span>`}
      ${node.attempt_error && html`<div class="sub warn">the last: <${Text} text=${node.attempt_error} most=${200} /></div>`}
      ${node.error && html`<div class="sub bad"><${Text} text=${node.error} most=${200} /></div>`}
      ${node.left_out > 0 && html`<div class="sub soft">${count(node.left_out, 'further call')}</div>`}
    </li>`;
}
