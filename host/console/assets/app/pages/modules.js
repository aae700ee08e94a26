// Modules, by name, with what runs on them.

import { html, useMemo } from '../dom.js';
import { get } from '../api.js';
import { Command, segno } from '../command.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { Link } from '../route.js';
import { Time } from '../time.js';
import { count, Text } from '../text.js';

export const bytes = (size) => (size < 1024 ? `${size} B` : size < 1_048_576 ? `${(size / 1024).toFixed(1)} KiB` : `${(size / 1_048_576).toFixed(1)} MiB`);

export function Modules() {
  const of = useRead((signal) => get('/v1/modules', {}, signal), []);
  const again = useMemo(() => throttled(of.again, 5000), []);
  useChanges('', again);
  return html`<${Heading} title="Modules" />
    <${Reading} of=${of}>${({ modules }) => html`
      ${!modules.length && html`<${Empty}>Nothing is deployed. <code>segno new</code> makes a crate to begin with, and <code>segno deploy</code> uploads it.<//>`}
      ${modules.length > 0 && html`<${Table} label="Modules" columns=${['Name', 'Digest', 'Functions', { name: 'In flight', class: 'num' }, { name: 'Size', class: 'num' }, 'Uploaded']}>
        ${modules.map((module) => html`<tr key=${module.digest}>
          <td class="main">${module.aliases.length ? module.aliases.map((alias) => html`<${Link} to=${['modules', alias]} class="id"><${Text} text=${alias} /><//> `) : html`<span class="soft">no name</span>`}</td>
          <td><${Link} to=${['modules', module.digest]}><code>${module.digest.slice(0, 12)}</code><//></td>
          <td>${module.functions.slice(0, 6).map((each) => html`<span class="tag"><${Text} text=${each.name} most=${40} /></span>`)}${module.functions.length > 6 && html`<span class="soft">and ${module.functions.length - 6} more</span>`}</td>
          <td class="num">${module.in_use.toLocaleString()}${module.in_use >= 10_000 && '+'}</td><td class="num">${bytes(module.size)}</td><td class="time"><${Time} at=${module.created_at_ms} /></td></tr>`)}
      <//><p class="soft">${count(modules.length, 'module')}. Code is kept by its digest: what began on one goes on with it, whatever its name stands for now.</p>`}`}<//>
    <${Command} line=${segno('modules')} />`;
}
