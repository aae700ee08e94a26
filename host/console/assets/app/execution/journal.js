// The journal as a table: every record in its order, searched in all that it holds.

import { classes, html, useMemo, useState } from '../dom.js';
import { oneLine } from '../json.js';
import { Rows } from '../list.js';
import { length } from '../time.js';
import { count, Text } from '../text.js';
import { headline, RecordDetail } from './record.js';

const ROW = 28;

const summary = (record) => {
  if (record.outcome?.failure) return `failed with ${record.outcome.failure.code}: ${record.outcome.failure.message}`.slice(0, 300);
  if (record.outcome?.value !== undefined) return oneLine(record.outcome.value);
  if (record.request !== undefined) return oneLine(record.request);
  return record.outcome ? 'done' : '';
};

export function Journal({ id, records, complete, onMore }) {
  const [words, search] = useState('');
  const [selected, select] = useState(undefined);
  const texts = useMemo(() => new Map(), [records]);
  const found = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    if (!wanted) return records;
    const text = (record) => {
      if (!texts.has(record)) texts.set(record, JSON.stringify(record).toLowerCase());
      return texts.get(record);
    };
    return records.filter((record) => text(record).includes(wanted));
  }, [records, words]);
  const began = records[0]?.at_ms ?? 0;
  const shown = records.find((record) => record.seq === selected);
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !found.length) return;
    event.preventDefault();
    const at = found.findIndex((record) => record.seq === selected);
    select(found[Math.min(found.length - 1, Math.max(0, at + step))].seq);
  };
  if (!records.length) return html`<p class="empty">Nothing is recorded yet.</p>`;
  return html`
    <div class="bar">
      <label class="search"><span class="unseen">Search the journal</span><input type="search" placeholder="Search in all records" value=${words} onInput=${(event) => search(event.target.value)} /></label>
      <span class="soft" role="status">${words ? `${found.length.toLocaleString()} of ` : ''}${count(records.length, 'record')}</span>
    </div>
    <div class=${classes('split', shown && 'open')}>
      <div>
        <div class="journal-row head" aria-hidden="true"><span>#</span><span>after</span><span>record</span><span>content</span></div>
        <${Rows} count=${found.length} row=${ROW} most=${Math.max(320, Math.round(innerHeight * 0.6))} label="Records" role="table" onKeyDown=${keys} at=${selected === undefined ? undefined : found.findIndex((record) => record.seq === selected)} draw=${(at) => {
          const record = found[at];
          return html`<div class=${classes('rows-row', 'journal-row', selected === record.seq && 'chosen')} role="row" key=${record.seq} aria-selected=${String(selected === record.seq)} onClick=${() => select(selected === record.seq ? undefined : record.seq)}>
            <span role="cell" class="num">${record.seq}</span><span role="cell" class="num soft">+${length(record.at_ms - began)}</span>
            <span role="cell">${record.index !== undefined && html`<span class="step-index">#${record.index}</span> `}<button type="button" class="plain-button"><${Text} text=${headline(record)} most=${60} /></button></span>
            <span role="cell" class=${classes('mono', record.outcome?.failure && 'bad')}><${Text} text=${summary(record)} most=${200} /></span>
          </div>`;
        }} />
        ${!complete && html`<button type="button" onClick=${onMore}>Read further records</button>`}
      </div>
      ${shown && html`<section class="detail" aria-label="The record"><button type="button" class="close" aria-label="Close" onClick=${() => select(undefined)}>×</button><${RecordDetail} record=${shown} owner=${id} /></section>`}
    </div>`;
}
