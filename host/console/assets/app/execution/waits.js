// What an execution waits for, and what a person can do about it.

import { html, useState } from '../dom.js';
import { State } from '../state.js';
import { relative } from '../time.js';
import { count, Id, target, Text } from '../text.js';
import { Settle } from './actions.js';

/** The name by which a workflow knows its promise. */
export const promiseName = (owner, id) => (id.startsWith(`${owner}/p/`) ? id.slice(owner.length + 3) : undefined);

export function Waits({ invocation, described, onDone }) {
  const [asked, ask] = useState(null);
  const schemaOf = (id) => (described?.messages || []).find((message) => message.kind === 'promise' && message.name === promiseName(invocation.id, id))?.schema;
  if (!invocation.waits.length) return null;
  return html`<section class="waits" aria-label="What it waits for"><h2>Waits for</h2><ul class="plain">
    ${invocation.waits.slice(0, 20).map((wait) => html`<li key=${wait.id}>
      <span class="tree-kind">${wait.kind}</span> <${Id} id=${wait.id} to=${wait.kind === 'call' || wait.kind === 'turn' ? 'executions' : 'promises'} most=${70} />
      ${wait.target && html` <span class="soft"><${Text} text=${target(wait.target)} most=${50} /></span>`} ${wait.state && html`<${State} state=${wait.state} />`}
      ${wait.until_at_ms && html` <span class="soft">${relative(wait.until_at_ms)}${wait.kind === 'timer' ? '' : ' at the latest'}</span>`}
      ${wait.attempt > 0 && html` <span class="warn">${count(wait.attempt, 'failed attempt')}${wait.retry_at_ms > Date.now() ? `, the next ${relative(wait.retry_at_ms)}` : ''}</span>`}
      ${wait.kind === 'promise' && !wait.id.startsWith(`${invocation.id}/u/`) && html` <button type="button" class="primary" onClick=${() => ask({ id: wait.id, how: 'resolve' })}>resolve …</button> <button type="button" onClick=${() => ask({ id: wait.id, how: 'reject' })}>reject …</button>`}
      ${wait.note && html`<div class="sub warn"><${Text} text=${`${wait.note.kind}: ${wait.note.message}`} most=${240} more /></div>`}
    </li>`)}
    ${invocation.waits_count > 20 && html`<li class="soft">and ${invocation.waits_count - 20} more</li>`}</ul>
    ${asked && html`<${Settle} ...${asked} schema=${schemaOf(asked.id)} onClose=${(done) => {
      ask(null);
      if (done) onDone();
    }} />`}</section>`;
}
