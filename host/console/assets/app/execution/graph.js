// A graph run: its nodes in layers, each below those that it needs, drawn while there are few enough
// to be looked at, and always as a table.

import { classes, html } from '../dom.js';
import { get, path } from '../api.js';
import { useRead } from '../read.js';
import { Facts, Reading, Table } from '../parts.js';
import { Link } from '../route.js';
import { State, tone } from '../state.js';
import { absolute, Elapsed, length } from '../time.js';
import { count, Text } from '../text.js';

/** More nodes than this are only a table. */
const DRAWN = 300;
const [WIDE, HIGH, GAP_X, GAP_Y] = [170, 40, 56, 14];

export function Graph({ id, version }) {
  const run = useRead((signal) => get(path`/v1/graphs/${id}`, { limit: 10_000 }, signal), [id, version]);
  return html`<${Reading} of=${run}>${(data) => html`
    <${Facts} facts=${[['Plan', data.name], ['At once', data.max_parallel], ['Nodes', count(data.nodes.length, 'node') + (data.next ? ', the first of more' : '')], ...Object.entries(data.counts).map(([state, number]) => [html`<${State} state=${state} />`, number.toLocaleString()])]} />
    ${data.nodes.length <= DRAWN && html`<${Drawing} nodes=${data.nodes} />`}
    <${Table} label="Nodes" columns=${['Node', 'Does', 'State', { name: 'Took', class: 'num' }, 'Needs']}>
      ${data.nodes.slice(0, 2000).map((node) => html`<tr key=${node.name}>
        <td class="main">${node.promise ? html`<${Link} to=${[node.what.startsWith('signal ') ? 'promises' : 'executions', node.promise]}><${Text} text=${node.name} most=${60} /><//>` : html`<${Text} text=${node.name} most=${60} />`}</td>
        <td><${Text} text=${node.what} most=${80} /></td>
        <td><${State} state=${node.state} />${node.attempt > 0 && html` <span class="soft">attempt ${node.attempt + 1}</span>`}${node.failure && html`<div class="sub bad"><${Text} text=${`${node.failure.code}: ${node.failure.message}`} most=${160} /></div>`}</td>
        <td class="num">${node.started_at_ms && html`<${Elapsed} from=${node.started_at_ms} until=${node.settled_at_ms} />`}</td>
        <td class="soft"><${Text} text=${node.needs.join(', ')} most=${120} /></td></tr>`)}
    <//>
    <${History} id=${id} version=${version} began=${data.created_at_ms} />`}<//>`;
}

/** What happened to the nodes, in the order in which it was written. */
function History({ id, version, began }) {
  const history = useRead((signal) => get(path`/v1/graphs/${id}/history`, { limit: 2000 }, signal), [id, version]);
  return html`<${Reading} of=${history}>${(data) => data.facts.length > 0 && html`<h2>History${data.next && html` <span class="soft">the first ${data.facts.length.toLocaleString()}</span>`}</h2>
    <${Table} label="History" columns=${[{ name: 'After', class: 'num' }, 'Node', { name: 'Attempt', class: 'num' }, 'State']}>
      ${data.facts.map((fact) => html`<tr key=${`${fact.node} ${fact.attempt} ${fact.state} ${fact.at_ms}`}>
        <td class="num" title=${absolute(fact.at_ms)}>+${length(fact.at_ms - began)}</td>
        <td><${Text} text=${fact.node} most=${60} /></td>
        <td class="num">${fact.attempt + 1}</td>
        <td><${State} state=${fact.state} />${fact.reset && html` <span class="soft">${fact.reset === 'failed' ? 'the attempt failed' : 'the attempt was cancelled'}</span>`}</td></tr>`)}
    <//>`}<//>`;
}

function Drawing({ nodes }) {
  const layers = [];
  const places = new Map();
  for (const node of nodes) {
    layers[node.layer] ||= [];
    places.set(node.name, { x: node.layer * (WIDE + GAP_X), y: layers[node.layer].length * (HIGH + GAP_Y) });
    layers[node.layer].push(node);
  }
  const tallest = Math.max(...layers.map((layer) => layer?.length || 0));
  const width = layers.length * (WIDE + GAP_X) - GAP_X + 4;
  const height = tallest * (HIGH + GAP_Y) - GAP_Y + 4;
  const edge = (from, to) => `M${from.x + WIDE} ${from.y + HIGH / 2}C${from.x + WIDE + GAP_X / 2} ${from.y + HIGH / 2} ${to.x - GAP_X / 2} ${to.y + HIGH / 2} ${to.x} ${to.y + HIGH / 2}`;
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  return html`<div class="scroll graph" tabindex="0" role="region" aria-label="The graph, which the table below has as well">
    <svg width=${width} height=${height} viewBox=${`-2 -2 ${width} ${height}`} aria-hidden="true">
      <defs><marker id="edge-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path class="edge-head" d="M0 0L8 4L0 8z" /></marker></defs>
      ${nodes.flatMap((node) => node.needs.map((name) => places.get(name) && html`<path class="edge" marker-end="url(#edge-head)" d=${edge(places.get(name), places.get(node.name))} />`))}
      ${nodes.map((node) => {
        const { x, y } = places.get(node.name);
        return html`<g class=${classes('node', tone(node.state))}>
          <rect x=${x} y=${y} width=${WIDE} height=${HIGH} rx="5" />
          <text x=${x + 10} y=${y + 17}>${cut(node.name, 22)}</text><text class="small" x=${x + 10} y=${y + 32}>${cut(`${node.state} · ${node.what}`, 26)}</text>
          <title>${`${node.name}: ${node.what}, ${node.state}`}</title></g>`;
      })}
    </svg></div>`;
}
