// One record of a journal.

import { html } from '../dom.js';
import { Json } from '../json.js';
import { absolute } from '../time.js';
import { Text } from '../text.js';

/** What a record says, in a few words. */
export const headline = (record) =>
  record.kind === 'command' ? `${record.command} ${record.name || ''}` : record.kind === 'started' ? `started ${record.name || ''}` : record.kind === 'signal' ? `signal ${record.name || ''}` : record.kind;

export function RecordDetail({ record }) {
  const outcome = record.outcome || {};
  return html`<div class="record">
    <h3>${record.seq} <${Text} text=${headline(record)} most=${200} /> <span class="soft">${absolute(record.at_ms)}</span></h3>
    ${record.module && html`<p class="soft">on the module <code><${Text} text=${record.module} /></code></p>`}
    ${record.request !== undefined && html`<${Json} value=${record.request} label="what was asked" />`}
    ${outcome.failure && html`<div class="note bad"><strong>failed with ${outcome.failure.code}</strong>: <${Text} text=${outcome.failure.message} most=${1500} more />${outcome.failure.details !== undefined && html`<${Json} value=${outcome.failure.details} label="the details" />`}</div>`}
    ${outcome.value !== undefined && html`<${Json} value=${outcome.value} label="the value" />`}
    ${record.outcome && !outcome.failure && outcome.value === undefined && html`<p class="soft">done, without a value</p>`}
  </div>`;
}
