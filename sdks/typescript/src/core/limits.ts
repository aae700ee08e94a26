// Limits: how many executions of a function run, and how fast they begin.

import { type Duration, milliseconds } from './duration.js';
import { checkOptions, whole } from './retry.js';

/** How many executions of a function may run, and how fast they begin. At least one of concurrency, rate, singleton and debounce. */
export interface Limit {
  /** The place of the key in the input, such as `'customer.id'` or `'0.region'`. Default: all executions share one key. */
  key?: string;
  /** Executions of a key that began and have not ended. */
  concurrency?: number;
  /** How many of a key may begin in a period: `'10/s'`, `'5/10s'` (units: ms, s, m, h, d). */
  rate?: string;
  /** How many of a key may begin at the same time. Default: the number in `rate`. */
  burst?: number;
  /** The same as `concurrency`, for all keys together. */
  totalConcurrency?: number;
  /** The same as `rate`, for all keys together. */
  totalRate?: string;
  /** The same as `burst`, for all keys together. */
  totalBurst?: number;
  /** The place of a number from 0 to 9 in the input: who goes first. */
  priority?: string;
  /** `'strict'`: a higher priority goes first. `'weighted'`: it has more turns. */
  priorityOrder?: 'strict' | 'weighted';
  /** One execution of a key at a time: another one does not begin, or replaces the earlier one. */
  singleton?: 'skip' | 'replace';
  /** Of several executions of a key only the last begins, when no other has arrived for this long. */
  debounce?: Duration;
  /** It begins at the latest this long after the first one arrived. */
  debounceLongest?: Duration;
}

const OPTIONS = [
  'key', 'concurrency', 'rate', 'burst', 'totalConcurrency', 'totalRate', 'totalBurst',
  'priority', 'priorityOrder', 'singleton', 'debounce', 'debounceLongest',
];

/** The limit in the host's form. */
export function limitRecord(name: string, limit: Limit): object {
  checkOptions(limit, OPTIONS, `the limit of \`${name}\``);
  const { debounce, debounceLongest, priority, priorityOrder = 'strict' } = limit;
  return {
    function: name,
    key: limit.key,
    perKey: bounds(limit.concurrency, limit.rate, limit.burst),
    total: bounds(limit.totalConcurrency, limit.totalRate, limit.totalBurst),
    priority: priority === undefined ? undefined : { path: priority, order: priorityOrder },
    singleton: limit.singleton,
    debounce:
      debounce === undefined
        ? undefined
        : {
            periodMs: milliseconds(debounce, '`limit.debounce`'),
            longestMs: debounceLongest === undefined ? undefined : milliseconds(debounceLongest, '`limit.debounceLongest`'),
          },
  };
}

function bounds(concurrency: number | undefined, perTime: string | undefined, burst: number | undefined): object {
  return {
    concurrency: concurrency === undefined ? undefined : whole('limit.concurrency', concurrency, 1, 0xffff_ffff),
    rate: perTime === undefined ? undefined : rate(perTime, burst),
  };
}

function rate(text: string, burst: number | undefined): object {
  const [, number, length = '1', unit] = /^([0-9]+)[/]([0-9]+)?(ms|s|m|h|d)$/.exec(text) ?? [];
  if (number === undefined || unit === undefined) throw new TypeError(`\`${text}\` is no rate: write it as '10/s' or '5/10s', with s, m, h or d`);
  const periodMs = milliseconds(`${length}${unit}`, '`limit.rate`');
  return { count: Number(number), periodMs, burst: burst === undefined ? Number(number) : whole('limit.burst', burst, 1, 0xffff_ffff) };
}
