// The steps of an execution, from its journal: what it asked for, from when to when, and what came of
// it. Nothing is drawn here.

import { absolute } from '../time.js';

/** Commands that are done when they are recorded. */
const INSTANT = new Set(['send', 'settle', 'cancel', 'publish', 'set-state', 'clear-state', 'clear-all-state', 'settle-object-promise', 'signal', 'get-state', 'state-keys', 'peek', 'peek-object-promise', 'unread', 'continue-as-new']);

/** What a command does, in short. */
function title(record) {
  const name = record.name || '';
  const until = record.request?.until_ms;
  if (record.command === 'sleep' && until) return `until ${absolute(until)}`;
  if (record.command === 'unread') return `${name} signal${name === '1' ? '' : 's'}`;
  return name;
}

/**
 * `{steps, from, until}` of records in their order; `ended` is the instant of the end, if it has ended.
 * A step is `{seq, index, kind, title, from, until, open, failure, promise, record, outcome}`; one without
 * an index is an event.
 */
export function stepsOf(id, records, ended) {
  const steps = [];
  const byIndex = new Map();
  let from = Infinity;
  let until = -Infinity;
  const event = (record, kind, text, extra = {}) =>
    steps.push({ seq: record.seq, kind, title: text, from: record.at_ms, until: record.at_ms, open: false, record, ...extra });
  for (const record of records) {
    from = Math.min(from, record.at_ms);
    until = Math.max(until, record.at_ms);
    switch (record.kind) {
      case 'started':
        event(record, 'started', record.name || '');
        break;
      case 'command': {
        const step = {
          seq: record.seq,
          index: record.index,
          kind: record.command || 'command',
          title: title(record),
          from: record.at_ms,
          until: INSTANT.has(record.command) ? record.at_ms : undefined,
          open: !INSTANT.has(record.command),
          record,
          promise: ['call', 'http', 'send'].includes(record.command) ? `${id}/${record.index}` : undefined,
          due: record.command === 'sleep' ? record.request?.until_ms : undefined,
        };
        byIndex.set(record.index, step);
        steps.push(step);
        break;
      }
      case 'notified': {
        const step = byIndex.get(record.index);
        if (!step) break;
        step.until = record.at_ms;
        step.open = false;
        step.outcome = record;
        step.failure = record.outcome?.failure;
        break;
      }
      case 'signal':
        event(record, (record.name || '').startsWith('segno:update') ? 'update' : 'signal', record.name || '');
        break;
      case 'cancelled':
        event(record, 'cancelled', 'asked to stop');
        break;
      case 'finished':
        event(record, 'finished', '', { failure: record.outcome?.failure });
        break;
      default:
        event(record, record.kind, record.name || '');
    }
  }
  for (const step of steps) {
    if (step.open && ended !== undefined) step.until = Math.max(ended, step.from);
  }
  if (ended !== undefined) until = Math.max(until, ended);
  return { steps, from: Number.isFinite(from) ? from : 0, until: Number.isFinite(until) ? until : 0 };
}

/**
 * Steps packed into lanes: those of one lane do not overlap, so the number of lanes is how many went on
 * at once. Answers the lane of each step, and how many there are.
 */
export function lanesOf(steps, now) {
  const ends = [];
  const lanes = steps.map((step) => {
    const until = step.until ?? now;
    if (step.index === undefined) return -1;
    let lane = ends.findIndex((end) => end <= step.from);
    if (lane < 0) lane = ends.length < 200 ? ends.push(0) - 1 : 199;
    ends[lane] = Math.max(until, step.from);
    return lane;
  });
  return { lanes, count: ends.length };
}
