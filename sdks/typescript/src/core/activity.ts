// Activities: functions with side effects.

import type { Blobs } from './blob.js';
import { Activity, type Answer, type Awaitable, type FunctionOptions, type KeptOptions } from './definition.js';
import type { FileEntry } from './engine.js';
import type { HttpRequest, HttpResponse } from './http.js';
import type { Logger } from './log.js';
import type { RetryOptions } from './retry.js';
import type { InputOf, OutputOf, Schema } from './schema.js';
import type { ActivityStream, StreamOptions } from './stream.js';

/** The options of an activity. */
export interface ActivityOptions extends FunctionOptions {
  /** The retry policy; a call may set another. */
  retry?: RetryOptions;
}

/** The directories that the host's policy gives this module, by absolute path. */
export interface Files {
  /** Reads a file: all of it, or at most `length` bytes from `offset`. */
  read(path: string, part?: { offset?: number; length?: number }): Uint8Array;
  /** Reads a file as UTF-8. */
  readText(path: string): string;
  /** Replaces a file as a whole, or makes it. After a crash it is the old or the new one. */
  write(path: string, content: string | Uint8Array): void;
  /** Adds to the end of a file, or makes it. An attempt that is repeated adds again. */
  append(path: string, content: string | Uint8Array): void;
  /** Lists a directory by name. */
  list(path: string): FileEntry[];
  /** Removes a file. It is no failure if there is none. */
  remove(path: string): void;
}

/** The context of one attempt of an activity: the second argument of its function. */
export interface ActivityContext {
  /** The id of the call. */
  readonly id: string;
  /** The same for every attempt of one call: pass it on to whatever must act only once. */
  readonly idempotencyKey: string;
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** Larger for every later claim: a service that keeps the largest one it has seen refuses stale writers. */
  readonly fenceToken: number;
  /** When the attempt began. */
  readonly startedAt: Date;
  /** The deadline of the call, if it has one. */
  readonly deadline: Date | undefined;
  /** The last progress of the previous attempt. */
  readonly lastProgress: unknown;
  /** Aborted when `heartbeat` has said that the call is cancelled. */
  readonly signal: AbortSignal;
  /** Log lines, which `segno logs ID` shows. */
  readonly log: Logger;
  /** The directories of this module. */
  readonly files: Files;
  /** Large values, which are stored beside the database and passed by reference. */
  readonly blobs: Blobs;
  /** Says that the attempt is alive and how far it got. True: it is asked to stop. */
  heartbeat(progress?: unknown): boolean;
  /** A stream of the workflow that called this activity, or of this call if nobody did. */
  stream(name: string, options?: StreamOptions): ActivityStream;
  /**
   * Reports a cost of this attempt: `ctx.cost('tokens', 812)`. Several reports of a unit add up. Budgets are charged with
   * it at the end of the attempt, also if the attempt fails. An amount is rounded to six decimal places.
   */
  cost(unit: string, amount: number): void;
  /**
   * Sends one request, if the host's policy allows its address. Nothing is retried here. The body is read as it arrives: in pieces by
   * `response.body`, `response.lines()` and `response.events()`, or whole by the other methods. `fetch` does the same.
   */
  http(request: string | HttpRequest): Promise<HttpResponse>;
  /** A setting of this module in the host's policy.toml. A `Failure` 403 says that it is not set. */
  env(name: string): string;
  /** A secret of this module. The host keeps it out of everything that it stores. */
  secret(name: string): string;
}

/**
 * Defines an activity: a function with side effects, which the host attempts until it succeeds or fails for good.
 *
 * ```ts
 * export const charge = activity({ input: Order, output: z.string(), retry: { maxAttempts: 5 } }, async (order, ctx) => {
 *   const answer = await ctx.http({ method: 'POST', url: 'https://pay.example.com/', json: order, headers: { 'idempotency-key': ctx.idempotencyKey } });
 *   return (await answer.json()).receipt;
 * });
 * ```
 */
export function activity<I = void, R = unknown>(run: (input: I, ctx: ActivityContext) => Awaitable<R>): Activity<I, Answer<R>>;
export function activity<I = void, R = unknown, O = Answer<R>>(
  options: ActivityOptions & { input?: undefined; output?: Schema<R, O> },
  run: (input: I, ctx: ActivityContext) => Awaitable<R>,
): Activity<I, O>;
export function activity<IS extends Schema, R = unknown, O = Answer<R>>(
  options: ActivityOptions & { input: IS; output?: Schema<R, O> },
  run: (input: OutputOf<IS>, ctx: ActivityContext) => Awaitable<R>,
): Activity<InputOf<IS>, O>;
export function activity(...given: unknown[]): Activity {
  const [options, run] = given.length === 1 ? [{}, given[0]] : given;
  return new Activity('activity', options as KeptOptions, run);
}
