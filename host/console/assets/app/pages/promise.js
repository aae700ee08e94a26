// One promise, whoever settles it.

import { html, useState } from '../dom.js';
import { get, path } from '../api.js';
import { Command, segno } from '../command.js';
import { Settle } from '../execution/actions.js';
import { Json } from '../json.js';
import { useChanges } from '../live.js';
import { Facts, Failed, Heading, Reading } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { State } from '../state.js';
import { Time } from '../time.js';
import { Copy, Id, Text } from '../text.js';
import { schemaOf } from './inbox.js';

export function Promise_({ id }) {
  const of = useRead((signal) => get(path`/v1/promises/${id}`, {}, signal), [id]);
  const [asked, ask] = useState(null);
  const [error, fail] = useState(null);
  useChanges(id, of.again);
  const open = async (promise, how) => {
    try {
      ask({ id, how, schema: how === 'resolve' ? await schemaOf(promise) : null });
    } catch (error) {
      fail(error);
    }
  };
  return html`<${Reading} of=${of}>${(promise) => {
    const produced = promise.tags.target || promise.tags.timer;
    return html`<${Heading} title=${id.slice(0, 60)} aside=${html`<${Copy} text=${id} what="the id" />`}><span class="id"><${Text} text=${id} most=${160} more /></span> <${State} state=${promise.state} /><//>
      ${promise.tags.target && html`<p class="lead">A function produces it: <${Link} to=${['executions', id]}>look at the execution<//>.</p>`}
      <${Failed} error=${error} />
      ${promise.state === 'pending' && !produced && html`<div class="actions"><button type="button" class="primary" onClick=${() => open(promise, 'resolve')}>resolve …</button><button type="button" onClick=${() => open(promise, 'reject')}>reject …</button></div>`}
      <${Facts} facts=${[
        ['Made by', promise.made_by && html`<${Id} id=${promise.made_by} />`], ['Awaited by', promise.awaited_by.length > 0 && promise.awaited_by.map((waiter) => html`<${Id} id=${waiter} most=${60} /> `)],
        ['Created', html`<${Time} at=${promise.created_at_ms} both />`], ['Deadline', promise.timeout_at_ms && html`<${Time} at=${promise.timeout_at_ms} both />`], ['Settled', promise.settled_at_ms && html`<${Time} at=${promise.settled_at_ms} both />`],
      ]} />
      <div class="io">${promise.param !== undefined && html`<section><h2>Parameter</h2><${Json} value=${promise.param} label="the parameter" /></section>`}
        ${promise.value !== undefined && html`<section><h2>Value</h2><${Json} value=${promise.value} label="the value" /></section>`}
        ${promise.failure && html`<section><h2>Failure</h2><${Json} value=${promise.failure} label="the failure" /></section>`}
        ${Object.keys(promise.tags).length > 0 && html`<section><h2>Tags</h2><${Json} value=${promise.tags} label="the tags" /></section>`}</div>
      ${asked && html`<${Settle} ...${asked} onClose=${() => {
        ask(null);
        of.again();
      }} />`}
      <${Command} line=${segno('promise', 'get', id)} />`;
  }}<//>`;
}
