// Forms from JSON schemas, as far as people fill them in: texts, numbers, choices, objects and lists of
// them. What a schema says beyond that is written as JSON; the host checks all of it in any case.

import { html, useId, useState } from './dom.js';
import { Text } from './text.js';

/** The schema behind references, and what is left of it without `null`. */
function plain(schema, root) {
  let seen = schema;
  for (let steps = 0; seen?.$ref && steps < 20; steps += 1) {
    const parts = seen.$ref.replace(/^#\/?/, '').split('/').filter(Boolean);
    seen = parts.reduce((at, part) => at?.[part.replaceAll('~1', '/').replaceAll('~0', '~')], root);
  }
  if (!seen || typeof seen !== 'object') return { schema: {}, optional: false };
  const options = seen.anyOf || seen.oneOf;
  if (options) {
    const others = options.filter((option) => option.type !== 'null');
    if (others.length === 1 && others.length < options.length) return { schema: plain(others[0], root).schema, optional: true };
    if (others.every((option) => 'const' in option)) return { schema: { enum: others.map((option) => option.const) }, optional: others.length < options.length };
  }
  if (Array.isArray(seen.type)) {
    const types = seen.type.filter((type) => type !== 'null');
    if (types.length === 1) return { schema: { ...seen, type: types[0] }, optional: types.length < seen.type.length };
  }
  return { schema: seen, optional: false };
}

/** Which field a schema gets. */
function kind(schema) {
  if (Array.isArray(schema.enum)) return 'choice';
  if (schema.type === 'object' && schema.properties && !schema.oneOf && !schema.anyOf) return 'object';
  if (schema.type === 'array' && (schema.prefixItems || Array.isArray(schema.items))) return 'tuple';
  if (schema.type === 'array' && schema.items && typeof schema.items === 'object') return 'list';
  if (['boolean', 'integer', 'number', 'string', 'null'].includes(schema.type)) return schema.type;
  return 'json';
}

/** The value with which a form begins. */
export function blank(schema, root = schema, depth = 0) {
  const { schema: of, optional } = plain(schema, root);
  if (of.default !== undefined) return of.default;
  if ('const' in of) return of.const;
  if (optional || depth > 6) return null;
  switch (kind(of)) {
    case 'choice':
      return of.enum.length === 1 ? of.enum[0] : undefined;
    case 'object': {
      const required = new Set(of.required || []);
      const entries = Object.entries(of.properties).filter(([name]) => required.has(name));
      return Object.fromEntries(entries.map(([name, each]) => [name, blank(each, root, depth + 1)]));
    }
    case 'tuple':
      return (of.prefixItems || of.items).map((each) => blank(each, root, depth + 1));
    case 'list':
      return [];
    case 'boolean':
      return undefined;
    case 'integer':
    case 'number':
      return of.minimum ?? 0;
    case 'string':
      return '';
    default:
      return null;
  }
}

/** What a field has before it is filled in. */
const isOpen = (value) => value === undefined || value === null || value === '';

/** Whether something is still to be chosen: a choice that decides has no default. */
export function isIncomplete(schema, value, root = schema, depth = 0) {
  if (!schema || typeof schema !== 'object' || depth > 6) return false;
  const { schema: of, optional } = plain(schema, root);
  if (optional && value === null) return false;
  const within = (each, of) => isIncomplete(each, of, root, depth + 1);
  switch (kind(of)) {
    case 'choice':
      return isOpen(value) && !of.enum.includes(value);
    case 'boolean':
      return isOpen(value);
    case 'object': {
      const required = new Set(of.required || []);
      const isGiven = (name) => required.has(name) || (value && name in value);
      return Object.entries(of.properties).some(([name, each]) => isGiven(name) && within(each, value?.[name]));
    }
    case 'tuple':
      return (of.prefixItems || of.items).some((each, at) => within(each, value?.[at]));
    case 'list':
      return Array.isArray(value) && value.some((each) => within(of.items, each));
    default:
      return false;
  }
}

/**
 * A form for a value: fields from the schema, or the value as JSON. `draft` is `{value, text}`; `text`
 * is the JSON while it is written, and `error` why it is none.
 */
export function ValueForm({ schema, draft, onDraft, label = 'Value' }) {
  const known = schema && typeof schema === 'object' && kind(plain(schema, schema).schema) !== 'json';
  const [asJson, setJson] = useState(!known);
  const name = useId();
  const write = (text) => {
    try {
      onDraft({ value: text.trim() === '' ? null : JSON.parse(text), text });
    } catch (error) {
      onDraft({ value: draft.value, text, error: error.message });
    }
  };
  const swap = () => {
    onDraft(draftOf(draft.value));
    setJson(!asJson);
  };
  return html`<div class="value-form">
    <div class="value-head"><span class="label" id=${name}>${label}</span>
      ${known && html`<button type="button" class="link" onClick=${swap} disabled=${Boolean(draft.error)}>${asJson ? 'as a form' : 'as JSON'}</button>`}
    </div>
    ${asJson
      ? html`<textarea class="mono" rows="6" spellcheck="false" aria-labelledby=${name} aria-invalid=${draft.error ? 'true' : undefined} value=${draft.text} onInput=${(event) => write(event.target.value)}></textarea>
          ${draft.error && html`<span class="hint bad" role="status">no JSON: ${draft.error}</span>`}`
      : html`<div role="group" aria-labelledby=${name}><${FieldOf} schema=${schema} root=${schema} value=${draft.value} onValue=${(value) => onDraft(draftOf(value))} /></div>`}
  </div>`;
}

/** The draft of a value. */
export const draftOf = (value) => ({ value, text: JSON.stringify(value, null, 2) ?? '' });

/** The value of a field that is given from now on: something, even while it is to be chosen. */
const given = (value) => (value === undefined || value === null ? '' : value);

/** The line of a choice before one is chosen. */
const choose = (isAsked) => isAsked && html`<option value="" disabled>choose …</option>`;

function FieldOf({ schema, root, value, onValue, name, required = true }) {
  const { schema: of, optional } = plain(schema, root);
  const id = useId();
  const title = name ?? of.title ?? 'value';
  const absent = value === undefined || (optional && value === null);
  const mayMiss = !required || optional;
  const about = of.description && html`<span class="hint" id=${`${id}-about`}><${Text} text=${of.description} most=${200} /></span>`;
  const described = of.description ? `${id}-about` : undefined;
  const toggle = (event) => onValue(event.target.checked ? given(blank({ ...of, default: undefined }, root)) : optional ? null : undefined);
  const head = html`<span class="field-head"><label class="label" for=${id}><${Text} text=${title} /></label>
    ${mayMiss && html`<label class="check"><input type="checkbox" checked=${!absent} onChange=${toggle} aria-label=${`Give ${title}`} /> given</label>`}</span>`;
  if (absent && mayMiss) return html`<div class="field">${head}${about}</div>`;
  const common = { id, 'aria-describedby': described };
  switch (kind(of)) {
    case 'choice':
      return html`<div class="field">${head}<select ...${common} value=${value === '' && !of.enum.includes('') ? '' : JSON.stringify(value) ?? ''} required onChange=${(event) => onValue(JSON.parse(event.target.value))}>
        ${choose(!of.enum.some((each) => JSON.stringify(each) === JSON.stringify(value)))}
        ${of.enum.map((each) => html`<option value=${JSON.stringify(each)}>${typeof each === 'string' ? each : JSON.stringify(each)}</option>`)}
      </select>${about}</div>`;
    case 'boolean':
      return html`<div class="field">${head}<select ...${common} value=${typeof value === 'boolean' ? String(value) : ''} required onChange=${(event) => onValue(event.target.value === 'true')}>
        ${choose(typeof value !== 'boolean')}<option value="true">true</option><option value="false">false</option></select>${about}</div>`;
    case 'integer':
    case 'number':
      return html`<div class="field">${head}<input ...${common} type="number" step=${of.type === 'integer' ? 1 : 'any'} min=${of.minimum} max=${of.maximum} value=${value ?? ''}
        onInput=${(event) => onValue(event.target.value === '' ? null : Number(event.target.value))} />${about}</div>`;
    case 'string':
      return html`<div class="field">${head}<input ...${common} type="text" autocomplete="off" value=${value ?? ''} maxlength=${of.maxLength} onInput=${(event) => onValue(event.target.value)} />${about}</div>`;
    case 'null':
      return html`<div class="field">${head}<span class="soft">null</span></div>`;
    case 'object': {
      const required_ = new Set(of.required || []);
      const change = (key, next) => {
        const { [key]: _, ...rest } = value || {};
        onValue(next === undefined ? rest : { ...(value || {}), [key]: next });
      };
      return html`<fieldset class="field"><legend><${Text} text=${title} /></legend>${about}
        ${Object.entries(of.properties).map(([key, each]) => html`<${FieldOf} key=${key} name=${key} schema=${each} root=${root} required=${required_.has(key)} value=${value?.[key]} onValue=${(next) => change(key, next)} />`)}
      </fieldset>`;
    }
    case 'tuple': {
      const items = of.prefixItems || of.items;
      const change = (at, next) => onValue(items.map((_, place) => (place === at ? next : value?.[place] ?? null)));
      return html`<fieldset class="field"><legend><${Text} text=${title} /></legend>${about}
        ${items.map((each, at) => html`<${FieldOf} key=${at} name=${plain(each, root).schema.title || String(at + 1)} schema=${each} root=${root} value=${value?.[at]} onValue=${(next) => change(at, next ?? null)} />`)}
      </fieldset>`;
    }
    case 'list': {
      const items = Array.isArray(value) ? value : [];
      const change = (at, next) => onValue(items.map((each, place) => (place === at ? next ?? null : each)));
      return html`<fieldset class="field"><legend><${Text} text=${title} /></legend>${about}
        ${items.map((each, at) => html`<div class="list-item" key=${at}><${FieldOf} name=${String(at + 1)} schema=${of.items} root=${root} value=${each} onValue=${(next) => change(at, next)} />
          <button type="button" class="link" aria-label=${`Remove item ${at + 1}`} onClick=${() => onValue(items.filter((_, place) => place !== at))}>remove</button></div>`)}
        <button type="button" class="link" onClick=${() => onValue([...items, blank(of.items, root)])}>add an item</button>
      </fieldset>`;
    }
    default:
      return html`<div class="field">${head}<${JsonField} ...${common} value=${value} onValue=${onValue} />${about}</div>`;
  }
}

function JsonField({ value, onValue, ...rest }) {
  const [text, setText] = useState(JSON.stringify(value ?? null));
  const [bad, say] = useState(false);
  const write = (event) => {
    setText(event.target.value);
    try {
      onValue(JSON.parse(event.target.value));
      say(false);
    } catch {
      say(true);
    }
  };
  return html`<textarea class="mono" rows="2" spellcheck="false" ...${rest} aria-invalid=${bad ? 'true' : undefined} value=${text} onInput=${write}></textarea>`;
}
