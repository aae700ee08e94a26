// Objects: state by key, whose turn it is, and changing it by hand.

import { html, useMemo, useState } from '../dom.js';
import { get, getList, patch, path } from '../api.js';
import { Command, segno } from '../command.js';
import { Act } from '../execution/act.js';
import { Json } from '../json.js';
import { throttled, useChanges } from '../live.js';
import { Empty, Facts, Failed, Heading, Reading, Table } from '../parts.js';
import { useRead } from '../read.js';
import { address, go, Link } from '../route.js';
import { State } from '../state.js';
import { Id, Text } from '../text.js';
import { bytes } from './modules.js';

/** `module/Object@key` in its parts. */
function parts(name) {
  const at = name.indexOf('@');
  const slash = name.lastIndexOf('/', at < 0 ? undefined : at);
  return [name.slice(0, slash), name.slice(slash + 1, at < 0 ? undefined : at), at < 0 ? '' : name.slice(at + 1)];
}

export function Objects({ query }) {
  const of = useRead((signal) => getList('/v1/objects', { prefix: query.prefix, limit: 200 }, signal), [query.prefix]);
  const [further, setFurther] = useState({ of: null, items: [], next: undefined });
  const [error, fail] = useState(null);
  const again = useMemo(() => throttled(of.again, 5000), [query.prefix]);
  useChanges('', again);
  const more = async (next, page) => {
    try {
      const added = await getList('/v1/objects', { prefix: query.prefix, limit: 200, after: next });
      setFurther((was) => ({ of: page, items: [...(was.of === page ? was.items : []), ...added.items], next: added.next }));
    } catch (error) {
      fail(error);
    }
  };
  return html`<${Heading} title="Objects" />
    <form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}><label class="field"><span class="label">Name begins with</span><input type="search" placeholder="cart/Cart@" value=${query.prefix || ''} onChange=${(event) => go(address(['objects'], { prefix: event.target.value || undefined }))} /></label></form>
    <${Failed} error=${error} />
    <${Reading} of=${of}>${(page) => {
      const items = further.of === page ? [...page.items, ...further.items] : page.items;
      const next = further.of === page ? further.next : page.next;
      return html`${!items.length && html`<${Empty}>No object has state.<//>`}
        ${items.length > 0 && html`<${Table} label="Objects" columns=${['Object', { name: 'Names', class: 'num' }, { name: 'Size', class: 'num' }, 'Whose turn']}>
          ${items.map((item) => html`<tr key=${item.object}><td class="main"><${Link} to=${['objects', ...parts(item.object)]} class="id"><${Text} text=${item.object} most=${100} /><//></td><td class="num">${item.names.toLocaleString()}</td><td class="num">${bytes(item.bytes)}</td><td>${item.holder && html`<${Id} id=${item.holder} most=${60} />`}</td></tr>`)}<//>`}
        ${next && html`<button type="button" onClick=${() => more(next, page)}>Show more</button>`}`;
    }}<//>
    <${Command} line=${segno('object', 'list', query.prefix)} />`;
}

export function ObjectPage({ module, object, of: key }) {
  const name = `${module}/${object}@${key}`;
  const place = path`/v1/objects/${module}/${object}/${key}`;
  const of = useRead((signal) => get(place, {}, signal), [name]);
  const [asked, ask] = useState(null);
  const again = useMemo(() => throttled(of.again, 1000), [name]);
  useChanges('', ({ ids, missed }) => (missed || !ids.length || ids.some((id) => id.includes(key))) && again());
  const close = () => {
    ask(null);
    of.again();
  };
  return html`<${Reading} of=${of}>${(seen) => html`<${Heading} title=${name}><span class="id"><${Text} text=${name} most=${160} /></span><//>
    <${Facts} facts=${[['Whose turn', seen.holder ? html`<${Id} id=${seen.holder} />` : 'nobody’s'], ['Last in line', seen.last && html`<${Id} id=${seen.last} />`], ['Its run', seen.run && html`<${Id} id=${seen.run} />`],
      Object.keys(seen.promises || {}).length > 0 && ['Promises', Object.entries(seen.promises).map(([each, state]) => html`<span class="tag"><${Text} text=${each} /> <${State} state=${state} /></span>`)]]} />
    <div class="bar"><h2>State</h2><span class="grow"></span><button type="button" onClick=${() => ask({ how: 'set' })}>set a value …</button></div>
    ${!Object.keys(seen.names).length && html`<${Empty}>It has no state.<//>`}
    ${Object.entries(seen.names).map(([each, size]) => html`<section class="card" key=${each}><header><h3><${Text} text=${each} /></h3><span class="soft">${bytes(size)}</span><span class="grow"></span><button type="button" onClick=${() => ask({ how: 'set', name: each, value: seen.state[each] })}>change …</button> <button type="button" class="quiet-danger" onClick=${() => ask({ how: 'clear', name: each })}>clear …</button></header>
      ${each in seen.state ? html`<${Json} value=${seen.state[each]} label=${each} />` : html`<p class="soft">Not shown: the state is larger than 1 MiB. <code>${segno('object', 'get', name, each)}</code></p>`}</section>`)}
    ${asked?.how === 'set' && html`<${Act} title="Set a value" about="Refused while an execution has the turn, or waits for it." verb="Set" send=${patch} to=${place} schema=${null} label="Value" fields=${[{ name: 'name', label: 'Name', value: asked.name ?? '', required: true }]}
      body=${(value, { name: of }) => ({ set: { [of]: value } })} line=${(value, { name: of }) => segno('object', 'set', name, of || 'NAME', JSON.stringify(value))} onClose=${close} />`}
    ${asked?.how === 'clear' && html`<${Act} title="Clear a value" about="It is gone from the state. Refused while an execution has the turn, or waits for it." verb="Clear" danger send=${patch} to=${place} body=${() => ({ clear: [asked.name] })} line=${() => segno('object', 'clear', name, asked.name)} onClose=${close} />`}
    <${Command} line=${segno('object', 'get', name)} />`}<//>`;
}
