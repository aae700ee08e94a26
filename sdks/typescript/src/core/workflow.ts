// Workflows, their queries and their updates.

import type { WorkflowContext } from './context.js';
import { type Answer, type Awaitable, type CommitMode, type FunctionOptions, type Handler, type KeptOptions, Workflow } from './definition.js';
import { checkOptions } from './retry.js';
import type { InputOf, OutputOf, Schema } from './schema.js';

/** Schemas by name. */
export type Schemas = Readonly<Record<string, Schema>>;

/** A query of a workflow: it reads what the workflow shares. `S` is the shared value. */
export interface Query<S = any, In = any, Out = any> extends Handler {
  readonly '~query'?: { shared: (shared: S) => void; input: (input: In) => void; output: Out } | undefined;
}

/** An update of a workflow: it is validated, runs inside the workflow, and is answered. `S` is the shared value. */
export interface Update<S = any, In = any, Out = any> extends Handler {
  readonly '~update'?: { shared: (shared: S) => void; input: (input: In) => void; output: Out } | undefined;
}

/** The types of a workflow, for its context and for tests. */
export interface WorkflowTypes {
  signals: Record<string, unknown>;
  promises: Record<string, unknown>;
  shared: unknown;
  queries: Record<string, Query>;
  updates: Record<string, Update>;
}

/** The options of a workflow. */
export interface WorkflowOptions<Sig, Pro, Sh, Q, U> extends FunctionOptions {
  /** The signals that it takes, with the schemas of their values; `true` takes any. Others are refused to their senders. */
  signals?: Sig;
  /** The promises that it awaits by name, with the schemas of their values. */
  promises?: Pro;
  /** Makes the value that the workflow shares with its queries and updates, at its start. */
  shared?: (input: never) => Sh;
  /** Queries by name: see {@link query}. */
  queries?: Q;
  /** Updates by name: see {@link update}. */
  updates?: U;
  /**
   * `'each'`: the host commits the result of each `run`, and the outcome of each call, before the workflow receives it.
   * Default: `'gathered'`, one commit covers several of them, and the commands that follow.
   */
  commit?: CommitMode;
}

/** The values of schemas by name. */
export type Values<S> = S extends true ? Record<string, unknown> : { [K in keyof S]: S[K] extends Schema ? OutputOf<S[K]> : unknown };

/** The context of a workflow with these options. */
export type ContextOf<Sig, Pro, Sh> = WorkflowContext<{ signals: Values<Sig>; promises: Values<Pro>; shared: Sh }>;

/** The types of a workflow with these options. */
export interface TypesOf<Sig, Pro, Sh, Q, U> {
  signals: Values<Sig>;
  promises: Values<Pro>;
  shared: Sh;
  queries: Q;
  updates: U;
}

type SignalOption = Schemas | true;

/**
 * Defines a workflow: a function that coordinates. All that it asks for is in a journal, from which it continues after
 * the death of its host. It performs no side effects itself: activities do.
 *
 * ```ts
 * export const order = workflow({ input: Order, signals: { approved: Approval } }, async (input, ctx) => {
 *   const approval = await ctx.signal('approved', { timeout: '2d' });
 *   if (!approval) return 'nobody approved it';
 *   return ctx.call(charge, input, { timeout: '1m' });
 * });
 * ```
 */
export function workflow<I = void, R = unknown>(
  run: (input: I, ctx: ContextOf<{}, {}, undefined>) => Awaitable<R>,
): Workflow<I, Answer<R>, TypesOf<{}, {}, undefined, {}, {}>>;
export function workflow<
  I = void,
  R = unknown,
  O = Answer<R>,
  const Sig extends SignalOption = {},
  Pro extends Schemas = {},
  Sh = undefined,
  Q extends Record<string, Query<Sh>> = {},
  U extends Record<string, Update<Sh>> = {},
>(
  options: WorkflowOptions<Sig, Pro, Sh, Q, U> & { input?: undefined; output?: Schema<R, O> },
  run: (input: I, ctx: ContextOf<Sig, Pro, Sh>) => Awaitable<R>,
): Workflow<I, O, TypesOf<Sig, Pro, Sh, Q, U>>;
export function workflow<
  IS extends Schema,
  R = unknown,
  O = Answer<R>,
  const Sig extends SignalOption = {},
  Pro extends Schemas = {},
  Sh = undefined,
  Q extends Record<string, Query<Sh>> = {},
  U extends Record<string, Update<Sh>> = {},
>(
  options: WorkflowOptions<Sig, Pro, Sh, Q, U> & { input: IS; output?: Schema<R, O> },
  run: (input: OutputOf<IS>, ctx: ContextOf<Sig, Pro, Sh>) => Awaitable<R>,
): Workflow<InputOf<IS>, O, TypesOf<Sig, Pro, Sh, Q, U>>;
export function workflow(...given: unknown[]): Workflow {
  const [options, run] = given.length === 1 ? [{}, given[0]] : given;
  return new Workflow('workflow', options as KeptOptions, run);
}

/** The options of a query. */
export interface QueryOptions<IS, R, O> {
  /** One or two sentences for people. */
  summary?: string;
  /** The schema of the input. */
  input?: IS;
  /** The schema of the answer. */
  output?: Schema<R, O>;
}

/** The options of an update. */
export interface UpdateOptions<S, IS, R, O> extends QueryOptions<IS, R, O> {
  /** Throws what refuses the update before it is accepted. It only reads. */
  validate?: (shared: S, input: IS extends Schema ? OutputOf<IS> : unknown) => void;
}

/**
 * Defines a query of a workflow. It is answered immediately, and changes nothing.
 *
 * ```ts
 * queries: { votes: query((poll: Poll) => poll.votes.length) }
 * ```
 */
export function query<S, I = void, R = unknown>(run: (shared: S, input: I) => R): Query<S, I, Answer<R>>;
export function query<S, IS extends Schema, R = unknown, O = Answer<R>>(
  options: QueryOptions<IS, R, O>,
  run: (shared: S, input: OutputOf<IS>) => R,
): Query<S, InputOf<IS>, O>;
export function query(...given: unknown[]): Query {
  return handler('query', ['summary', 'input', 'output'], given) as Query;
}

/**
 * Defines an update of a workflow. It is validated, then it runs inside the workflow, beside the workflow's own
 * function, and may do all that a workflow may. Its result is the answer.
 *
 * ```ts
 * updates: {
 *   vote: update({ input: z.string(), validate: isNew }, async (poll: Poll, voter) => poll.votes.push(voter)),
 * }
 * ```
 */
export function update<S, I = void, R = unknown>(
  run: (shared: S, input: I, ctx: WorkflowContext) => Awaitable<R>,
): Update<S, I, Answer<R>>;
export function update<S, IS extends Schema, R = unknown, O = Answer<R>>(
  options: UpdateOptions<S, IS, R, O>,
  run: (shared: S, input: OutputOf<IS>, ctx: WorkflowContext) => Awaitable<R>,
): Update<S, InputOf<IS>, O>;
export function update(...given: unknown[]): Update {
  return handler('update', ['summary', 'input', 'output', 'validate'], given) as Update;
}

function handler(kind: string, known: string[], given: unknown[]): Handler {
  const [options, run] = (given.length === 1 ? [{}, given[0]] : given) as [object, Handler['run']];
  if (typeof run !== 'function') throw new TypeError(`\`${kind}\` takes the function itself as its last argument`);
  checkOptions(options, known, `\`${kind}\``);
  return { ...options, run };
}
