// Long waits, made of requests that each wait for a while.

import type { InvocationOutcome, InvocationState } from './api.js';
import { ExecutionFailedError, ExecutionHaltedError, WaitTimeoutError } from './errors.js';
import type { WaitOptions } from './options.js';
import { length } from './options.js';
import { pause } from './time.js';
import type { Transport } from './transport.js';

/** Wait of the first request, in milliseconds, doubled for each further one: a halt is seen between two requests. */
const FIRST_POLL_MS = 2_000;
/** Longest wait of one request, in milliseconds: shorter than what proxies allow. */
const LONGEST_POLL_MS = 30_000;

const SETTLED: ReadonlySet<InvocationState> = new Set(['resolved', 'rejected', 'cancelled', 'timed-out']);

/** True if an execution in this state has ended. */
export const isSettled = (state: InvocationState): boolean => SETTLED.has(state);

/** The instant at which a wait of `waitMs` ends, in milliseconds since 1970. */
export const endOf = (waitMs: number | undefined): number =>
  waitMs === undefined ? Infinity : Date.now() + length('waitMs', waitMs);

/** Waits until an execution has ended or is halted, or until `until`; returns its state then. */
export async function outcomeOf(
  transport: Transport,
  id: string,
  until: number,
  options: WaitOptions,
): Promise<InvocationOutcome> {
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 2, LONGEST_POLL_MS)) {
    const waitMs = Math.max(0, Math.min(pollMs, until - Date.now()));
    const beganAt = Date.now();
    const outcome = await transport.send('GET /v1/invocations/{id}/wait', {
      path: { id },
      query: { timeoutMs: Math.ceil(waitMs) },
      waitMs,
      signal: options.signal,
    });
    if (isSettled(outcome.state) || outcome.state === 'halted' || Date.now() >= until) return outcome;
    // A host that stops answers early.
    if (Date.now() - beganAt < waitMs / 2) await pause(200, options.signal);
  }
}

/** Returns the output of an execution that has ended well, and throws otherwise. */
export function outputOf(outcome: InvocationOutcome, waitMs: number | undefined): unknown {
  const { id, state } = outcome;
  if (state === 'resolved') return outcome.output ?? null;
  if (state === 'halted') throw new ExecutionHaltedError(id, outcome.note?.message ?? 'no reason is known');
  if (!isSettled(state)) throw new WaitTimeoutError(id, state, waitMs ?? 0);
  const failure = outcome.failure ?? { code: 500, message: 'without a failure', details: outcome.output };
  throw new ExecutionFailedError(id, state, failure, outcome.killed ?? false);
}
