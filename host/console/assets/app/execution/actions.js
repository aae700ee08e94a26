// What can be done to an execution: each action with its command.

import { html, useState } from '../dom.js';
import { get, path, remove } from '../api.js';
import { segno } from '../command.js';
import { Json } from '../json.js';
import { address, go } from '../route.js';
import { isEnded } from '../state.js';
import { Text } from '../text.js';
import { Act } from './act.js';
import { Divergence } from './divergence.js';
import { Fork } from './fork.js';
import { Note } from './why.js';

const json = (value) => JSON.stringify(value ?? null);

/** Settles a promise: `resolve` by a form from its schema, or `reject`. */
export function Settle({ id, how, schema, onClose }) {
  if (how === 'resolve') {
    return html`<${Act} title="Resolve" about=${html`Whoever waits for <span class="id"><${Text} text=${id} most=${80} /></span> goes on with this value. It settles once, for ever.`} verb="Resolve"
      to=${path`/v1/promises/${id}/resolve`} schema=${schema ?? null} label="Value" body=${(value) => ({ value })} line=${(value) => segno('resolve', id, json(value))} onClose=${onClose} />`;
  }
  return html`<${Act} title="Reject" about=${html`Whoever waits for <span class="id"><${Text} text=${id} most=${80} /></span> gets a failure. It settles once, for ever.`} verb="Reject" danger
    to=${path`/v1/promises/${id}/reject`} fields=${[{ name: 'message', label: 'Message', value: 'rejected from outside', required: true }, { name: 'code', label: 'Code', type: 'number', min: 0, value: '400', hint: '400 to 599 read as in HTTP', required: true }]}
    body=${(_, { message, code }) => ({ failure: { code: Number(code), message } })} line=${(_, { message, code }) => segno('reject', id, message, ...(code === '400' ? [] : ['--code', code]))} onClose=${onClose} />`;
}

/** The verdict of a replay. */
export function Replayed({ replay }) {
  const good = replay.verdict === 'identical';
  return html`<p class=${good ? 'good' : 'bad'}><strong>${replay.verdict}</strong>: ${replay.matched.toLocaleString()} of ${replay.journal_len.toLocaleString()} records are repeated${replay.running ? '; it goes on meanwhile' : ''}, on <code>${replay.module.slice(0, 12)}</code></p>
    ${replay.divergence && html`<${Divergence} of=${replay.divergence} />`}
    ${replay.error && html`<p class="bad"><${Text} text=${replay.error} most=${1500} more /></p>`}
    ${replay.note && html`<${Note} note=${replay.note} />`}`;
}

const module = { name: 'module', label: 'Module', hint: 'A name or a digest; empty: the one that it began with' };

