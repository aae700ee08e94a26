// Requests to the host's public API. Refusals are problem documents, and become errors with their
// code and detail.

import { shared } from './value.js';

/** How this browser is known to the host: `unknown`, `open` (no token needed), `in`, or `out`. */
export const access = shared('unknown');
/** Whether the host answers. */
export const reachable = shared(true);
/** The databases that do not answer, one address a line: the last list had to leave them out. */
export const missing = shared('');

let csrf = '';

/** Why a request was refused, in the host's words. */
export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || `the host answered with status ${status}`);
    this.status = status;
    this.code = problem.code || '';
    this.problem = problem;
  }
}

/** The host did not answer. */
export class Away extends Error {
  constructor() {
    super('The host does not answer. It is asked again as soon as it does.');
    this.code = 'away';
  }
}

/** A path of the API, its parts encoded: `` path`/v1/invocations/${id}` ``. */
export const path = (strings, ...parts) =>
  strings.reduce((text, next, at) => text + encodeURIComponent(parts[at - 1]) + next);

/** A path with a query; entries that are empty are left out. */
export function withQuery(to, query = {}) {
  const entries = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '' && value !== false);
  return entries.length ? `${to}?${new URLSearchParams(entries)}` : to;
}

export const get = (to, query, signal) => ask('GET', withQuery(to, query), undefined, signal);
/** A page of a list. If the store has several databases, those that do not answer are left out. */
export async function getList(to, query, signal) {
  const page = await get(to, { ...query, partial: true }, signal);
  missing.set((page.missing || []).join('\n'));
  return page;
}
export const post = (to, body = {}, signal) => ask('POST', to, body, signal);
export const put = (to, body) => ask('PUT', to, body);
export const patch = (to, body) => ask('PATCH', to, body);
export const remove = (to) => ask('DELETE', to);

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The answer to a request. A read that a busy host puts off is sent again a few times. */
async function ask(method, to, body, signal) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(method, to, body, signal);
    } catch (error) {
      const again = method === 'GET' && error.code === 'overloaded' && attempt < 6 && !signal?.aborted;
      if (!again) throw error;
      await pause(150 * attempt);
    }
  }
}

async function send(method, to, body, signal, extra = {}) {
  const headers = { accept: 'application/json', ...extra };
  if (body !== undefined) headers['content-type'] = 'application/json';
  if (method !== 'GET' && csrf) headers['x-segno-csrf'] = csrf;
  let response;
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    response = await fetch(to, { method, headers, body: text, signal, cache: 'no-store', credentials: 'same-origin' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    reachable.set(false);
    throw new Away();
  }
  reachable.set(true);
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    answer = response.ok ? text : { detail: text.slice(0, 500) };
  }
  if (response.ok) return answer;
  if (response.status === 401 && !extra.authorization) access.set('out');
  throw new Refused(response.status, answer);
}

function enter(session) {
  csrf = session.csrf || '';
  access.set(session.needs_token ? 'in' : 'open');
}

/** Finds out whether the host asks for a token, and whether this browser has a session. */
export async function begin() {
  try {
    enter(await send('GET', '/v1/session'));
  } catch (error) {
    if (error.status !== 401) throw error;
  }
}

/** Opens a session with a token, which is not kept here. */
export async function login(token) {
  enter(await send('POST', '/v1/session', undefined, undefined, { authorization: `Bearer ${token}` }));
}

export async function logout() {
  await send('DELETE', '/v1/session');
  csrf = '';
  access.set('out');
}

/** Metrics as lists of samples by name: `{labels, value}`. */
export async function metrics(signal) {
  const text = await send('GET', '/metrics', undefined, signal, { accept: 'text/plain' });
  const found = new Map();
  for (const line of String(text).split('\n')) {
    const parts = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)/i.exec(line);
    if (!parts) continue;
    const labels = Object.fromEntries([...(parts[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, name, value]) => [name, value]));
    if (!found.has(parts[1])) found.set(parts[1], []);
    found.get(parts[1]).push({ labels, value: Number(parts[3]) });
  }
  return found;
}
