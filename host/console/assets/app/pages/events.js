// Published events that nobody has acknowledged.

import { html, useMemo, useState } from '../dom.js';
import { get, post } from '../api.js';
import { Command, segno } from '../command.js';
import { Json, oneLine } from '../json.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { address, go } from '../route.js';
import { Time } from '../time.js';
import { count, Id, Text } from '../text.js';

export function Events({ query }) {
  const of = useRead((signal) => get('/v1/events', { topic: query.topic, limit: 200 }, signal), [query.topic]);
  const [selected, select] = useState(new Set());
  const [error, fail] = useState(null);
  const again = useMemo(() => throttled(of.again, 2000), [query.topic]);
  useChanges('', again);
  const acknowledge = async () => {
    try {
      await post('/v1/events/ack', { ids: [...selected] });
      select(new Set());
      fail(null);
    } catch (error) {
      fail(error);
    }
    of.again();
  };
  const toggle = (id) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    select(next);
  };
  return html`<${Heading} title="Events" />
    <p class="lead">What functions published and no receiver has taken, the oldest first.</p>
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}><label class="field"><span class="label">Topic</span><input type="search" placeholder="order.*" value=${query.topic || ''} onChange=${(event) => go(address(['events'], { topic: event.target.value || undefined }))} /></label></form>
    <${Failed} error=${error} />
    <${Reading} of=${of}>${({ events }) => html`
      ${!events.length && html`<${Empty}>None is owed.<//>`}
      ${events.length > 0 && html`<div class="bar"><button type="button" disabled=${!selected.size} onClick=${acknowledge} title="They are not read or posted again">acknowledge ${selected.size > 0 && selected.size}</button><span class="soft">${count(events.length, 'event')} shown</span></div>
      <${Table} label="Events" columns=${['', 'Topic', 'Published by', 'Data', { name: 'When', class: 'time' }]}>
        ${events.map((event) => html`<tr key=${event.id}><td class="narrow"><input type="checkbox" aria-label=${`Select ${event.id}`} checked=${selected.has(event.id)} onChange=${() => toggle(event.id)} /></td>
          <td class=${event.type.length < 24 && 'nowrap'}><span class="tag"><${Text} text=${event.type} most=${60} /></span></td><td><${Id} id=${event.subject} most=${60} /></td>
          <td class="main"><details><summary class="mono"><${Text} text=${oneLine(event.data ?? event.data_base64, 100)} /></summary><${Json} value=${event} label="the event" /></details></td><td class="time"><${Time} at=${Date.parse(event.time)} /></td></tr>`)}<//>`}`}<//>
    <${Command} line=${segno('events', ...(query.topic ? ['--topic', query.topic] : []))} />`;
}
