// Filters of lists.

import type { InvocationState, PromiseState } from './api.js';
import type { CallOptions } from './options.js';

/** Options of every list. */
export interface ListOptions extends CallOptions {
  /** Only ids that begin so. */
  prefix?: string | undefined;
  /** Number of items fetched at once (1 to 1000). Default: 100. */
  pageSize?: number | undefined;
}

/** Filters of a list of executions; each further one narrows it. */
export interface ExecutionFilter extends ListOptions {
  /** Alias of the module through which the function was called. */
  module?: string | undefined;
  /** Name of the function. */
  function?: string | undefined;
  /** State of the execution. */
  state?: InvocationState | undefined;
  /** Label, as `name=value`. */
  label?: string | undefined;
  /** Id of the calling execution. */
  parent?: string | undefined;
  /** True for executions without a caller. */
  roots?: boolean | undefined;
  /** True for those that cannot go on by themselves. */
  stuck?: boolean | undefined;
  /** Text in the failure, the last error or the reason of a halt. */
  error?: string | undefined;
  /** Created at this instant or later. */
  since?: Date | number | undefined;
  /** Created before this instant. */
  until?: Date | number | undefined;
}

/** Filters of a list of promises. */
export interface PromiseFilter extends ListOptions {
  /** State of the promise. */
  state?: PromiseState | undefined;
  /** True for promises that people or other systems settle. */
  external?: boolean | undefined;
  /** Tags that it has, all of them. */
  tags?: Record<string, string> | undefined;
}
