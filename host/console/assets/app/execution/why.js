// Why an execution does not go on, in a sentence: the same words as `segno why`.

import { html } from '../dom.js';
import { get, path } from '../api.js';
import { Command } from '../command.js';
import { State } from '../state.js';
import { relative } from '../time.js';
import { Id, Text } from '../text.js';

export const readWhy = (id, signal) => get(path`/v1/invocations/${id}/why`, {}, signal);

/** What else sets an execution going. */
function alternatives({ others, alternatives: named = [] }) {
  const words = named.map(({ kind, id, until_at_ms }) => ({
    timer: `the end of a sleep${until_at_ms ? ` ${relative(until_at_ms)}` : ''}`,
    signal: 'a signal',
    turn: `its turn behind ${id}`,
  })[kind] || `the ${kind} ${id}`);
  const more = others - named.length;
  if (more > 0) words.push(more === 1 ? 'one more promise' : `${more} more promises`);
  return words.map((word) => `, or for ${word}`).join('');
}

/** What an execution takes, as its module declares it. */
const takes = (link) => (link.takes || []).map(({ kind, name, value }) => `the ${kind} \`${name}\`${value ? ` (${value})` : ''}`).join(' or ');

/** The first of those that have the places of a limit. */
const holders = (of) => of.slice(0, 3).map(({ id, state }) => (state === 'halted' ? `${id} (halted)` : id)).join(', ');

/** What keeps an execution behind its limit. */
export function behind(limit) {
  const { waits } = limit;
  if (!waits) return 'was admitted by its limit';
  const facts = [];
  if (waits.debounced_until_ms) facts.push(`debounced, it begins ${relative(waits.debounced_until_ms)} if no other comes`);
  if (waits.concurrency) facts.push(`${waits.running} of ${waits.concurrency} run`);
  if (waits.total_concurrency) facts.push(`${waits.total_running} of ${waits.total_concurrency} in all`);
  if (waits.next_token_at_ms) facts.push(`the next token comes ${relative(waits.next_token_at_ms)}`);
  if (waits.total_next_token_at_ms) facts.push(`the next token in all ${relative(waits.total_next_token_at_ms)}`);
  facts.push(`${waits.before_more ? 'more than 1,000' : waits.before || 'none'} before it`);
  if (waits.holders?.length) facts.push(`held by ${holders(waits.holders)}${waits.holders.length > 3 ? ', …' : ''}`);
  return `waits behind the limit of ${limit.limit}${limit.key ? ` for ${limit.key}` : ''}: ${facts.join(', ')}`;
}

/** What stopped an execution that is halted, by the kind of its note. */
const HALTS = {
  divergence: ': its code asks for something else than its journal says',
  trap: ': it trapped again and again',
  failure: ': it failed as often as it may',
  'waits-for-nothing': ': it neither ended nor waits for anything',
  damaged: ': what is stored of it contradicts itself',
};

/** Who takes a task with this target. */
const taker = (to) => (/^(wasm|segno|restate):/.test(to) ? 'a host' : `a worker of ${to}`);

/** Why the execution of a link does not go on. */
export function cause(link, cycle = []) {
  const at = link.until_at_ms ? relative(link.until_at_ms) : '';
  const latest = at && ['call', 'promise', 'saga-step'].includes(link.reason) ? `, ${at} at the latest` : '';
  const failed = link.attempt ? `${link.attempt} attempt${link.attempt === 1 ? '' : 's'} failed; ` : '';
  const said = {
    ended: () => 'has ended: it waits for nothing',
    halted: () => `is halted, and waits for a person${HALTS[link.note?.kind] || ''}`,
    'module-missing': () => (link.on ? `cannot run: its module ${link.on} is not stored` : 'cannot run: the module with which it began is not stored'),
    deadlocked: () => `waits for itself: ${[...cycle, cycle[0]].join(' → ')}; end one of them`,
    limit: () => (link.limit ? behind(link.limit) : 'waits behind a limit'),
    turn: () => `waits for its turn with an object, behind ${link.on}`,
    'backing-off': () => `${failed}the next comes ${at}`,
    delayed: () => `waits for its start ${at}`,
    offered: () => `${failed}waits for ${taker(link.target)} to take it`,
    running: () => (link.lease ? `runs on ${link.lease.node}, whose claim ends ${at} unless it is extended` : 'runs'),
    call: () => `waits for the call ${link.on}`,
    'saga-step': () => 'a step of a saga is unclear: check whether it acted, and settle it',
    promise: () => `waits for the promise ${link.on}, which a client settles`,
    signal: () => `waits for ${takes(link) || 'a signal'}`,
    timer: () => `sleeps: continues ${at}`,
    nothing: () => 'is suspended and waits for nothing that is known',
  }[link.reason];
  return `${said ? said() : link.reason}${latest}${alternatives(link)}`;
}

/** The answer on top, and the way there where it is longer than one link. */
export function Why({ id, why }) {
  const last = why.chain.at(-1);
  if (!last) return null;
  const tone = { halted: 'warn', deadlocked: 'bad', 'saga-step': 'bad', nothing: 'bad', 'module-missing': 'bad', 'backing-off': 'warn' }[last.reason] || '';
  return html`<section class=${`why ${tone}`} aria-label="Why it does not go on">
    <p class="why-line">${last.id !== id && html`<${Id} id=${last.id} most=${60} /> `}<${Text} text=${cause(last, why.cycle)} most=${600} more /></p>
    ${last.reason !== 'ended' && last.note && html`<${Note} note=${last.note} />`}
    ${last.place && html`<p class="soft">in its code:</p><${Frames} place=${last.place} />`}
    ${last.commands.length > 0 && last.reason !== 'ended' && html`<div class="why-commands">${last.commands.map((line) => html`<${Command} line=${line} />`)}</div>`}
    ${why.chain.length > 1 && html`<details><summary>what waits for what</summary><ol class="chain">
      ${why.chain.map((link) => html`<li><${Id} id=${link.id} most=${60} /> <${State} state=${link.state} /> <${Text} text=${cause(link, why.cycle)} /></li>`)}
      ${why.more && html`<li class="soft">the chain continues: look at the last one</li>`}</ol></details>`}
  </section>`;
}

/** A place in the code of its author: the frames, and the whole backtrace. */
export function Frames({ place }) {
  const frames = Array.isArray(place?.frames) ? place.frames : [];
  return html`${frames.length > 0 && html`<ul class="frames">${frames.slice(0, 30).map((frame) => html`<li><code><${Text} text=${[frame.file && `${frame.file}${frame.line ? `:${frame.line}` : ''}`, frame.function && `in ${frame.function}`].filter(Boolean).join(' ')} /></code></li>`)}</ul>`}
    ${typeof place?.backtrace === 'string' && html`<details><summary>backtrace</summary><pre><${Text} text=${place.backtrace} most=${20000} more /></pre></details>`}`;
}

/** The last error of an execution, with the frames of its author's code. */
export function Note({ note }) {
  return html`<div class="note"><strong><${Text} text=${note.kind} /></strong>: <${Text} text=${note.message} most=${1500} more />
    <${Frames} place=${note.details} />
  </div>`;
}
