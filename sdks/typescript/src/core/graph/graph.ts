// Graphs of steps in code: functions that build a plan, which the host runs.

import type { WorkflowContext } from '../context.js';
import { type FunctionOptions, type KeptOptions, Workflow } from '../definition.js';
import { checkOptions, whole } from '../retry.js';
import type { InputOf, OutputOf, Schema } from '../schema.js';
import { GraphBuilder } from './builder.js';
import { Place, type ValueOf, templateOf } from './place.js';
import { INPUT, filled, partOf } from './template.js';

/** The options of a graph. */
export interface GraphOptions extends FunctionOptions {
  /** How many nodes run at the same time, from 1 to 1000. Default: 16. */
  maxParallel?: number;
  /** True: the first failure ends the run. Default: nodes that do not depend on the failed one finish first. */
  failFast?: boolean;
}

type Build = (graph: GraphBuilder, input: Place<any>) => unknown;

/** A graph: it is called, started and tested as a workflow. */
export class Graph<In = any, Out = any> extends Workflow<In, Out> {
  readonly #build: Build;
  readonly #settings: { max_parallel?: number; on_failure?: string };

  constructor({ maxParallel, failFast, ...options }: GraphOptions & KeptOptions, build: Build) {
    if (typeof build !== 'function') throw new TypeError('`graph` takes the function that builds it as its last argument: `graph((g, input) => …)`');
    checkOptions(options, ['name', 'summary', 'input', 'output', 'timeout', 'limit'], '`graph`');
    super('workflow', options, (input: unknown, ctx: WorkflowContext) => this.#run(input, ctx));
    this.#build = build;
    this.#settings = {
      ...(maxParallel === undefined ? {} : { max_parallel: whole('maxParallel', maxParallel, 1, 1_000) }),
      ...(failFast === true ? { on_failure: 'fail-fast' } : {}),
    };
  }

  /** The plan, as the host gets it. */
  plan(): object {
    return this.#built().plan;
  }

  override check(): void {
    this.#built();
  }

  #built(): { plan: object; result: unknown } {
    const builder = new GraphBuilder();
    const returned = this.#build(builder, new Place(builder, INPUT));
    if (typeof (returned as { then?: unknown } | undefined)?.then === 'function') throw new TypeError(`the function of the graph \`${this.title}\` is \`async\`: it only builds, and waits for nothing`);
    const outputs = new Set<string>();
    const result = templateOf(returned ?? null, `what the graph \`${this.title}\` returns`, builder.finder(outputs));
    if (outputs.size === 0) throw new TypeError(`the graph \`${this.title}\` returns no output of a node: return one, or several in a list or an object`);
    return { plan: { name: this.title, ...this.#settings, outputs: [...outputs].sort(), nodes: builder.nodes }, result };
  }

  async #run(input: unknown, ctx: WorkflowContext): Promise<unknown> {
    const { plan, result } = this.#built();
    const outputs = await ctx.graph(plan, input);
    return filled(result, (from, at) => partOf(from === INPUT ? input : outputs[from], at));
  }
}

/**
 * Defines a graph: steps with their dependencies, which the host runs, as many as possible at the same time. The function
 * builds it, and does nothing else. What it returns, an output or several in a list or an object, is the result.
 *
 * ```ts
 * export const prices = graph({ input: Sources }, (g, sources) => {
 *   const north = g.call('north', fetchPrices, sources.at('north'));
 *   const south = g.call('south', fetchPrices, sources.at('south'), { timeout: '1m' });
 *   return g.call('merge', merge, [north, south]);
 * });
 * ```
 */
export function graph<I = void, const R = unknown>(build: (graph: GraphBuilder, input: Place<I>) => R): Graph<I, ValueOf<R>>;
export function graph<IS extends Schema, const R = unknown>(
  options: GraphOptions & { input: IS; output?: Schema },
  build: (graph: GraphBuilder, input: Place<OutputOf<IS>>) => R,
): Graph<InputOf<IS>, ValueOf<R>>;
export function graph<I = void, const R = unknown>(
  options: GraphOptions & { output?: Schema },
  build: (graph: GraphBuilder, input: Place<I>) => R,
): Graph<I, ValueOf<R>>;
export function graph(...given: unknown[]): Graph {
  const [options, build] = given.length === 1 ? [{}, given[0]] : given;
  return new Graph(options as GraphOptions & KeptOptions, build as Build);
}
