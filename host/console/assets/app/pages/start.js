// Starting a function, by a form from its schema.

import { html, useState } from '../dom.js';
import { get, path, post } from '../api.js';
import { Command, segno } from '../command.js';
import { blank, draftOf, isIncomplete, ValueForm } from '../form.js';
import { useChanges } from '../live.js';
import { Empty, Failed, Field, Heading, Reading } from '../parts.js';
import { useRead } from '../read.js';
import { address, go, Link } from '../route.js';
import { Text } from '../text.js';

export function Start({ module, name }) {
  const of = useRead((signal) => get(path`/v1/modules/${module ?? ''}`, {}, signal), [module]);
  // A form that is being filled in is left alone.
  useChanges('', () => {});
  return html`<${Reading} of=${of}>${(data) => {
    const found = data.functions.find((each) => each.name === name);
    return found ? html`<${Form} module=${module} of=${found} />` : html`<${Empty}>The module has no such function. <${Link} to=${['modules', module]}>Its functions<//><//>`;
  }}<//>`;
}

/** Pairs as they are written: `name=value`, separated by blanks. */
function pairsOf(text) {
  const pairs = text.split(/\s+/).filter(Boolean).map((pair) => pair.split(/=(.*)/s));
  return Object.fromEntries(pairs.filter((pair) => pair.length > 1).map(([name, value]) => [name, value]));
}

function Form({ module, of }) {
  const [object, method] = of.name.includes('/') ? of.name.split('/') : [];
  const schema = of.input_schema ?? null;
  const [draft, setDraft] = useState(() => draftOf(schema ? blank(schema) : null));
  const [texts, setTexts] = useState({ id: '', key: '', labels: '', budget: '', timeout_s: '' });
  const [error, fail] = useState(null);
  const [known, setKnown] = useState(null);
  const [busy, setBusy] = useState(false);
  const target = object ? `${module}/${object}@${texts.key || 'KEY'}/${method}` : `${module}/${of.name}`;
  const timeout = Number(texts.timeout_s) > 0 ? { timeout_ms: Math.round(Number(texts.timeout_s) * 1000) } : {};
  const labels = pairsOf(texts.labels);
  const limits = pairsOf(texts.budget);
  const budget = Object.fromEntries(Object.entries(limits).map(([unit, limit]) => [unit, Number(limit)]));
  const open = Boolean(schema) && !draft.error && isIncomplete(schema, draft.value);
  const field = (name, label, hint, rest = {}) => html`<${Field} label=${label} hint=${hint}><input type="text" autocomplete="off" spellcheck="false" value=${texts[name]} onInput=${(event) => setTexts({ ...texts, [name]: event.target.value })} ...${rest} /><//>`;
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    fail(null);
    setKnown(null);
    const body = { ...(texts.id ? { id: texts.id } : {}), input: draft.value, ...timeout, ...(Object.keys(labels).length ? { labels } : {}), ...(Object.keys(budget).length ? { budget } : {}) };
    try {
      const started = object ? await post(path`/v1/objects/${module}/${object}/${texts.key}/${method}`, body) : await post('/v1/invocations', { ...body, target });
      if (started.created) go(address(['executions', started.id]));
      else setKnown(started);
    } catch (error) {
      fail(error);
    }
    setBusy(false);
  };
  const line = segno('start', target, ...((draft.value ?? null) === null ? [] : [JSON.stringify(draft.value)]), ...(texts.id ? ['--id', texts.id] : []), ...(timeout.timeout_ms ? ['--timeout', `${texts.timeout_s}s`] : []), ...Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]), ...Object.entries(limits).flatMap(([unit, limit]) => ['--budget', `${unit}=${limit}`]));
  return html`<${Heading} title=${`Start ${module}/${of.name}`}>Start <${Link} to=${['modules', module]}><${Text} text=${`${module}/${of.name}`} /><//><//>
    ${of.summary && html`<p class="lead"><${Text} text=${of.summary} most=${600} more /></p>`}
    <form class="wide-form" onSubmit=${submit}>
      ${object && field('key', `Key of the ${object}`, 'Which one of these objects', { required: true })}
      <${ValueForm} schema=${schema} draft=${draft} onDraft=${setDraft} label="Input" />
      ${field('id', 'Id', 'Makes the start idempotent: the same id again answers the first execution. Empty: the host makes one up')}
      ${field('labels', 'Labels', 'name=value, separated by blanks')}
      ${field('budget', 'Budget', 'unit=limit, separated by blanks, as tokens=100000 calls=50. Empty: no limit')}
      ${field('timeout_s', 'Time limit in seconds', 'Empty: that of the function, if it has one', { type: 'number', min: 0, step: 'any' })}
      ${!open && html`<${Command} line=${line} />`}
      <${Failed} error=${error} />
      ${known && html`<div class="failed" role="alert">It had been started before. <${Link} to=${['executions', known.id]}>Look at it<//></div>`}
      <footer><button class="primary" type="submit" disabled=${busy || open || Boolean(draft.error)}>Start</button></footer>
    </form>`;
}
