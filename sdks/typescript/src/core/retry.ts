// The options of calls and functions, from the author's form to the host's.

import { BUDGET_LABEL, type BudgetLimits, limitsText } from './budget.js';
import { type Duration, type Instant, instantMs, milliseconds } from './duration.js';
import type { CallRecord, RetryRecord } from './engine.js';

/** When and how often a failed attempt of an activity or a request is repeated. Every field may be left out. */
export interface RetryOptions {
  /** The delay after the first failed attempt. Default: 100 ms. */
  initial?: Duration;
  /** The factor by which each delay is longer than the one before. Default: 2. */
  factor?: number;
  /** The longest delay. Default: one minute. */
  max?: Duration;
  /** The part of the delay that is random, from 0 to 1. Default: 0.2. */
  jitter?: number;
  /** The number of attempts in all. Default: no limit. */
  maxAttempts?: number;
  /** Codes that are final, beside 400 to 499. */
  nonRetryable?: readonly number[];
}

/** The options of a call. */
export interface CallOptions {
  /** The time from the call to its deadline, all attempts included. The call then fails with code 408. */
  timeout?: Duration;
  /** The longest time for one attempt of an activity or a request. A longer attempt fails with 408 and is retried. */
  attemptTimeout?: Duration;
  /** The retry policy of this call, in place of the activity's own. */
  retry?: RetryOptions;
  /** Labels by which the call can be listed. */
  labels?: Readonly<Record<string, string>>;
  /** The budget of the call and everything below it. The budgets above it are charged with the same amounts. */
  budget?: BudgetLimits;
  /** Cancels the call when it is aborted. */
  signal?: AbortSignal;
}

/** The options of a send. */
export interface SendOptions extends Omit<CallOptions, 'signal'> {
  /** The time before the function begins. */
  delay?: Duration;
  /** The instant before which the function does not begin. */
  startAt?: Instant;
}

const CALL_OPTIONS = ['timeout', 'attemptTimeout', 'retry', 'labels', 'budget', 'signal'];
const RETRY_OPTIONS = ['initial', 'factor', 'max', 'jitter', 'maxAttempts', 'nonRetryable'];

/** Refuses an option that does not exist. */
export function checkOptions(options: object, known: readonly string[], what: string): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    const meant = nearest(name, known);
    throw new TypeError(
      `${what} has no option \`${name}\`${meant === undefined ? `: there are ${known.join(', ')}` : `; do you mean \`${meant}\`?`}`,
    );
  }
}

/** A whole number in a range; the error names the option. */
export function whole(option: string, value: number, least: number, most: number): number {
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new RangeError(`\`${option}\` is ${String(value)}, and has to be a whole number from ${least} to ${most}`);
}

function fraction(option: string, value: number, most: number): number {
  if (typeof value === 'number' && value >= 0 && value <= most) return value;
  throw new RangeError(`\`${option}\` is ${String(value)}, and has to be a number from 0 to ${most}`);
}

/** The retry policy in the host's form. */
export function retryRecord(retry: RetryOptions): RetryRecord {
  checkOptions(retry, RETRY_OPTIONS, '`retry`');
  const { initial = 100, factor = 2, max = 60_000, jitter = 0.2, maxAttempts, nonRetryable = [] } = retry;
  return {
    initialMs: milliseconds(initial, '`retry.initial`'),
    factor: fraction('retry.factor', factor, Number.MAX_VALUE),
    maxMs: milliseconds(max, '`retry.max`'),
    jitter: fraction('retry.jitter', jitter, 1),
    maxAttempts: maxAttempts === undefined ? undefined : whole('retry.maxAttempts', maxAttempts, 1, 0xffff_ffff),
    nonRetryable: nonRetryable.map((code) => whole('retry.nonRetryable', code, 0, 0xffff_ffff)),
  };
}

/** The options of a call in the host's form. */
export function callRecord(options: CallOptions, what: string, more: readonly string[] = []): CallRecord {
  checkOptions(options, more.length === 0 ? CALL_OPTIONS : [...CALL_OPTIONS, ...more], what);
  const { timeout, attemptTimeout, retry, labels, budget } = options;
  const pairs = labels === undefined ? [] : Object.entries(labels).map(([name, value]): [string, string] => {
    if (typeof value !== 'string') throw new TypeError(`the label \`${name}\` of ${what} is ${String(value)}, and has to be a text`);
    return [name, value];
  });
  if (attemptTimeout !== undefined) {
    // The contract has a label for the limit of an attempt.
    pairs.push(['segno:attempt-timeout-ms', String(milliseconds(attemptTimeout, '`attemptTimeout`'))]);
  }
  const limits = budget === undefined ? undefined : limitsText(budget);
  if (limits !== undefined) pairs.push([BUDGET_LABEL, limits]);
  return {
    timeoutMs: timeout === undefined ? undefined : milliseconds(timeout, '`timeout`'),
    startAtMs: undefined,
    retry: retry && retryRecord(retry),
    labels: pairs,
  };
}

/** The options of a send in the host's form. */
export function sendRecord(options: SendOptions, what: string, now: number): CallRecord {
  const record = callRecord(options, what, ['delay', 'startAt']);
  const { delay, startAt } = options;
  if (delay !== undefined && startAt !== undefined) throw new TypeError(`${what} has \`delay\` and \`startAt\`: pass one of them`);
  if (delay !== undefined) record.startAtMs = now + milliseconds(delay, '`delay`');
  if (startAt !== undefined) record.startAtMs = instantMs(startAt, '`startAt`');
  return record;
}

/** The known name that is most like `name`, if one is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const scored = known.map((one) => ({ one, distance: distance(name.toLowerCase(), one.toLowerCase()) }));
  scored.sort((left, right) => left.distance - right.distance);
  const [best] = scored;
  return best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3)) ? best.one : undefined;
}

function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, place) => place);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + same));
    }
    row = next;
  }
  return row[right.length]!;
}
