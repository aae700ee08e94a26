// The sagas of an execution: what acted, what is undone, and what a person has to say.

import { html, useState } from '../dom.js';
import { get, path } from '../api.js';
import { segno } from '../command.js';
import { useRead } from '../read.js';
import { Reading, Table } from '../parts.js';
import { Id, target, Text } from '../text.js';
import { Act } from './act.js';

const WORDS = { forward: 'in progress', kept: 'nothing undone', unwinding: 'is unwound', undone: 'undone', failed: 'could not be undone', unclear: 'a step is unclear' };

export function Sagas({ id, version, onDone }) {
  const sagas = useRead((signal) => get(path`/v1/invocations/${id}/sagas`, {}, signal), [id, version]);
  const [asked, ask] = useState(null);
  return html`<${Reading} of=${sagas}>${(page) => html`
    ${page.items.map((saga) => html`<section key=${saga.name}><h2><${Text} text=${saga.name} /> <span class=${['failed', 'unclear'].includes(saga.state) ? 'bad' : 'soft'}>${WORDS[saga.state]}</span></h2>
      <${Table} label=${`Steps of ${saga.name}`} columns=${['Step', 'Function', 'State', 'Undone by', 'Undoing']}>
        ${saga.steps.map((step) => html`<tr><td class="main"><${Id} id=${step.id} most=${50} /></td><td><${Text} text=${step.function || 'HTTP request'} /></td>
          <td>${step.state}${step.question && html`<div class="sub">${[true, false].map((acted) => html`<button type="button" onClick=${() => ask({ saga, step, acted })}>${acted ? 'it acted' : 'it did not act'}</button> `)}</div>`}</td>
          <td><${Text} text=${target(step.compensate)} most=${60} /></td>
          <td>${step.undo ? html`<${Id} id=${step.undo.id} most=${50} /> ${step.undo.state}${step.undo.failure && html`<div class="sub bad"><${Text} text=${step.undo.failure.message} /></div>`}` : step.registered ? 'if need be' : ''}</td></tr>`)}
      <//></section>`)}
    ${page.incomplete && html`<p class="soft">Only the first 20,000 children were looked at: steps may be missing.</p>`}
    ${asked && html`<${Act} title=${`Step ${asked.step.seq} ${asked.acted ? 'acted' : 'did not act'}`} about="The answer is final: a step that acted is undone, one that did not act is skipped." verb="Answer"
      to=${asked.acted ? path`/v1/promises/${asked.step.question}/resolve` : path`/v1/promises/${asked.step.question}/reject`} body=${() => (asked.acted ? {} : { failure: { code: 404, message: 'it did not act' } })}
      line=${() => segno('saga', 'settle', id, asked.saga.name, asked.step.seq, asked.acted ? '--acted' : '--not-acted')} onClose=${(done) => {
        ask(null);
        if (done) onDone();
      }} />`}`}<//>`;
}
