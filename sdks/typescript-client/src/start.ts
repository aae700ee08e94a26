// Starts: the options of a new execution, and the ids that make repeated starts the same start.

import type { StartFirst, StartRetry } from './api.js';
import type { CallOptions } from './options.js';
import { randomKey } from './time.js';

/** Options of a new execution. */
export interface StartOptions extends CallOptions {
  /**
   * Id of the execution. A start with the same id, function and input again finds the first execution; with others it
   * is refused (`ConflictError`, code `key-reused`). Default: made by the client, so that a repeat after a lost answer
   * starts nothing twice.
   */
  id?: string | undefined;
  /** Labels by which executions are listed. */
  labels?: Record<string, string> | undefined;
  /**
   * Budget of the execution and everything below it: limits by unit, such as `{ tokens: 20_000, usd: 1.5 }`, with at
   * most six decimal places. The host counts `calls`; activities report all others.
   */
  budget?: Record<string, number> | undefined;
  /** Time limit of the execution, from now, in milliseconds. Default: the function's own. */
  timeoutMs?: number | undefined;
  /** Earliest start. */
  startAt?: Date | number | undefined;
  /** Retry policy of an activity. Default: the function's own. */
  retry?: StartRetry | undefined;
  /** Time limit of one attempt of an activity, in milliseconds. */
  attemptTimeoutMs?: number | undefined;
}

/** An execution to start, in the same step, if a signal or an update finds none. */
export interface StartFirstOptions extends Omit<StartFirst, 'input'> {
  /** Input of the function. */
  input?: unknown;
}

/** Returns `{ id, isRepeatable }` for a start of `target`. */
export function identity(target: string, id: string | undefined): { id: string | undefined; isRepeatable: boolean } {
  if (id !== undefined) return { id, isRepeatable: true };
  // A function of an object may run once for its key, under an id that the host chooses.
  if (target.includes('@')) return { id: undefined, isRepeatable: false };
  const name = target.slice(target.lastIndexOf('/') + 1);
  // As in the ids that a host makes: those of one second are next to each other in its index.
  const second = (Math.floor(Date.now() / 1_000) % 0x1_0000).toString(16).padStart(4, '0');
  return { id: `${name}-${second}${randomKey()}`, isRepeatable: true };
}

/** An instant in milliseconds since 1970. */
export const instant = (at: Date | number | undefined): number | undefined => (at instanceof Date ? at.getTime() : at);
