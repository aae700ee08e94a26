// The streams of an execution: a list, and one of them while it grows.

import { classes, html, useEffect, useLayoutEffect, useRef, useState } from '../dom.js';
import { get, path } from '../api.js';
import { followed } from '../follow.js';
import { Json, oneLine } from '../json.js';
import { Rows } from '../list.js';
import { Reading, Table } from '../parts.js';
import { Link } from '../route.js';
import { Time } from '../time.js';
import { count, Text } from '../text.js';

/** How often the list is read again while a stream is open, in ms: appends are not among the changes. */
const READ_EVERY_MS = 2000;
const ROW = 24;
/** The newest messages, and the newest bytes of a text, that are kept; a block of text is drawn as one. */
const MOST_MESSAGES = 5000;
const MOST_BYTES = 256 * 1024;
const BLOCK = 8192;
/** How often new items are drawn, in ms. */
const DRAW_EVERY_MS = 100;

const isJson = (type) => /^application\/json\s*(;|$)/i.test(type);
const isText = (type) => /^text\//i.test(type);
const size = (bytes) => (bytes < 1024 ? `${bytes} B` : bytes < 1_048_576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1_048_576).toFixed(1)} MiB`);
const offset = (position) => `0000000000000000_${String(position).padStart(16, '0')}`;
const position = (text) => Number(text.split('_')[1]);

export const readStreams = async (id, signal) => (await get(path`/v1/invocations/${id}/streams`, {}, signal)).streams;

/** `streams` is what `useRead` answers of `readStreams`; `name` is the one that is shown. */
export function Streams({ id, streams, name }) {
  const isOpen = !streams.data || streams.data.some((stream) => !stream.closed);
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => document.hidden || streams.again(), READ_EVERY_MS);
    return () => clearInterval(timer);
  }, [id, isOpen]);
  return html`<${Reading} of=${streams}>${(all) => {
    if (!all.length) return html`<p class="empty">It has written no stream.</p>`;
    const shown = all.find((stream) => stream.name === name) || (all.length === 1 && name === undefined ? all[0] : undefined);
    return html`
      <${Table} columns=${['Name', 'Type', { name: 'Items', class: 'num' }, { name: 'Bytes', class: 'num' }, 'State', 'Last']} label="Streams">
        ${all.map((stream) => html`<tr key=${stream.name} class=${classes(stream === shown && 'chosen')}>
          <td class="stream-name"><${Link} to=${['executions', id, 'streams']} query=${{ stream: stream.name }} class="id" aria-current=${stream === shown ? 'true' : undefined}><${Text} text=${stream.name} most=${80} /><//></td>
          <td class="nowrap"><${Text} text=${stream.content_type} most=${40} /></td>
          <td class="num">${stream.length.toLocaleString()}</td><td class="num">${size(stream.bytes)}</td>
          <td><${Status} closed=${stream.closed} /></td><td class="nowrap"><${Time} at=${stream.used_at_ms} /></td></tr>`)}
      <//>
      ${shown && html`<${Content} key=${shown.path} of=${shown} />`}
      ${name !== undefined && !shown && html`<p class="empty">There is no stream <${Text} text=${name} most=${80} />.</p>`}`;
  }}<//>`;
}

const Status = ({ closed, away }) =>
  html`<span class=${`state ${closed ? 'off' : away ? 'warn' : 'run'}`}><i aria-hidden="true"></i>${closed ? 'closed' : away ? 'connecting again' : 'open'}</span>`;

