// One schedule: when it starts what, its next occurrences in both times, and what it skipped.

import { html, useMemo, useState } from '../dom.js';
import { get, path, post, remove } from '../api.js';
import { Command, segno } from '../command.js';
import { Act } from '../execution/act.js';
import { Json } from '../json.js';
import { throttled, useChanges } from '../live.js';
import { Facts, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { address, go, Link } from '../route.js';
import { State } from '../state.js';
import { iso, length, relative, Time } from '../time.js';
import { Id, target, Text } from '../text.js';

const REASONS = { overlap: 'the last one had not ended', missed: 'no host was there in time', refused: 'it could not be created' };
const OVERLAPS = { allow: 'another one starts beside it', skip: 'the occurrence is skipped', queue: 'the next begins when it has ended' };

export function Schedule({ id }) {
  const of = useRead((signal) => get(path`/v1/schedules/${id}`, {}, signal), [id]);
  const [error, fail] = useState(null);
  const [removes, ask] = useState(false);
  useChanges('', useMemo(() => throttled(of.again, 5000), [id]));
  const act = async (verb) => {
    try {
      await post(path`/v1/schedules/${id}/` + verb);
      fail(null);
    } catch (error) {
      fail(error);
    }
    of.again();
  };
  return html`<${Heading} title=${id.slice(0, 60)}><span class="id"><${Text} text=${id} most=${160} /></span>${of.data?.paused && html` <span class="tag warn">paused</span>`}<//>
    <${Failed} error=${error} />
    <${Reading} of=${of}>${(schedule) => html`<${Shown} schedule=${schedule} act=${act} onRemove=${() => ask(true)} />`}<//>
    ${removes && html`<${Act} title="Remove the schedule" about="It starts nothing any more. What it started goes on." verb="Remove" danger send=${remove} to=${path`/v1/schedules/${id}`} line=${() => segno('schedule', 'delete', id)} onClose=${(done) => {
      if (done) go(address(['schedules']));
      else ask(false);
    }} />`}
    <${Command} line=${segno('schedule', 'show', id)} />`;
}

/** An instant as `2026-11-26 03:00:00+01:00`, which a narrow window breaks at the space only. */
const Stamp = ({ at }) => html`<time datetime=${at}>${at.replace('.000', '').split('T').map((part, place) => html`${place > 0 && ' '}<span class="nowrap">${part}</span>`)}</time>`;

function Shown({ schedule, act, onRemove }) {
  const { id, zone, last, skips = [], upcoming = [] } = schedule;
  const pause = schedule.paused ? 'resume' : 'pause';
  return html`
    <p class="lead"><code><${Text} text=${schedule.cron} /></code> by the clock of <${Text} text=${zone} /> starts <${Link} to=${['modules']}><${Text} text=${target(schedule.target)} most=${120} /><//></p>
    ${schedule.problem && html`<div class="why bad"><p class="why-line"><${Text} text=${schedule.problem} most=${600} more /></p></div>`}
    <div class="actions" role="group" aria-label="Actions">
      <button type="button" onClick=${() => act('trigger')} title=${segno('schedule', 'trigger', id)}>start now</button>
      <button type="button" onClick=${() => act(pause)} title=${segno('schedule', pause, id)}>${pause}</button>
      <button type="button" class="quiet-danger" onClick=${onRemove}>remove …</button>
    </div>
    <${Facts} facts=${[
      ['Next', schedule.paused ? 'when it goes on' : schedule.next_at_ms ? html`<${Time} at=${schedule.next_at_ms} both />` : 'never'],
      schedule.last_at_ms && ['Last', html`<${Time} at=${schedule.last_at_ms} both />`],
      schedule.last_id && ['Last execution', html`<${Id} id=${schedule.last_id} most=${60} />${last && html` <${State} state=${last.state} />`}${last?.error && html`<div class="sub bad"><${Text} text=${last.error} most=${300} more /></div>`}`],
      ['While the last goes on', OVERLAPS[schedule.overlap]],
      schedule.jitter_ms && ['Jitter', `up to ${length(schedule.jitter_ms)}`],
      schedule.timeout_ms && ['Time limit', length(schedule.timeout_ms)],
      ['Ids', html`<code><${Text} text=${schedule.invocation_id} most=${120} /></code>`],
      Object.keys(schedule.labels).length > 0 && ['Labels', Object.entries(schedule.labels).map(([name, value]) => html`<span class="tag"><${Text} text=${`${name}=${value}`} most=${80} /></span>`)],
      schedule.budget && ['Budget of each', Object.entries(schedule.budget).map(([unit, limit]) => `${unit} ${limit}`).join(', ')],
      schedule.skipped > 0 && !skips.length && ['Skipped', schedule.skipped.toLocaleString()],
    ]} />
    ${upcoming.length > 0 && html`<h2>Next occurrences${schedule.paused && html` <span class="soft">if it were resumed now</span>`}</h2>
      <${Table} label="Next occurrences" columns=${[`In ${zone}`, 'In UTC', ...(schedule.jitter_ms ? ['Starts (UTC)'] : []), { name: 'From now', class: 'wide-only' }]}>
        ${upcoming.map((each) => html`<tr key=${each.at_ms}><td class="mono"><${Stamp} at=${each.local} /></td><td class="mono"><${Stamp} at=${iso(each.at_ms)} /></td>${each.starts_at_ms !== undefined && html`<td class="mono"><${Stamp} at=${iso(each.starts_at_ms)} /></td>`}<td class="soft wide-only">${relative(each.at_ms)}</td></tr>`)}<//>`}
    ${skips.length > 0 && html`<h2>Skipped</h2>
      <${Table} label="Skipped" columns=${['Why', { name: 'How many', class: 'num' }, 'Last', 'What was in its way']}>
        ${skips.map((skip) => html`<tr key=${skip.reason}><td><strong>${skip.reason}</strong><div class="sub soft">${REASONS[skip.reason]}</div></td><td class="num">${skip.count.toLocaleString()}</td><td class="time"><${Time} at=${skip.last_at_ms} /></td><td><${Text} text=${skip.detail} most=${300} more /></td></tr>`)}<//>`}
    <section aria-label="Input"><h2>Input</h2><${Json} value=${schedule.input} label="the input" /></section>`;
}
