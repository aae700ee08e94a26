// Schedules: when they start what, and stopping them for a while.

import { html, useMemo, useState } from '../dom.js';
import { getList, path, post, remove } from '../api.js';
import { Command, segno } from '../command.js';
import { Act } from '../execution/act.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { State } from '../state.js';
import { length, Time } from '../time.js';
import { Id, target, Text } from '../text.js';

export function Schedules({ query }) {
  const of = useRead(async (signal) => {
    const items = [];
    let after;
    do {
      const page = await getList('/v1/schedules', { prefix: query.prefix, after, limit: 1000 }, signal);
      items.push(...page.items);
      after = page.next;
    } while (after && items.length < 5000);
    return { items, more: Boolean(after) };
  }, [query.prefix]);
  const [error, fail] = useState(null);
  const [going, remove_] = useState(null);
  const again = useMemo(() => throttled(of.again, 5000), []);
  useChanges('', again);
  const act = async (schedule, verb) => {
    try {
      await post(path`/v1/schedules/${schedule.id}/` + verb);
      fail(null);
    } catch (error) {
      fail(error);
    }
    of.again();
  };
  return html`<${Heading} title="Schedules" />
    <${Failed} error=${error} />
    <${Reading} of=${of}>${({ items, more }) => html`
      ${!items.length && html`<${Empty}>There is no schedule.<//>`}
      ${items.length > 0 && html`<${Table} label="Schedules" columns=${['Schedule', 'When', 'Starts', 'Next', 'Last', '']}>
        ${items.map((schedule) => html`<tr key=${schedule.id}>
          <td class="main"><${Id} id=${schedule.id} to="schedules" most=${80} />${schedule.paused && html` <span class="tag warn">paused</span>`}${schedule.problem && html`<div class="sub bad"><${Text} text=${schedule.problem} most=${300} /></div>`}${schedule.skipped > 0 && html`<div class="sub soft">${schedule.skipped} skipped</div>`}</td>
          <td><code><${Text} text=${schedule.cron} /></code><div class="sub soft"><${Text} text=${schedule.zone} />${schedule.jitter_ms && `, up to ${length(schedule.jitter_ms)} later`}</div></td><td><${Text} text=${target(schedule.target)} most=${60} /></td>
          <td class="time">${schedule.paused ? html`<span class="soft">when it goes on</span>` : schedule.next_at_ms ? html`<${Time} at=${schedule.next_at_ms} />` : 'never'}</td>
          <td class="time">${schedule.last_at_ms && html`<${Time} at=${schedule.last_at_ms} />`}${schedule.last_id && html`<div class="sub"><${Id} id=${schedule.last_id} most=${40} />${schedule.last && html` <${State} state=${schedule.last.state} />`}</div>`}</td>
          <td class="act"><button type="button" onClick=${() => act(schedule, 'trigger')} title=${segno('schedule', 'trigger', schedule.id)}>start now</button> <button type="button" onClick=${() => act(schedule, schedule.paused ? 'resume' : 'pause')} title=${segno('schedule', schedule.paused ? 'resume' : 'pause', schedule.id)}>${schedule.paused ? 'resume' : 'pause'}</button> <button type="button" class="quiet-danger" onClick=${() => remove_(schedule)}>remove …</button></td></tr>`)}
      <//>${more && html`<p class="soft">These are the first 5,000.</p>`}`}`}<//>
    ${going && html`<${Act} title="Remove the schedule" about="It starts nothing any more. What it started goes on." verb="Remove" danger send=${remove} to=${path`/v1/schedules/${going.id}`} line=${() => segno('schedule', 'delete', going.id)} onClose=${() => {
      remove_(null);
      of.again();
    }} />`}
    <${Command} line=${segno('schedule', 'list')} />`;
}
