// Durable functions as values: what `activity`, `workflow` and the functions of objects make.

import type { Duration } from './duration.js';
import type { Limit } from './limits.js';
import { type RetryOptions, checkOptions } from './retry.js';
import type { Schema } from './schema.js';

/** The options of every function. */
export interface FunctionOptions {
  /** The name for calls. Default: the name of the export. Letters, digits, `_`, `-` and `.`. */
  name?: string;
  /** One or two sentences for people, which `segno modules` shows. */
  summary?: string;
  /** The time from a call to its deadline, all attempts included; a call may set another. */
  timeout?: Duration;
  /** How many executions may run, and how fast they begin. */
  limit?: Limit;
  /** `'mcp'`: offers the function as a tool of assistants, where an operator takes the offers of the module. */
  expose?: Exposure;
}

/** A protocol by which a function is offered to others: `mcp`, the Model Context Protocol. */
export type Exposure = 'mcp';

/** When the host commits what a workflow is told: several results at a time, or each before the workflow goes on. */
export type CommitMode = 'gathered' | 'each';

/** The options that a definition keeps; those of workflows and activities together. */
export interface KeptOptions extends FunctionOptions {
  input?: Schema;
  output?: Schema;
  retry?: RetryOptions;
  signals?: Readonly<Record<string, Schema>> | true;
  promises?: Readonly<Record<string, Schema>>;
  shared?: (input: never) => unknown;
  queries?: Readonly<Record<string, Handler>>;
  updates?: Readonly<Record<string, Handler>>;
  commit?: CommitMode;
}

/** A query or an update, as a definition keeps it. */
export interface Handler {
  readonly summary?: string | undefined;
  readonly input?: Schema | undefined;
  readonly output?: Schema | undefined;
  readonly validate?: ((shared: never, input: never) => void) | undefined;
  readonly run: (...values: never[]) => unknown;
}

/** The access of an object's function. `once`: exclusive, and one run for each key. */
export type Access = 'exclusive' | 'shared' | 'once';

/** What can be called: a function of this module, or a reference to one elsewhere. `In` is its input, `Out` its result. */
export interface Callable<In, Out> {
  /** The types, for the compiler only. */
  readonly '~types'?: { readonly input: (input: In) => void; readonly output: Out } | undefined;
}

/** A function of this module. */
export class Definition<In = any, Out = any> implements Callable<In, Out> {
  declare readonly '~types'?: { readonly input: (input: In) => void; readonly output: Out } | undefined;
  readonly kind: 'workflow' | 'activity';
  readonly options: KeptOptions;
  readonly run: (input: never, ctx: never) => unknown;
  /** Of a function of an object: its access. */
  readonly access: Access | undefined;
  /** Made where the function was defined. */
  readonly made = new Error();
  /** The name in the module, as soon as it is part of one. */
  assigned: string | undefined;
  /** The object of which it is a function. */
  owner: { readonly state: Readonly<Record<string, unknown>>; readonly promises: Readonly<Record<string, Schema>> } | undefined;

  constructor(kind: 'workflow' | 'activity', options: KeptOptions, run: unknown, access?: Access) {
    if (typeof run !== 'function') {
      throw new TypeError(`\`${access ?? kind}\` takes the function itself as its last argument, such as \`async (input, ctx) => { … }\``);
    }
    checkOptions(options, access ? OBJECT_OPTIONS : kind === 'workflow' ? WORKFLOW_OPTIONS : ACTIVITY_OPTIONS, `\`${access ?? kind}\``);
    if (options.commit !== undefined && options.commit !== 'each' && options.commit !== 'gathered') {
      throw new TypeError(`\`commit\` is ${JSON.stringify(options.commit)}: write 'each' or 'gathered'`);
    }
    if (options.expose !== undefined && options.expose !== 'mcp') {
      throw new TypeError(`\`expose\` is ${JSON.stringify(options.expose)}: write 'mcp'`);
    }
    this.kind = kind;
    this.options = options;
    this.run = run as (input: never, ctx: never) => unknown;
    this.access = access;
    this.assigned = options.name;
  }

