// One module: its functions with their schemas, what it imports, and what a deploy would do to what is
// in flight.

import { html, useMemo, useState } from '../dom.js';
import { get, path } from '../api.js';
import { Command, segno } from '../command.js';
import { Json } from '../json.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Facts, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { length, Time } from '../time.js';
import { Copy, count, Text } from '../text.js';
import { bytes } from './modules.js';

async function read(name, signal) {
  const module = await get(path`/v1/modules/${name}`, {}, signal);
  const { modules } = await get('/v1/modules', {}, signal);
  return { module, others: modules.filter((other) => other.digest !== module.digest) };
}

const retry = (policy) => `after ${length(policy.initial_ms)}, each time ${policy.factor} times as long, at most ${length(policy.max_ms)}${policy.max_attempts ? `; at most ${count(policy.max_attempts, 'attempt')}` : ''}`;

export function Module({ name }) {
  const of = useRead((signal) => read(name, signal), [name]);
  const again = useMemo(() => throttled(of.again, 5000), [name]);
  useChanges('', again);
  return html`<${Reading} of=${of}>${({ module, others }) => {
    const alias = module.aliases.includes(name) ? name : module.aliases[0];
    return html`
    <${Heading} title=${alias || module.digest.slice(0, 12)} aside=${html`<${Copy} text=${module.digest} what="the digest" />`}><${Text} text=${alias || module.digest.slice(0, 12)} /> ${alias && html`<code class="soft">${module.digest.slice(0, 12)}</code>`}<//>
    <${Facts} facts=${[
      ['Names', module.aliases.length ? module.aliases.join(', ') : 'none: nothing is started on it any more'],
      ['In flight', html`${module.in_use.toLocaleString()}${module.in_use >= 10_000 ? '+' : ''}${alias && html` · <${Link} to=${[]} query=${{ module: alias }}>executions<//>`}`],
      ['Size', bytes(module.size)], ['Uploaded', html`<${Time} at=${module.created_at_ms} both />`],
    ]} />
    <h2>Functions</h2>
    ${!module.functions.length && html`<${Empty}>It has none.<//>`}
    ${module.functions.map((each) => html`<${Function_} key=${each.name} of=${each} module=${alias || module.digest} alias=${alias} />`)}
    <${Check} alias=${alias} module=${module} others=${others} />
    ${module.imports.length > 0 && html`<details><summary><h2>Imports</h2></summary><${Table} label="Imports" columns=${['Interface', 'A workflow is', 'Note']}>
      ${module.imports.map((each) => html`<tr><td><code><${Text} text=${each.name} /></code></td><td>${each.status}</td><td class="soft"><${Text} text=${each.note || ''} /></td></tr>`)}<//></details>`}
    <${Command} line=${segno('modules', alias || module.digest.slice(0, 12))} />`;
  }}<//>`;
}

function Function_({ of, module, alias }) {
  const [object, method] = of.name.includes('/') ? of.name.split('/') : [];
  return html`<section class="card">
    <header><h3><${Text} text=${of.name} /></h3><span class="tag">${of.kind}</span>${of.access && html`<span class="tag">${of.access}</span>`}${of.limit && html`<${Link} to=${['limits', alias || module, of.name]} class="tag">limited<//>`}
      <span class="grow"></span>${alias && html`<${Link} to=${[]} query=${{ module: alias, function: of.name, calls: 'true' }}>executions<//>`} ${alias && of.kind === 'workflow' && html`<${Link} to=${['rerun']} query=${{ function: `${alias}/${of.name}` }}>rerun<//>`} ${alias && html`<${Link} to=${['start', alias, of.name]} class="button">Start …<//>`}</header>
    ${of.summary && html`<p><${Text} text=${of.summary} most=${600} more /></p>`}
    <${Facts} facts=${[object && ['Object', html`<${Text} text=${`${object}, its function ${method}`} />`], of.timeout_ms && ['Time limit', length(of.timeout_ms)], of.retry && ['Retries', retry(of.retry)]]} />
    <details><summary>schemas${of.messages?.length || of.handlers?.length ? ', messages and handlers' : ''}</summary>
      <div class="io"><section><h4>Input</h4><${Json} value=${of.input_schema} label="the schema" /></section><section><h4>Output</h4><${Json} value=${of.output_schema} label="the schema" /></section></div>
      ${(of.messages || []).map((message) => html`<h4>${message.kind} <${Text} text=${message.name} /></h4><${Json} value=${message.schema} label="the schema" />`)}
      ${(of.handlers || []).map((handler) => html`<h4>${handler.kind} <${Text} text=${handler.name} /></h4><${Json} value=${{ input: handler.input_schema, output: handler.output_schema }} label="the schemas" />`)}
    </details></section>`;
}

/** The way to the report of another module, or of this one. */
function Check({ alias, module, others }) {
  const [candidate, choose] = useState(others[0]?.digest || '');
  if (!alias) return null;
  const other = candidate || module.digest;
  return html`<section><h2>What is in flight</h2>
    <p class="soft">Executions under <${Text} text=${alias} /> are replayed on a module. Nothing is changed.</p>
    <div class="bar"><${Link} to=${['modules', alias, 'check']} class="button">Check on what the name stands for<//>
      ${others.length > 0 && html`<label>or on <select value=${candidate} onChange=${(event) => choose(event.target.value)}>${others.map((other) => html`<option value=${other.digest}>${other.aliases.join(', ') || 'no name'} ${other.digest.slice(0, 12)}</option>`)}</select></label>
      <${Link} to=${['modules', alias, 'check', other]} class="button">Check<//>`}</div></section>`;
}
