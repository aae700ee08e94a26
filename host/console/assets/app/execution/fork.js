// A fork: another execution that begins with the first records of this one, or the look at how it would end.

import { html } from '../dom.js';
import { path } from '../api.js';
import { segno } from '../command.js';
import { Json } from '../json.js';
import { Id, Text } from '../text.js';
import { Act } from './act.js';

const TRY = 'try it: nothing is stored';
const BEGIN = 'begin it';

/** The lines `K=JSON` as results of commands; what is no such line is an error. */
function given(lines) {
  const written = lines.split('\n').map((line) => line.trim()).filter(Boolean);
  return written.map((line) => {
    const [, command, value] = line.match(/^(\d+)\s*=\s*(.+)$/) || [];
    if (command === undefined) throw new Error(`\`${line}\` is not a result: write the number of the command, = and JSON, such as 3=true`);
    try {
      return { command: Number(command), value: JSON.parse(value) };
    } catch {
      throw new Error(`what follows ${command}= is not JSON; a text stands between quotes`);
    }
  });
}

function body(texts) {
  const { at, set, module, id, how } = texts;
  const results = given(set);
  return { at: Number(at), ...(results.length ? { set: results } : {}), ...(module ? { module } : {}), ...(id ? { id } : {}), dry_run: how === TRY };
}

function line(of, { at, set, module, id, how }) {
  const results = set.split('\n').map((text) => text.trim()).filter(Boolean).flatMap((text) => ['--set', text]);
  return segno('fork', of, '--at', at || 'N', ...results, ...(module ? ['--module', module] : []), ...(id ? ['--id', id] : []), ...(how === TRY ? ['--dry-run'] : []));
}

export function Fork({ invocation, onClose }) {
  const { id, journal_len: records, settled_at_ms: ended } = invocation;
  const most = ended ? records - 1 : records;
  const fields = [
    { name: 'at', label: 'Records', type: 'number', min: 1, value: String(most), required: true, hint: `It begins with so many, ${most} at most, and goes on by itself` },
    { name: 'set', label: 'Other results', lines: 3, hint: 'K=JSON, a line each: what command K came to instead' },
    { name: 'module', label: 'Module', hint: 'A name or a digest; empty: the one that this one runs' },
    { name: 'id', label: 'Id', hint: `Empty: ${id.slice(0, 60)}-f1, or the next that is free` },
    { name: 'how', label: 'What', options: [TRY, BEGIN], value: TRY },
  ];
  return html`<${Act} title="Fork" about="Another execution begins with the first records of this one: what they tell is not done again. This one stays as it is." verb="Fork" to=${path`/v1/invocations/${id}/fork`}
    fields=${fields} body=${(_, texts) => body(texts)} line=${(_, texts) => line(id, texts)} show=${(forked) => html`<${Forked} forked=${forked} />`} onClose=${onClose} />`;
}

function Forked({ forked }) {
  const run = forked.dry_run;
  const leftOut = run?.left_out || [];
  if (!run) return html`<p class="good"><${Id} id=${forked.id} most=${60} /> ${forked.created ? 'has begun' : 'was there already'}, with ${forked.forked_from.records} records.</p>`;
  return html`<p><strong>${{ ended: 'It ends', waits: 'It comes to a wait', failed: 'It fails' }[run.end]}</strong>${run.end === 'ended' && (run.same_end ? ', as this one did' : ', otherwise than this one')}${run.error && html`: <${Text} text=${run.error} most=${1500} more />`}</p>
    ${run.outcome && html`<${Outcome} of=${run.outcome} label="the outcome" />`}
    ${run.recorded_outcome && !run.same_end && html`<p class="soft">this one:</p><${Outcome} of=${run.recorded_outcome} label="the recorded outcome" />`}
    ${run.steps.length > 0 && html`<table><thead><tr><th scope="col">#</th><th scope="col">Command</th><th scope="col">Answered by</th></tr></thead><tbody>
      ${run.steps.map((step) => html`<tr class=${step.recorded ? '' : 'warn'}><td class="mono">${step.index}</td><td>${step.command} <${Text} text=${step.name || ''} most=${80} /></td>
        <td>${{ recorded: `command ${step.of_command} of this one`, clock: 'the clock', 'left-out': 'nothing: it is not done', open: 'nobody', policy: 'the policy for what is not recorded' }[step.answered]}</td></tr>`)}</tbody></table>`}
    ${(run.streams || []).length > 0 && html`<h3>Streams</h3>${run.streams.map((stream) => html`<${Stream} of=${stream} />`)}`}
    ${leftOut.length > 0 && html`<p>It does not ask for: ${leftOut.map((each) => `${each.index} ${each.command} ${each.name || ''}`.trim()).join(', ')}</p>`}`;
}

/** A stream that is the same, or from where on it is another and the first items of both. */
function Stream({ of }) {
  const name = html`<${Text} text=${of.name} most=${80} />`;
  if (of.same) return html`<p>${name} is the same</p>`;
  if (!of.compared) return html`<p class="warn">${name} has too much data to be compared</p>`;
  const items = (side) => html`<td class="mono">${(side || []).map((item) => html`<div><${Text} text=${item} most=${120} /></div>`)}${!side?.length && html`<span class="soft">the end</span>`}</td>`;
  return html`<p class="warn">${name} differs from ${of.differs_at} on: ${of.recorded_length} of this one, ${of.length} of the fork</p>
    <table><thead><tr><th scope="col">This one</th><th scope="col">The fork</th></tr></thead><tbody><tr>${items(of.recorded)}${items(of.forked)}</tr></tbody></table>`;
}

function Outcome({ of, label }) {
  return of.failure ? html`<p class="bad">failed with ${of.failure.code}: <${Text} text=${of.failure.message} most=${1000} more /></p>` : html`<${Json} value=${of.value} label=${label} />`;
}
