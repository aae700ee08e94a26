// Failures: the errors that are outcomes.

import type { SpentBudget } from './budget.js';

/** Codes with a meaning for the host. They read as in HTTP. */
export const Code = {
  /** An input or a value does not fit. */
  BadInput: 400,
  /** A budget has nothing left: the attempt did not begin. */
  BudgetSpent: 402,
  /** There is no such function, promise or file. */
  NotFound: 404,
  /** A deadline passed. */
  TimedOut: 408,
  /** Settled before, or run before. */
  Conflict: 409,
  /** Refused for good. */
  Refused: 422,
  /** Cancelled. */
  Cancelled: 499,
  /** Anything else; an activity is tried again. */
  Unexpected: 500,
} as const;

/**
 * An error that is an outcome: a workflow that throws it ends with it, and an activity that throws it has failed.
 *
 * The code decides whether an activity is tried again: 400 to 499 are final, except 408, 425 and 429; any other code is
 * retried by the retry policy. Any other error of an activity counts as code 500. Any other error of a workflow is a
 * defect: the execution halts and continues on mended code.
 *
 * ```ts
 * throw new Failure(422, 'the card was declined', { limit: '1000.00' });
 * ```
 */
export class Failure extends Error {
  /** The code, 400 to 599 as in HTTP. */
  readonly code: number;
  /** Details for programs: any value that JSON can say. */
  readonly details: unknown;

  /** Makes a failure with a code, one sentence for people, and details for programs. */
  constructor(code: number, message: string, details?: unknown) {
    super(message);
    if (!Number.isInteger(code) || code < 0 || code > 0xffff_ffff) {
      throw new RangeError(`the code of a Failure is a whole number such as 422, and not ${String(code)}`);
    }
    this.name = 'Failure';
    this.code = code;
    this.details = details;
  }

  /** True if a deadline passed. */
  get isTimeout(): boolean {
    return this.code === Code.TimedOut;
  }

  /** True if it is a cancellation. */
  get isCancelled(): boolean {
    return this.code === Code.Cancelled;
  }

  /** The budget that has nothing left, if that is the reason why the call failed. */
  get spentBudget(): SpentBudget | undefined {
    if (this.code !== Code.BudgetSpent) return undefined;
    const given = this.details as { sagas?: unknown; details?: unknown } | undefined;
    // The report of a saga encloses the details of its reason.
    const told = (Array.isArray(given?.sagas) ? given.details : given) as Partial<SpentBudget> | undefined;
    return typeof told?.account === 'string' && typeof told.units === 'object' ? (told as SpentBudget) : undefined;
  }

  /** True if an activity that fails with it is not tried again. */
  get isFinal(): boolean {
    return isFinal(this.code);
  }

  /** The failure as JSON, for a value that contains one. */
  toJSON(): { code: number; message: string; details?: unknown } {
    const { code, message, details } = this;
    return details === undefined ? { code, message } : { code, message, details };
  }
}

/** True for a code after which an activity is not tried again. */
export function isFinal(code: number): boolean {
  return code >= 400 && code < 500 && ![408, 425, 429].includes(code);
}

/** The failure of everything that waits when an invocation is cancelled. */
export function cancelled(): Failure {
  return new Failure(Code.Cancelled, 'the invocation was cancelled');
}
