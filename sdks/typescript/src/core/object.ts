// Objects: state by key, with one writer at a time.

import type { ObjectContext, StateSchema } from './context.js';
import { type Access, type Answer, type Awaitable, type CommitMode, Definition, type FunctionOptions, type KeptOptions, Workflow } from './definition.js';
import { checkOptions } from './retry.js';
import { type InputOf, type OutputOf, type Schema, isSchema } from './schema.js';
import type { Schemas } from './workflow.js';

/** Values of an object's state by key, each stored separately. */
export class StateMap<T = any> {
  /** The schema of one value. */
  readonly value: Schema<any, T>;

  constructor(value: Schema<any, T>) {
    if (!isSchema(value)) throw new TypeError('`mapOf` takes the schema of one value');
    this.value = value;
  }
}

/** Declares a field of an object's state that is a map: each value is stored, read and written separately. */
export function mapOf<S extends Schema>(schema: S): StateMap<OutputOf<S>> {
  return new StateMap<OutputOf<S>>(schema);
}

/** The state of an object: schemas by name. */
export type StateSchemas = Readonly<Record<string, StateSchema>>;

/** The options of a function of an object. */
export interface ObjectFunctionOptions<Sig, Pro> extends FunctionOptions {
  /** The signals that it takes. */
  signals?: Sig;
  /** The promises of the execution that it awaits by name. */
  promises?: Pro;
  /**
   * `'each'`: the host commits the result of each `run`, and the outcome of each call, before the workflow receives it.
   * Default: `'gathered'`, one commit covers several of them, and the commands that follow.
   */
  commit?: CommitMode;
}

/** Defines one function of an object. */
export interface ObjectFunctionMaker<St, Pr> {
  <I = void, R = unknown>(run: (input: I, ctx: ObjectContext<St, Pr>) => Awaitable<R>): Workflow<I, Answer<R>>;
  <I = void, R = unknown, O = Answer<R>, const Sig extends Schemas | true = {}, Pro extends Schemas = {}>(
    options: ObjectFunctionOptions<Sig, Pro> & { input?: undefined; output?: Schema<R, O> },
    run: (input: I, ctx: ObjectContext<St, Pr, Sig, Pro>) => Awaitable<R>,
  ): Workflow<I, O>;
  <IS extends Schema, R = unknown, O = Answer<R>, const Sig extends Schemas | true = {}, Pro extends Schemas = {}>(
    options: ObjectFunctionOptions<Sig, Pro> & { input: IS; output?: Schema<R, O> },
    run: (input: OutputOf<IS>, ctx: ObjectContext<St, Pr, Sig, Pro>) => Awaitable<R>,
  ): Workflow<InputOf<IS>, O>;
}

/** The kinds of functions of an object. */
export interface ObjectFunctionMakers<St, Pr> {
  /** Reads and writes: of one key one execution at a time runs, in the order of the calls. */
  exclusive: ObjectFunctionMaker<St, Pr>;
  /** Only reads, and waits for nobody. */
  shared: ObjectFunctionMaker<St, Pr>;
  /** Runs once per key. All other functions of the object are shared. */
  once: ObjectFunctionMaker<St, Pr>;
}

/** A kind of object. */
export class ObjectType<F extends Record<string, Workflow> = any, St = any, Pr = any> {
  /** The name of the kind in its module. */
  assigned: string | undefined;
  /** The functions by name, for doubles and calls in tests. */
  readonly functions: F;
  /** The schemas of the state. */
  readonly state: St;
  /** The schemas of the promises. */
  readonly promises: Pr;

  constructor(name: string | undefined, functions: F, state: St, promises: Pr) {
    this.assigned = name;
    this.functions = functions;
    this.state = state;
    this.promises = promises;
  }

  /** The name, for messages too. */
  get title(): string {
    return this.assigned ?? 'an object without a name';
  }
}

/** The options of a kind of object. */
export interface ObjectOptions<St, Pr> {
  /** The name of the kind. Default: the name of the export. */
  name?: string;
  /** The state: schemas by name. {@link mapOf} declares a map. */
  state?: St;
  /** The promises of the object: schemas by name. */
  promises?: Pr;
}

/**
 * Defines a kind of object: state by key, which one execution at a time writes.
 *
 * ```ts
 * export const Account = object({ state: { balance: z.int() } }, ({ exclusive, shared }) => ({
 *   deposit: exclusive({ input: z.int() }, async (cents, ctx) => {
 *     const balance = ((await ctx.state.get('balance')) ?? 0) + cents;
 *     ctx.state.set('balance', balance);
 *     return balance;
 *   }),
 *   balance: shared(async (_, ctx) => (await ctx.state.get('balance')) ?? 0),
 * }));
 * ```
 */
export function object<St extends StateSchemas = Record<string, Schema<any>>, Pr extends Schemas = {}, F extends Record<string, Workflow> = {}>(
  options: ObjectOptions<St, Pr>,
  functions: (kinds: ObjectFunctionMakers<St, Pr>) => F,
): ObjectType<F, St, Pr> {
  checkOptions(options, ['name', 'state', 'promises'], '`object`');
  if (typeof functions !== 'function') {
    throw new TypeError('`object` takes its functions as `({ exclusive, shared }) => ({ add: exclusive(…) })`');
  }
  const maker = (access: Access) => ((...given: unknown[]) => {
    const [how, run] = given.length === 1 ? [{}, given[0]] : given;
    return new Workflow('workflow', how as KeptOptions, run, access);
  }) as ObjectFunctionMaker<St, Pr>;
  const made = functions({ exclusive: maker('exclusive'), shared: maker('shared'), once: maker('once') });
  const owner = { state: options.state ?? {}, promises: options.promises ?? {} };
  for (const [name, definition] of Object.entries(made)) {
    if (!(definition instanceof Definition) || definition.access === undefined) {
      throw new TypeError(`the function \`${name}\` of an object is made by \`exclusive\`, \`shared\` or \`once\``);
    }
    definition.owner = owner;
  }
  return new ObjectType(options.name, made, (options.state ?? {}) as St, (options.promises ?? {}) as Pr);
}
