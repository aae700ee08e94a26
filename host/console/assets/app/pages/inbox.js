// The inbox: promises that wait for people or other systems to settle them, and executions that wait
// for a signal.

import { html, useMemo, useState } from '../dom.js';
import { get, getList, path } from '../api.js';
import { Command, segno } from '../command.js';
import { describe, Settle, Signal } from '../execution/actions.js';
import { promiseName } from '../execution/waits.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { address, go } from '../route.js';
import { Time } from '../time.js';
import { count, Id, Text } from '../text.js';

const MOST = 200;

export function Inbox({ query }) {
  const of = useRead(async (signal) => {
    const items = [];
    let after;
    let looked = 0;
    do {
      const page = await getList('/v1/promises', { state: 'pending', external: true, signals: true, prefix: query.prefix, after, limit: 1000 }, signal);
      items.push(...page.items);
      after = page.next;
      looked += 1;
    } while (after && items.length < MOST && looked < 20);
    return { items: items.slice(0, MOST), more: Boolean(after) || items.length > MOST };
  }, [query.prefix]);
  const [asked, ask] = useState(null);
  const [error, fail] = useState(null);
  const again = useMemo(() => throttled(of.again, 2000), [query.prefix]);
  useChanges('', again);
  const send = (id, known) => ask({ id, how: 'signal', known });
  const open = async (promise, how) => {
    try {
      ask({ id: promise.id, how, schema: how === 'resolve' ? await schemaOf(promise) : null });
      fail(null);
    } catch (error) {
      fail(error);
    }
  };
  return html`<${Heading} title="Inbox" />
    <p class="lead">Promises that somebody settles, and signals that are waited for: an approval, an answer, a result from elsewhere.</p>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}><label class="field"><span class="label">Id begins with</span><input type="search" value=${query.prefix || ''} onChange=${(event) => go(address(['inbox'], { prefix: event.target.value || undefined }))} /></label></form>
    <${Failed} error=${error} />
    <${Reading} of=${of}>${({ items, more }) => html`
      ${!items.length && html`<${Empty}>Nobody waits for anybody.<//>`}
      ${items.length > 0 && html`<${Table} label="Promises" columns=${['Promise or signal', 'For', { name: 'Since', class: 'time' }, { name: 'At the latest', class: 'time' }, '']}>
        ${items.map((promise) => isSignal(promise) ? html`<${SignalRow} key=${promise.id} promise=${promise} onSend=${send} />` : html`<tr key=${promise.id}>
          <td class="main"><${Id} id=${promise.id} to="promises" most=${80} /></td>
          <td>${promise.made_by && html`<${Id} id=${promise.made_by} most=${60} />`}</td>
          <td class="time"><${Time} at=${promise.created_at_ms} /></td>
          <td class="time">${promise.timeout_at_ms ? html`<${Time} at=${promise.timeout_at_ms} />` : html`<span class="soft">for ever</span>`}</td>
          <td class="act"><button type="button" class="primary" onClick=${() => open(promise, 'resolve')}>resolve …</button> <button type="button" onClick=${() => open(promise, 'reject')}>reject …</button></td></tr>`)}
      <//><p class="soft">${count(items.length, 'entry').replace('entrys', 'entries')}${more && ', the first of more: narrow them by the beginning of their ids'}.</p>`}`}<//>
    ${asked && html`<${asked.how === 'signal' ? Signal : Settle} ...${asked} onClose=${() => {
      ask(null);
      of.again();
    }} />`}
    <${Command} line=${segno('promise', 'list', '--state', 'pending', '--external', ...(query.prefix ? ['--prefix', query.prefix] : []))} />`;
}

const isSignal = (promise) => Boolean(promise.made_by) && promise.id.startsWith(`${promise.made_by}/s/`);

/** A schema in a word: its type, or that it is some JSON. */
const typeOf = (schema) => (typeof schema?.type === 'string' ? schema.type : schema?.enum ? 'choice' : 'JSON');

/** An execution that waits for a signal, with those that its function declares. */
function SignalRow({ promise, onSend }) {
  const owner = promise.made_by;
  const of = useRead(async (signal) => {
    const { module, function: name } = await get(path`/v1/invocations/${owner}`, {}, signal);
    const described = await describe(module, name, signal);
    return (described?.messages || []).filter((message) => message.kind === 'signal');
  }, [owner]);
  const known = of.data || [];
  const said = known.map((message) => `${message.name}: ${typeOf(message.schema)}`).join(', ');
  return html`<tr>
    <td class="main">signal <code><${Text} text=${said || 'of any name'} most=${120} /></code><${Failed} error=${of.error} /></td>
    <td><${Id} id=${owner} most=${60} /></td>
    <td class="time"><${Time} at=${promise.created_at_ms} /></td>
    <td class="time"><span class="soft">for ever</span></td>
    <td class="act"><button type="button" class="primary" disabled=${of.reading} onClick=${() => onSend(owner, known)}>signal …</button></td></tr>`;
}

/** The schema of a workflow's named promise, if its module says one. */
export async function schemaOf(promise) {
  const name = promise.made_by && promiseName(promise.made_by, promise.id);
  if (!name) return null;
  const owner = await get(path`/v1/invocations/${promise.made_by}`);
  const of = await describe(owner.module, owner.function);
  return of?.messages?.find((message) => message.kind === 'promise' && message.name === name)?.schema ?? null;
}
