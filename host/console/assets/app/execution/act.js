// One action: what it does, what it asks for, the command that does the same, and what came of it.

import { html, useState } from '../dom.js';
import { post } from '../api.js';
import { Command } from '../command.js';
import { blank, draftOf, isIncomplete, ValueForm } from '../form.js';
import { Json } from '../json.js';
import { Dialog, Failed, Field } from '../parts.js';

/**
 * A dialog that sends `body(value, fields)` to `to(fields)` and closes with `onClose(true)`. With `schema`
 * (null: any JSON) it asks for a value, called `label`; `fields` are further texts: `{name, label, hint}`, with
 * `options` or several `lines`.
 * `show(answer)` draws what came of it; without it the dialog closes.
 */
export function Act({ title, about, verb, danger, to, body, line, schema, label, fields = [], show, send = post, children, onClose }) {
  const [draft, setDraft] = useState(() => draftOf(schema === undefined ? null : schema ? blank(schema) : null));
  const [texts, setTexts] = useState(() => Object.fromEntries(fields.map((field) => [field.name, field.value ?? ''])));
  const [busy, setBusy] = useState(false);
  const [error, fail] = useState(null);
  const [answer, setAnswer] = useState(undefined);
  const place = typeof to === 'function' ? to(texts) : to;
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    fail(null);
    try {
      const answered = await send(place, body ? body(draft.value, texts) : {});
      if (!show) return onClose(true, answered);
      setAnswer(answered);
    } catch (error) {
      fail(error);
    }
    return setBusy(false);
  };
  const open = Boolean(schema) && !draft.error && isIncomplete(schema, draft.value);
  const missing = open || fields.some((field) => field.required && !texts[field.name].trim());
  return html`<${Dialog} title=${title} wide=${schema !== undefined} onClose=${() => onClose(answer !== undefined)}>
    <form onSubmit=${submit}>
      ${about && html`<p>${about}</p>`}
      ${children}
      ${fields.map((field) => html`<${Field} key=${field.name} label=${field.label} hint=${field.hint}>
        ${field.options
          ? html`<select value=${texts[field.name]} onChange=${(event) => setTexts({ ...texts, [field.name]: event.target.value })}>${field.options.map((option) => html`<option value=${option}>${option}</option>`)}</select>`
          : field.lines
          ? html`<textarea class="mono" rows=${field.lines} spellcheck="false" value=${texts[field.name]} onInput=${(event) => setTexts({ ...texts, [field.name]: event.target.value })}></textarea>`
          : html`<input type=${field.type || 'text'} min=${field.min} autocomplete="off" spellcheck="false" required=${field.required} value=${texts[field.name]} onInput=${(event) => setTexts({ ...texts, [field.name]: event.target.value })} />`}<//>`)}
      ${schema !== undefined && html`<${ValueForm} schema=${schema} draft=${draft} onDraft=${setDraft} label=${label} />`}
      ${!open && html`<${Command} line=${line(draft.value, texts)} />`}
      <${Failed} error=${error} />
      ${answer !== undefined && html`<div class="answer" role="status">${show(answer)}</div>`}
      <footer>
        <button type="button" onClick=${() => onClose(answer !== undefined)}>${answer === undefined ? 'Leave it' : 'Close'}</button>
        <button type="submit" class=${danger ? 'danger' : 'primary'} disabled=${busy || missing || Boolean(draft.error)}>${verb}</button>
      </footer>
    </form>
  <//>`;
}

export const showJson = (answer) => html`<${Json} value=${answer} label="the answer" />`;
