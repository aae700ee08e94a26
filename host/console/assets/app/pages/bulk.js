// What is done to many executions: first which ones, then each by itself, then what came of it.

import { html, useEffect, useState } from '../dom.js';
import { get, path, post } from '../api.js';
import { Command, quoted, segno } from '../command.js';
import { Rows } from '../list.js';
import { Dialog, Failed } from '../parts.js';
import { isEnded, State } from '../state.js';
import { count, Text } from '../text.js';

/** At most so many at once, so that the preview can be read. */
const MOST = 1000;
const AT_A_TIME = 4;
const ROW = 30;

const WORDS = {
  cancel: ['Cancel', 'Each is asked to stop, and may clean up first.', (item) => !isEnded(item.state)],
  kill: ['Kill', 'Each ends at once, without cleaning up. What it called ends with it.', (item) => !isEnded(item.state)],
  continue: ['Continue', 'Each halted one goes on from where it stopped.', (item) => item.state === 'halted'],
};

/** The command for all of a listing, or for those that were chosen. */
function commandOf(verb, chosen, line) {
  const each = `xargs -d '\\n' -n 1 segno ${verb}`;
  if (!chosen) return `${line} --all --json | jq -r '.items[].id' | ${each}`;
  if (chosen.length === 1) return segno(verb, chosen[0].id);
  return `printf '%s\\n' ${chosen.map((item) => quoted(item.id)).join(' ')} | ${each}`;
}

export function Bulk({ verb, filter, chosen, line, onClose }) {
  const [title, about, fits] = WORDS[verb];
  const [found, setFound] = useState(chosen);
  const [more, setMore] = useState(false);
  const [error, fail] = useState(null);
  const [done, setDone] = useState(null);
  useEffect(() => {
    if (chosen) return;
    (async () => {
      try {
        const items = [];
        let after;
        do {
          const page = await get('/v1/invocations', { ...filter, limit: 1000, after });
          items.push(...page.items.filter(fits));
          after = page.next;
        } while (after && items.length < MOST);
        setMore(Boolean(after) || items.length > MOST);
        setFound(items.slice(0, MOST));
      } catch (error) {
        fail(error);
      }
    })();
  }, []);
  const touched = (found || []).filter(fits);
  const skipped = (found || []).length - touched.length;
  const run = async () => {
    const state = { total: touched.length, at: 0, changed: 0, same: 0, failed: [] };
    setDone({ ...state });
    const left = [...touched];
    const work = async () => {
      for (let item = left.shift(); item; item = left.shift()) {
        try {
          const answer = await post(path`/v1/invocations/${item.id}/` + verb);
          if (answer.changed) state.changed += 1;
          else state.same += 1;
        } catch (error) {
          state.failed.push([item.id, error.message]);
        }
        state.at += 1;
        setDone({ ...state });
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, work));
  };
  const finished = done && done.at === done.total;
  return html`<${Dialog} title=${`${title} ${touched.length ? count(touched.length, 'execution') : 'executions'}`} wide onClose=${onClose}>
    <p>${about}${skipped > 0 && ` ${count(skipped, 'selected one')} cannot be: ${verb === 'continue' ? 'not halted' : 'ended already'}.`}${more && ` These are the first ${MOST.toLocaleString()}; do it again for the rest.`}</p>
    <${Failed} error=${error} />
    ${!found && !error && html`<p class="empty" aria-busy="true">Looking for them …</p>`}
    ${found && !touched.length && html`<p class="empty">There is none.</p>`}
    ${touched.length > 0 && !done && html`<${Rows} count=${touched.length} row=${ROW} most=${300} label="What is touched" draw=${(at) => html`<div class="rows-row" key=${touched[at].id}>
      <span class="id"><${Text} text=${touched[at].id} most=${80} /></span><${State} state=${touched[at].state} /></div>`} />`}
    ${done && html`<p role="status">${done.at.toLocaleString()} of ${done.total.toLocaleString()}: ${count(done.changed, 'execution')} changed${done.same > 0 && `, ${done.same} had ended already`}${done.failed.length > 0 && `, ${done.failed.length} refused`}.</p>
      <progress max=${done.total} value=${done.at}></progress>
      ${done.failed.length > 0 && html`<ul class="plain">${done.failed.slice(0, 50).map(([id, why]) => html`<li><span class="id"><${Text} text=${id} most=${80} /></span>: <${Text} text=${why} /></li>`)}</ul>`}`}
    <${Command} line=${commandOf(verb, chosen && touched, line)} />
    <footer>
      <button type="button" onClick=${onClose}>${finished ? 'Close' : 'Leave them'}</button>
      ${!finished && html`<button type="button" class=${verb === 'kill' ? 'danger' : 'primary'} disabled=${!touched.length || Boolean(done)} onClick=${run}>${title} ${touched.length > 0 && touched.length.toLocaleString()}</button>`}
    </footer>
  <//>`;
}