  /** Throws what is wrong with it and can be known before it runs. */
  check(): void {}

  /** The name, for messages too. */
  get title(): string {
    return this.assigned ?? (this.run.name === '' ? `a ${this.kind} without a name` : this.run.name);
  }
}

const COMMON = ['name', 'summary', 'input', 'output', 'timeout', 'limit', 'expose'];
const ACTIVITY_OPTIONS = [...COMMON, 'retry'];
const OBJECT_OPTIONS = [...COMMON, 'signals', 'promises', 'commit'];
const WORKFLOW_OPTIONS = [...COMMON, 'signals', 'promises', 'shared', 'queries', 'updates', 'commit'];

/** An activity: it performs side effects, and may be attempted more than once. */
export class Activity<In = any, Out = any> extends Definition<In, Out> {
  declare readonly '~kind'?: 'activity';
}

/** A workflow: it coordinates, and continues where it was after any crash. */
export class Workflow<In = any, Out = any, T = any> extends Definition<In, Out> {
  /** The types of signals, promises, queries and updates, for the compiler only. */
  declare readonly '~workflow'?: T;
}

/** A reference to a function that is not in this module. */
export class Remote<In = any, Out = any> implements Callable<In, Out> {
  declare readonly '~types'?: { readonly input: (input: In) => void; readonly output: Out } | undefined;
  /** The address: `wasm://MODULE/FUNCTION`, or `poll://any@GROUP#FUNCTION` of an external worker. */
  readonly address: string;

  constructor(address: string) {
    if (!/^[a-z]+:/.test(address)) throw new TypeError(`\`remote\` takes an address such as 'wasm://payments/charge', and not ${JSON.stringify(address)}`);
    this.address = address;
  }
}

/**
 * A reference to a function of another module, or of an external worker, with its types.
 *
 * ```ts
 * const charge = remote<{ cents: number }, string>('wasm://payments/charge');
 * const receipt = await ctx.call(charge, { cents: 1200 });
 * ```
 */
export function remote<In = unknown, Out = unknown>(address: string): Remote<In, Out> {
  return new Remote<In, Out>(address);
}

/** The result of a function as its caller gets it: undefined is null in JSON. */
export type Answer<T> = T extends undefined ? null : T;

/** A value, or a promise of one. */
export type Awaitable<T> = T | Promise<T>;

/** What a test kit wants to know about names. A component gives every function its name before anything is called. */
export const naming: {
  /** Told of each function that is called by its value; may give it a name. */
  used?: (definition: Definition) => void;
  /** Told of each kind of object that is called; may give it a name. */
  keyed?: (kind: { assigned: string | undefined }) => void;
} = {};

/** The name by which a function is called. */
export function addressOf(target: string | Callable<never, unknown>, does: string): string {
  if (typeof target === 'string') return target;
  if (target instanceof Definition) {
    if (target.owner !== undefined) {
      throw new TypeError(`${does} \`${target.title}\`, a function of an object, without a key: use \`ctx.object(${target.title.split('/')[0]}, key)\``);
    }
    naming.used?.(target);
    if (target.assigned !== undefined) return target.assigned;
    throw new TypeError(
      `${does} ${target.run.name ? `\`${target.run.name}\`` : 'a function'} that the entry file does not export: export it there, as every function of the module`,
    );
  }
  // References that `segno types` writes.
  const address: unknown = (target as { address?: unknown } | undefined)?.address;
  if (typeof address === 'string' && address !== '') return address;
  const is = typeof target === 'function' ? 'a plain function: wrap it in `activity(…)` or `workflow(…)`' : `${String(target)}`;
  throw new TypeError(`${does} ${is}; it takes a function of this module, a \`remote\` one, a reference of \`segno types\`, or a name`);
}
