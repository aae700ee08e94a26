// Limits of functions: what holds, who runs and who waits.

import { html, useMemo, useState } from '../dom.js';
import { get, getList, path, put, remove } from '../api.js';
import { Command, segno } from '../command.js';
import { Act } from '../execution/act.js';
import { draftOf, ValueForm } from '../form.js';
import { Json } from '../json.js';
import { throttled, useChanges } from '../live.js';
import { Dialog, Empty, Facts, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { length, relative } from '../time.js';
import { Text } from '../text.js';

const bounds = (of) => [of?.concurrency && `${of.concurrency} at a time`, of?.rate && `${of.rate.count} in ${length(of.rate.period_ms)}`].filter(Boolean).join(', ');

/** A rule in words. */
function words(rule) {
  if (!rule) return 'not limited';
  const each = bounds(rule.per_key);
  return [each && `${each}${rule.key ? ` for each ${rule.key}` : ''}`, rule.total && `${bounds(rule.total)} in all`, rule.priority && `by ${rule.priority.path}`, rule.singleton && `singleton: ${rule.singleton}`, rule.debounce && `debounced by ${length(rule.debounce.period_ms)}`].filter(Boolean).join('; ');
}

const split = (name) => [name.slice(0, name.indexOf('/')), name.slice(name.indexOf('/') + 1)];

export function Limits() {
  const of = useRead((signal) => getList('/v1/limits', { limit: 1000 }, signal), []);
  const again = useMemo(() => throttled(of.again, 2000), []);
  useChanges('', again);
  return html`<${Heading} title="Limits" />
    <p class="lead">How many executions of a function run at once, and how fast they begin.</p>
    <${Reading} of=${of}>${({ items, next }) => html`${!items.length && html`<${Empty}>No function is limited.<//>`}
      ${items.length > 0 && html`<${Table} label="Limits" columns=${['Function', 'Rule', 'From', { name: 'Run', class: 'num' }, { name: 'Wait', class: 'num' }]}>
        ${items.map((item) => html`<tr key=${item.limit}><td class="main"><${Link} to=${['limits', ...split(item.limit)]} class="id"><${Text} text=${item.limit} /><//></td><td><${Text} text=${words(item.rule)} /></td><td class="soft">${item.source}</td><td class="num">${item.running.toLocaleString()}</td><td class=${item.waiting ? 'num warn' : 'num'}>${item.waiting.toLocaleString()}</td></tr>`)}<//>`}
      ${next && html`<p class="soft">These are the first 1,000.</p>`}`}<//>
    <${Command} line=${segno('limit', 'list')} />`;
}

export function LimitPage({ module, name }) {
  const place = path`/v1/limits/${module}/${name}`;
  const full = `${module}/${name}`;
  const of = useRead((signal) => get(place, { limit: 200 }, signal), [full]);
  const [asked, ask] = useState(null);
  const again = useMemo(() => throttled(of.again, 1000), [full]);
  useChanges('', again);
  const close = () => {
    ask(null);
    of.again();
  };
  return html`<${Reading} of=${of}>${(limit) => html`<${Heading} title=${full}><span class="id"><${Text} text=${full} /></span><//>
    <p class="lead"><${Text} text=${words(limit.rule)} />${limit.source && html` <span class="soft">(set by the ${limit.source})</span>`}</p>
    <div class="actions"><button type="button" onClick=${() => ask('set')}>set …</button>${limit.source === 'operator' && html`<button type="button" onClick=${() => ask('clear')}>back to the module’s …</button>`}</div>
    <${Facts} facts=${[['Run', limit.running.toLocaleString()], ['Wait', limit.waiting.toLocaleString()], limit.tokens !== undefined && ['Tokens', limit.tokens], limit.next_token_at_ms && ['Next token', relative(limit.next_token_at_ms)]]} />
    ${limit.rule && html`<${Json} value=${limit.rule} label="the rule" />`}
    <h2>Keys</h2>
    ${!limit.keys.length && html`<${Empty}>Nobody runs or waits.<//>`}
    ${limit.keys.length > 0 && html`<${Table} label="Keys" columns=${['Key', { name: 'Run', class: 'num' }, { name: 'Wait', class: 'num' }, { name: 'Tokens', class: 'num' }, 'Next']}>
      ${limit.keys.map((key) => html`<tr><td class="main"><${Text} text=${key.key || '(one for all)'} most=${100} /></td><td class="num">${key.running}</td><td class="num">${key.waiting}</td><td class="num">${key.tokens ?? ''}</td><td class="soft">${key.debounced_until_ms ? `debounced, ${relative(key.debounced_until_ms)}` : key.next_token_at_ms ? relative(key.next_token_at_ms) : ''}</td></tr>`)}<//>`}
    ${asked === 'set' && html`<${Set_} place=${place} full=${full} rule=${limit.rule} onClose=${close} />`}
    ${asked === 'clear' && html`<${Act} title="Back to the module’s rule" verb="Clear" about="What the module declares holds again." send=${remove} to=${place} line=${() => segno('limit', 'clear', full)} onClose=${close} />`}
    <${Command} line=${segno('limit', 'show', full, '--keys')} />`}<//>`;
}

function Set_({ place, full, rule, onClose }) {
  const [draft, setDraft] = useState(() => draftOf(rule ?? { per_key: { concurrency: 5 } }));
  const [error, fail] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await put(place, draft.value);
      onClose();
    } catch (error) {
      fail(error);
    }
  };
  return html`<${Dialog} title=${`Limit of ${full}`} wide onClose=${onClose}><form onSubmit=${submit}>
    <p>The whole rule: it goes before the module’s, until it is cleared.</p>
    <${ValueForm} schema=${null} draft=${draft} onDraft=${setDraft} label="Rule" />
    <${Failed} error=${error} />
    <${Command} line=${segno('limit', 'set', full, '--help')} />
    <footer><button type="button" onClick=${onClose}>Leave it</button><button type="submit" class="primary" disabled=${Boolean(draft.error)}>Set</button></footer></form><//>`;
}
