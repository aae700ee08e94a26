// What an execution logged.

import { classes, html, useMemo, useState } from '../dom.js';
import { get, path } from '../api.js';
import { useRead } from '../read.js';
import { Rows } from '../list.js';
import { Reading } from '../parts.js';
import { absolute, brief } from '../time.js';
import { count, Text } from '../text.js';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'];
const ROW = 24;
const MOST = 50_000;

async function readLogs(id, signal) {
  const lines = [];
  let from = 0;
  let page;
  do {
    page = await get(path`/v1/invocations/${id}/logs`, { from, limit: 10_000 }, signal);
    lines.push(...page.lines);
    from = page.next;
  } while (from !== undefined && lines.length < MOST);
  return { lines, more: from !== undefined, uncommitted: page.uncommitted || [] };
}

export function Logs({ id, version }) {
  const logs = useRead((signal) => readLogs(id, signal), [id, version]);
  const [least, setLeast] = useState('trace');
  const [words, search] = useState('');
  const [selected, select] = useState(null);
  const all = logs.data ? [...logs.data.lines, ...logs.data.uncommitted.map((line) => ({ ...line, uncommitted: true }))] : [];
  const found = useMemo(() => {
    const wanted = words.trim().toLowerCase();
    return all.filter((line) => LEVELS.indexOf(line.level) >= LEVELS.indexOf(least) && (!wanted || line.message.toLowerCase().includes(wanted)));
  }, [logs.data, least, words]);
  return html`<${Reading} of=${logs}>${(data) =>
    !all.length
      ? html`<p class="empty">It logged nothing.</p>`
      : html`
        <div class="bar">
          <label class="search"><span class="unseen">Search the log</span><input type="search" placeholder="Search in messages" value=${words} onInput=${(event) => search(event.target.value)} /></label>
          <label>from level <select value=${least} onChange=${(event) => setLeast(event.target.value)}>${LEVELS.map((level) => html`<option>${level}</option>`)}</select></label>
          <span class="soft" role="status">${count(found.length, 'line')}${data.more ? ', the first of more' : ''}</span>
        </div>
        <${Rows} count=${found.length} row=${ROW} most=${Math.max(320, Math.round(innerHeight * 0.6))} label="Log" role="log" draw=${(at) => {
          const line = found[at];
          return html`<div class=${classes('rows-row log', selected === line && 'chosen')} key=${line.line} onClick=${() => select(selected === line ? null : line)}>
            <time class="soft num" title=${absolute(line.at_ms)}>${brief(line.at_ms)}</time><span class=${`level ${line.level}`}>${line.level}</span>
            <span class="mono"><${Text} text=${line.message} most=${300} />${line.uncommitted && html` <em class="soft">not committed: the next attempt logs it again</em>`}</span></div>`;
        }} />
        ${selected && html`<section class="detail" aria-label="The line"><button type="button" class="close" aria-label="Close" onClick=${() => select(null)}>×</button><p class="soft">${absolute(selected.at_ms)}, ${selected.level}</p><pre><${Text} text=${selected.message} most=${20_000} more /></pre></section>`}`
  }<//>`;
}
