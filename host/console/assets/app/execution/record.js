// One record of a journal.

import { html } from '../dom.js';
import { get, path } from '../api.js';
import { Json } from '../json.js';
import { absolute } from '../time.js';
import { Failed } from '../parts.js';
import { useRead } from '../read.js';
import { Text } from '../text.js';

/** Commands whose input is that of an execution of their own. */
const CALLS = new Set(['call', 'send', 'http']);

/** Whether a field of a record stands for a longer value that the record does not have. */
const isDigest = (value) => typeof value?.sha256 === 'string' && Object.keys(value).sort().join() === 'bytes,sha256';

/** The whole input of a call, read from what it made. */
function Input({ id }) {
  const of = useRead((signal) => get(path`/v1/invocations/${id}`, {}, signal), [id]);
  if (of.error) return html`<${Failed} error=${of.error} />`;
  return of.data ? html`<h4>Input</h4><${Json} value=${of.data.input} label="the input" />` : html`<p class="empty" aria-busy="true">…</p>`;
}

/** What a record says, in a few words. */
export const headline = (record) =>
  record.kind === 'command' ? `${record.command} ${record.name || ''}` : record.kind === 'started' ? `started ${record.name || ''}` : record.kind === 'signal' ? `signal ${record.name || ''}` : record.kind;

/** `owner` is the id of the execution whose record it is. */
export function RecordDetail({ record, owner }) {
  const outcome = record.outcome || {};
  const { input, ...rest } = record.request ?? {};
  const isCut = owner && CALLS.has(record.command) && isDigest(input);
  return html`<div class="record">
    <h3>${record.seq} <${Text} text=${headline(record)} most=${200} /> <span class="soft">${absolute(record.at_ms)}</span></h3>
    ${record.module && html`<p class="soft">on the module <code><${Text} text=${record.module} /></code></p>`}
    ${record.request !== undefined && html`<${Json} value=${isCut ? rest : record.request} label="what was asked" />`}
    ${isCut && html`<${Input} id=${`${owner}/${record.index}`} />`}
    ${outcome.failure && html`<div class="note bad"><strong>failed with ${outcome.failure.code}</strong>: <${Text} text=${outcome.failure.message} most=${1500} more />${outcome.failure.details !== undefined && html`<${Json} value=${outcome.failure.details} label="the details" />`}</div>`}
    ${outcome.value !== undefined && html`<${Json} value=${outcome.value} label="the value" />`}
    ${record.outcome && !outcome.failure && outcome.value === undefined && html`<p class="soft">done, without a value</p>`}
  </div>`;
}
