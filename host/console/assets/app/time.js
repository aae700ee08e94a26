// Instants and lengths of time, in the reader's zone.

import { html, useEffect, useState } from './dom.js';
import { shared } from './value.js';

/** Now, once a second while somebody looks. */
export const now = shared(Date.now());
setInterval(() => {
  if (!document.hidden) now.set(Date.now());
}, 1000);

const two = (number) => String(number).padStart(2, '0');

/** The zone of the reader at an instant: `+01:00`, or `Z`. */
function zone(date) {
  const minutes = -date.getTimezoneOffset();
  const size = Math.abs(minutes);
  return minutes === 0 ? 'Z' : `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

const day = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
const clock = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;

/** A length of time in one or two units: `340 ms`, `2.1 s`, `3 min 20 s`, `2 d 4 h`. */
export function length(ms) {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  if (size < 60_000) return `${(ms / 1000).toFixed(size < 10_000 ? 1 : 0)} s`;
  const two = (big, small, bigName, smallName) => {
    const first = Math.floor(size / big);
    const second = Math.floor((size % big) / small);
    return `${first} ${bigName}${second ? ` ${second} ${smallName}` : ''}`;
  };
  if (size < 3_600_000) return two(60_000, 1000, 'min', 's');
  if (size < 86_400_000) return two(3_600_000, 60_000, 'h', 'min');
  return two(86_400_000, 3_600_000, 'd', 'h');
}

/** Where an instant lies from now: `3 min ago`, `in 2 h`. */
export function relative(at, from = Date.now()) {
  const ms = at - from;
  if (Math.abs(ms) < 1000) return 'now';
  const size = Math.abs(ms);
  const [unit, name] = size < 60_000 ? [1000, 's'] : size < 3_600_000 ? [60_000, 'min'] : size < 172_800_000 ? [3_600_000, 'h'] : [86_400_000, 'd'];
  const rounded = `${Math.round(size / unit)} ${name}`;
  return ms < 0 ? `${rounded} ago` : `in ${rounded}`;
}

/** An instant in UTC, or its number beyond the calendar, which ends with the year 275760. */
export const iso = (at) => (Number.isNaN(new Date(at).getTime()) ? String(at) : new Date(at).toISOString());

/** An instant in the reader's zone: `2026-11-26 14:03:09+01:00`. A number that no date can show stays a number. */
export function absolute(at) {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : `${day(date)} ${clock(date)}${zone(date)}`;
}

/** The time of day of an instant of today, else with its day. */
export function brief(at) {
  const date = new Date(at);
  return date.toDateString() === new Date().toDateString() ? clock(date) : absolute(at);
}

function useText(text) {
  const [shown, show] = useState(text());
  useEffect(() => {
    const refresh = () => show(text());
    refresh();
    return now.watch(refresh);
  }, [text.key]);
  return shown;
}

/** An instant: where it lies from now, and the instant itself as its title or, with `both`, beside it. */
export function Time({ at, both }) {
  const text = () => relative(at);
  text.key = at;
  const shown = useText(text);
  const exact = iso(at);
  const words = absolute(at);
  return html`<time datetime=${exact} title=${`${words} (${exact})`}>${shown}${both && html` <span class="soft">${words}</span>`}</time>`;
}

/** How long something has been going on, or took. */
export function Elapsed({ from, until }) {
  const text = () => length((until ?? Date.now()) - from);
  text.key = `${from} ${until}`;
  return html`<span class="num">${useText(text)}</span>`;
}