/** The actions of this execution, or, with `over`, of a generation that handed over: name, whether it is one now, and its dialog. */
function actionsOf({ invocation, over, described, onClose }) {
  const { id, state } = invocation;
  const open = !isEnded(state) && !over;
  const base = (verb) => path`/v1/invocations/${id}/` + verb;
  const messages = (described?.messages || []).filter((message) => message.kind === 'signal');
  const handlers = described?.handlers || [];
  const named = (kind) => handlers.filter((handler) => handler.kind === kind);
  const changed = (answer) => html`<p>${answer.changed === false ? 'There was nothing to change: it had ended.' : 'Done.'}</p>`;
  const simple = (verb, title, about, danger) => () =>
    html`<${Act} title=${title} about=${about} verb=${title} danger=${danger} to=${base(verb)} line=${() => segno(verb, id)} show=${undefined} onClose=${onClose} />`;
  return [
    { name: 'signal …', fits: open && described?.signals !== false, act: () => html`<${Signal} id=${id} known=${messages} onClose=${onClose} />` },
    ...named('update').map((handler) => ({
      name: `update ${handler.name} …`, fits: open, act: () => html`<${Act} title=${`Update ${handler.name}`} about=${handler.summary} verb="Send" to=${path`/v1/invocations/${id}/updates/${handler.name}`} schema=${handler.input_schema ?? null} label="Input"
        body=${(input) => ({ input, timeout_ms: 30_000 })} line=${(input) => segno('update', id, handler.name, json(input))} show=${(answer) => html`<p>${answer.state}</p>${answer.output !== undefined && html`<${Json} value=${answer.output} label="the answer" />`}${answer.failure && html`<p class="bad"><${Text} text=${answer.failure.message} /></p>`}`} onClose=${onClose} />`,
    })),
    ...named('query').map((handler) => ({
      name: `query ${handler.name} …`, fits: true, act: () => html`<${Act} title=${`Query ${handler.name}`} about=${handler.summary || 'It only reads.'} verb="Ask" to=${path`/v1/invocations/${id}/queries/${handler.name}`} schema=${handler.input_schema ?? null} label="Input"
        fields=${[{ name: 'at', label: 'As of record', type: 'number', min: 1, hint: 'As it was when its journal had so many records; empty: now' }]}
        body=${(input, { at }) => ({ input, ...(at ? { at: Number(at) } : {}) })} line=${(input, { at }) => segno('query', id, handler.name, ...(input === null ? [] : [json(input)]), ...(at ? ['--at', at] : []))} show=${(answer) => html`<${Json} value=${answer.value} label="the answer" /><p class="soft">after ${answer.records} of ${answer.journal_len} records</p>`} onClose=${onClose} />`,
    })),
    { name: 'continue …', fits: state === 'halted' && !over, primary: true, act: () => html`<${Act} title="Continue" about="It goes on from where it stopped; on another module if that repeats its journal." verb="Continue" to=${base('continue')} fields=${[module]}
      body=${(_, texts) => (texts.module ? { module: texts.module } : {})} line=${(_, texts) => segno('continue', id, ...(texts.module ? ['--module', texts.module] : []))} onClose=${onClose} />` },
    { name: 'halt', fits: open && state !== 'halted', act: simple('halt', 'Halt', 'It stops at the next record, for a person to look at, until it is continued.') },
    { name: 'cancel', fits: open, act: simple('cancel', 'Cancel', 'It is asked to stop, and may clean up first.') },
    { name: 'kill', fits: open, danger: true, act: simple('kill', 'Kill', 'It ends at once, without cleaning up. What it called ends with it.', true) },
    { name: 'release …', fits: state === 'acquired' && !over, act: () => html`<${Act} title="Release" about="Its task is taken from its holder and offered to others at once; what that one still writes is refused." verb="Release" to=${base('release')} body=${() => ({ version: invocation.version })} line=${() => segno('task', 'release', id, '--if-version', invocation.version)} onClose=${onClose} />` },
    { name: 'replay …', fits: invocation.journal_len > 0, act: () => html`<${Act} title="Replay" about="Its journal is run again and every record compared. Nothing is changed." verb="Replay" to=${base('replay')}
      fields=${[module, { name: 'at', label: 'Records', type: 'number', min: 1, hint: 'Only the first so many; empty: all' }]} body=${(_, texts) => ({ ...(texts.module ? { module: texts.module } : {}), ...(texts.at ? { at: Number(texts.at) } : {}) })}
      line=${(_, texts) => segno('replay', id, ...(texts.module ? ['--module', texts.module] : []), ...(texts.at ? ['--at', texts.at] : []))} show=${(replay) => html`<${Replayed} replay=${replay} />`} onClose=${onClose} />` },
    { name: 'fork …', fits: invocation.journal_len > (isEnded(state) ? 1 : 0) && invocation.target.startsWith('wasm:'), act: () => html`<${Fork} invocation=${invocation} onClose=${onClose} />` },
    { name: 'restart …', fits: !over, act: () => html`<${Act} title="Restart" about="Its function is started once more, as another execution with the same input, labels and time limit." verb="Restart" to=${base('restart')}
      fields=${[{ name: 'id', label: 'Id', hint: `Empty: ${id.slice(0, 60)}-r1, or the next that is free` }, { ...module, hint: 'Empty: what its name stands for now' }]}
      body=${(_, texts) => Object.fromEntries(Object.entries(texts).filter(([, text]) => text))} line=${(_, texts) => segno('restart', id, ...(texts.id ? ['--id', texts.id] : []), ...(texts.module ? ['--module', texts.module] : []))}
      onClose=${(done, answer) => {
        onClose(done);
        if (done && answer) go(address(['executions', answer.id]));
      }} />` },
    { name: 'remove …', fits: !open && !over, danger: true, act: () => html`<${Act} title="Remove" about="It is forgotten, with everything that it made. Its id begins anew then." verb="Remove" danger send=${remove} to=${path`/v1/invocations/${id}`} line=${() => segno('remove', id)} onClose=${(done) => {
      // There is nothing left to read again.
      if (done) go(address([]));
      else onClose(false);
    }} />` },
  ].filter((action) => action.fits);
}

/** Sends a signal: one of those that its function declares, if it declares any. */
export function Signal({ id, known, onClose }) {
  const [name, choose] = useState(known[0]?.name ?? '');
  const schema = known.find((message) => message.name === name)?.schema ?? null;
  const fields = known.length ? [] : [{ name: 'name', label: 'Name', required: true }];
  const of = (texts) => (known.length ? name : texts.name);
  return html`<${Act} key=${name} title="Signal" about="It is delivered to the workflow, in the order of the signals." verb="Send" to=${path`/v1/invocations/${id}/signals`} schema=${schema} label="Payload"
    fields=${[...fields, { name: 'key', label: 'Key', hint: 'The same key again sends nothing; empty: none' }]}
    body=${(payload, texts) => ({ name: of(texts), payload, ...(texts.key ? { key: texts.key } : {}) })} line=${(payload, texts) => segno('signal', id, of(texts) || 'NAME', json(payload), ...(texts.key ? ['--key', texts.key] : []))} onClose=${onClose}>
    ${known.length > 0 && html`<label class="field"><span class="label">Name</span><select value=${name} onChange=${(event) => choose(event.target.value)}>${known.map((message) => html`<option>${message.name}</option>`)}</select></label>`}
  <//>`;
}

export function Actions({ invocation, over, described, onDone }) {
  const [open, setOpen] = useState(null);
  const onClose = (done) => {
    setOpen(null);
    if (done) onDone();
  };
  const actions = actionsOf({ invocation, over, described, onClose });
  const current = actions.find((action) => action.name === open);
  return html`<div class="actions" role="group" aria-label="Actions">
    ${actions.map((action) => html`<button type="button" key=${action.name} class=${action.danger ? 'quiet-danger' : action.primary ? 'primary' : ''} onClick=${() => setOpen(action.name)}><${Text} text=${action.name} most=${40} /></button>`)}
    ${current && current.act()}
  </div>`;
}

/** What a module says of a function: by digest, once. */
const described = new Map();
export async function describe(digest, name, signal) {
  if (!digest) return undefined;
  if (!described.has(digest)) described.set(digest, await get(path`/v1/modules/${digest}`, {}, signal));
  return described.get(digest).functions.find((each) => each.name === name);
}