/** The newest items of a stream, and how many before them are not kept. `update` is a count of the pictures. */
function useItems(of) {
  const kept = useRef(null);
  const [, draw] = useState(0);
  useEffect(() => {
    const json = isJson(of.content_type);
    const from = Math.max(0, of.length - (json ? MOST_MESSAGES : MOST_BYTES));
    const state = { items: [], bytes: 0, next: 0, first: from, end: from, closed: false, away: false, error: null };
    kept.current = state;
    let timer = 0;
    const changed = () => {
      timer ||= setTimeout(() => {
        timer = 0;
        draw((was) => was + 1);
      }, DRAW_EVERY_MS);
    };
    const stop = followed(of.path, offset(from), {
      onData(data) {
        if (json) addMessages(state, data);
        else if (isText(of.content_type)) addText(state, data);
        changed();
      },
      onPlace(next, closed) {
        state.end = position(next);
        state.closed = closed;
        changed();
      },
      onState(away) {
        state.away = away;
        changed();
      },
      onError(error) {
        state.error = error;
        changed();
      },
    });
    changed();
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [of.path]);
  return kept.current;
}

function addMessages(state, data) {
  for (const value of JSON.parse(data)) {
    state.items.push({ at: state.first + state.items.length, value });
  }
  const over = state.items.length - MOST_MESSAGES;
  if (over > 0) {
    state.items.splice(0, over);
    state.first += over;
  }
}

/** A read may have begun within a character, of which only marks are left. */
function addText(state, data) {
  let text = state.bytes === 0 && state.first > 0 ? data.replace(/^\ufffd+/, '') : data;
  while (text) {
    const last = state.items.at(-1);
    const room = last ? BLOCK - last.text.length : 0;
    // The first half of a pair of code units does not stand alone.
    const cut = room > 1 ? whole(text, room) : 0;
    if (cut > 0) {
      last.text += text.slice(0, cut);
      state.bytes += length(text.slice(0, cut));
      last.bytes += length(text.slice(0, cut));
      text = text.slice(cut);
    } else {
      state.items.push({ at: state.next, text: '', bytes: 0 });
      state.next += 1;
    }
  }
  while (state.bytes > MOST_BYTES && state.items.length > 1) {
    const [gone] = state.items.splice(0, 1);
    state.bytes -= gone.bytes;
    state.first += gone.bytes;
  }
}

function whole(text, room) {
  if (text.length <= room) return text.length;
  const code = text.charCodeAt(room - 1);
  return code >= 0xd800 && code < 0xdc00 ? room - 1 : room;
}

const length = (text) => new TextEncoder().encode(text).length;

function Content({ of }) {
  const state = useItems(of);
  const [end, follow] = useState(true);
  const [chosen, choose] = useState(null);
  if (!state) return html`<p class="empty" aria-busy="true">…</p>`;
  const json = isJson(of.content_type);
  const text = isText(of.content_type);
  const unit = json ? 'message' : 'byte';
  const most = Math.max(240, Math.round(innerHeight * 0.55));
  return html`<section class="stream" aria-label=${`The stream ${of.name}`}>
    <div class="bar"><h2><${Text} text=${of.name} most=${80} /></h2><${Status} closed=${state.closed} away=${state.away} />
      <span class="soft" role="status">${count(state.end, unit)}${state.first > 0 && `, the first ${state.first.toLocaleString()} not shown`}</span>
      ${(json || text) && html`<label class="check"><input type="checkbox" checked=${end} onChange=${(event) => follow(event.target.checked)} />stay at the end</label>`}</div>
    ${state.error && html`<p class="warn"><${Text} text=${state.error} most=${300} /></p>`}
    ${json && html`<${Rows} count=${state.items.length} row=${ROW} most=${most} at=${end ? state.items.length - 1 : undefined} label="Messages" draw=${(at) => {
      const item = state.items[at];
      return html`<div class=${classes('rows-row message', chosen === item && 'chosen')} key=${item.at} onClick=${() => choose(chosen === item ? null : item)}>
        <span class="soft num">${item.at.toLocaleString()}</span><span class="mono"><${Text} text=${oneLine(item.value, 300)} most=${301} /></span></div>`;
    }} />`}
    ${text && html`<${Growing} blocks=${state.items} stays=${end} most=${most} version=${state.end} />`}
    ${!json && !text && html`<p class="empty">Its bytes are no text: the command below writes them into a file.</p>`}
    ${chosen && html`<section class="detail" aria-label="The message"><button type="button" class="close" aria-label="Close" onClick=${() => choose(null)}>×</button><h2>Message ${chosen.at.toLocaleString()}</h2><${Json} value=${chosen.value} label="the message" /></section>`}
  </section>`;
}

/** A text that grows, in blocks of which only the last changes. */
function Growing({ blocks, stays, most, version }) {
  const element = useRef(null);
  useLayoutEffect(() => {
    if (stays) element.current.scrollTop = element.current.scrollHeight;
  }, [stays, version]);
  return html`<pre class="growing" ref=${element} tabindex="0" aria-label="Text" style=${{ maxHeight: `${most}px` }}>${blocks.map((block) => html`<${Text} key=${block.at} text=${block.text} most=${BLOCK} />`)}</pre>`;
}
