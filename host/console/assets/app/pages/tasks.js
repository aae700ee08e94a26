// Workers and tasks: who holds what, until when.

import { html, useMemo, useState } from '../dom.js';
import { getList, path, post } from '../api.js';
import { Command, segno } from '../command.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Failed, Heading, Reading, Table, Tabs } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { State } from '../state.js';
import { relative } from '../time.js';
import { count, Id, target, Text } from '../text.js';

const MOST = 1000;

export function Tasks({ query }) {
  const state = query.state || 'acquired';
  const of = useRead((signal) => getList('/v1/tasks', { state, holder: query.holder, limit: MOST }, signal), [state, query.holder]);
  const [error, fail] = useState(null);
  const again = useMemo(() => throttled(of.again, 1500), [state, query.holder]);
  useChanges('', again);
  const release = async (task) => {
    try {
      await post(path`/v1/invocations/${task.id}/release`, { version: task.version });
      fail(null);
    } catch (error) {
      fail(error);
    }
    of.again();
  };
  return html`<${Heading} title="Workers" />
    <p class="lead">Who holds which task, and until when; hosts by their names, external workers by those that they chose.</p>
    <${Tabs} label="States of tasks" tabs=${['acquired', 'pending', 'suspended', 'halted'].map((each) => ({ to: ['tasks'], query: { state: each === 'acquired' ? undefined : each, holder: query.holder }, name: each === 'acquired' ? 'held' : each, here: state === each }))} />
    <${Failed} error=${error} />
    <${Reading} of=${of}>${({ items, next }) => {
      const holders = new Map();
      for (const task of items) if (task.holder) holders.set(task.holder, (holders.get(task.holder) || 0) + 1);
      return html`
        ${holders.size > 0 && html`<nav class="chips" aria-label="Workers"><${Link} to=${['tasks']} query=${{ state: query.state }} class=${query.holder ? 'chip' : 'chip here'}>all<//>${[...holders].slice(0, 40).map(([holder, number]) => html`<${Link} to=${['tasks']} query=${{ state: query.state, holder }} class=${query.holder === holder ? 'chip here' : 'chip'}><${Text} text=${holder} most=${40} /> <span class="count">${number}</span><//>`)}</nav>`}
        ${!items.length && html`<${Empty}>No task is ${state === 'acquired' ? 'held by anybody' : state}.<//>`}
        ${items.length > 0 && html`<${Table} label="Tasks" columns=${['Task', 'Function', 'State', 'Holder', { name: 'Lease', class: 'time' }, { name: 'Version', class: 'num' }, '']}>
          ${items.slice(0, 500).map((task) => html`<tr key=${task.id}><td class="main"><${Id} id=${task.id} most=${70} />${task.note && html`<div class="sub warn"><${Text} text=${`${task.note.kind}: ${task.note.message}`} most=${140} /></div>`}</td>
            <td><${Text} text=${`${target(task.target)}${task.function && !target(task.target).endsWith(task.function) ? ` ${task.function}` : ''}`} most=${60} /></td><td><${State} state=${task.state} />${task.attempt > 0 && html`<div class="sub">${count(task.attempt, 'failed attempt')}</div>`}</td>
            <td>${task.holder && html`<${Text} text=${task.holder} most=${40} />`}</td><td class="time">${task.until_at_ms ? relative(task.until_at_ms) : task.retry_at_ms ? html`<span class="soft">offered ${relative(task.retry_at_ms)}</span>` : ''}</td><td class="num">${task.version}</td>
            <td class="act">${task.state === 'acquired' && html`<button type="button" onClick=${() => release(task)} title=${segno('task', 'release', task.id, '--if-version', task.version)}>release</button>`}</td></tr>`)}<//>
          <p class="soft">${count(Math.min(items.length, 500), 'task')}${next || items.length > 500 ? ', the newest of more' : ''}.</p>`}`;
    }}<//>
    <${Command} line=${segno('task', 'list', '--state', state, ...(query.holder ? ['--holder', query.holder] : []))} />`;
}
