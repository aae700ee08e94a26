// A graph under construction: its nodes, in the form of a plan.

import { type Callable, Remote, addressOf } from '../definition.js';
import { type Duration, milliseconds } from '../duration.js';
import { type RetryOptions, checkOptions, retryRecord } from '../retry.js';
import { Condition, Output, Place, type Source, templateOf } from './place.js';
import { INPUT } from './template.js';

/** The options of every node. */
export interface NodeOptions {
  /** The nodes that end before this one begins, beside those whose outputs it uses. */
  after?: Output<any> | readonly Output<any>[];
  /** The node runs only if this holds; if not, it is skipped, and its output is null. */
  when?: Condition;
}

/** The options of a node that waits for an answer. */
export interface WaitOptions extends NodeOptions {
  /** The node fails with code 408 after this time. */
  timeout?: Duration;
}

/** The options of a node that calls a function or sends a request. */
export interface AttemptOptions extends WaitOptions {
  /** The longest time for one attempt of an activity or a request. */
  attemptTimeout?: Duration;
  /** The retry policy, in place of the function's own. */
  retry?: Omit<RetryOptions, 'jitter' | 'nonRetryable'>;
  /** The node begins only once; it fails with code 520 if its host is lost. It has no `retry`. */
  once?: boolean;
}

/** The output of a request. */
export interface NodeResponse<T = unknown> {
  /** The status, such as 200. */
  status: number;
  /** The headers, with names in lower case. */
  headers: Record<string, string>;
  /** The body as a text. */
  body: T;
}

/** A request of a node. Each part may be an output. */
export interface NodeRequest {
  /** Default: GET. */
  method?: string;
  /** The address. */
  url: Source<string>;
  /** The headers. */
  headers?: Readonly<Record<string, Source<string>>>;
  /** A body of JSON, with its content type. */
  json?: unknown;
}

/** The output of a node with these options: null if it was skipped. */
export type NodeOutput<T, O> = Output<O extends { when: Condition } ? T | null : T>;

const NODE = ['after', 'when'];
const WAIT = [...NODE, 'timeout'];
const ATTEMPT = [...WAIT, 'attemptTimeout', 'retry', 'once'];

/** Adds nodes to a graph. */
export class GraphBuilder {
  readonly #nodes = new Map<string, object>();

  /** Calls a function of this module, or a {@link remote} one. */
  call<In, Out, const O extends AttemptOptions = {}>(name: string, target: Callable<In, Out>, input: Source<NoInfer<In>>, options?: O): NodeOutput<Out, O>;
  /** Calls a function without an input. */
  call<Out>(name: string, target: Callable<void, Out>): Output<Out>;
  /** Calls a function by its name or address: `OBJECT@KEY/function`, `wasm://module/function`. */
  call<Out = unknown, const O extends AttemptOptions = {}>(name: string, target: string, input?: unknown, options?: O): NodeOutput<Out, O>;
  call(name: string, target: string | Callable<any, any>, input?: unknown, options: AttemptOptions = {}): Output {
    const address = addressOf(target, `the node \`${name}\` calls`);
    const [worker, called] = target instanceof Remote || typeof target === 'string' ? address.split('#') : [address];
    const does = called === undefined ? { call: address } : { call: worker, function: called };
    return this.#add(name, does, { input }, options, ATTEMPT);
  }

  /** Sends a request, which the host retries. */
  http<const O extends AttemptOptions = {}>(name: string, request: NodeRequest, options?: O): NodeOutput<NodeResponse<string>, O> {
    checkOptions(request, ['method', 'url', 'headers', 'json'], `the request of the node \`${name}\``);
    const { method = 'GET', url, headers = {}, json } = request;
    const hasType = Object.keys(headers).some((header) => header.toLowerCase() === 'content-type');
    const type = json === undefined || hasType ? {} : { 'content-type': 'application/json' };
    const http = { method: method.toUpperCase(), url, headers: { ...type, ...headers }, body: json };
    return this.#add(name, {}, { http }, options ?? {}, ATTEMPT) as NodeOutput<NodeResponse<string>, O>;
  }

  /** Waits for this time. */
  sleep(name: string, length: Duration, options: NodeOptions = {}): Output<null> {
    return this.#add(name, { sleep: `${milliseconds(length, `the length of the node \`${name}\``)}ms` }, {}, options, NODE) as Output<null>;
  }

  /** Waits until somebody settles the promise `RUN/n/NODE/0`; `shows` is what a person sees. */
  promise<T = unknown, const O extends WaitOptions & { shows?: unknown } = {}>(name: string, options?: O): NodeOutput<T, O> {
    const { shows, ...others }: WaitOptions & { shows?: unknown } = options ?? {};
    return this.#add(name, { promise: true }, { input: shows }, others, WAIT) as NodeOutput<T, O>;
  }

  /** Waits for a signal of the run, which is the promise `RUN/sig/SIGNAL`. Default: the signal with the name of the node. */
  signal<T = unknown, const O extends WaitOptions & { signal?: string } = {}>(name: string, options?: O): NodeOutput<T, O> {
    const { signal = name, ...others }: WaitOptions & { signal?: string } = options ?? {};
    return this.#add(name, { signal }, {}, others, WAIT) as NodeOutput<T, O>;
  }

  /** The nodes in the form of a plan. */
  get nodes(): Record<string, object> {
    return Object.fromEntries(this.#nodes);
  }

  /** Notes the nodes of places. */
  finder(needs: Set<string>): (place: Place) => void {
    return (place) => {
      if (place.owner !== this) throw new TypeError(`${place.shown} belongs to another graph`);
      if (place.from !== INPUT) needs.add(place.from);
    };
  }

  #add(name: string, does: object, templates: Readonly<Record<string, unknown>>, options: AttemptOptions, known: readonly string[]): Output<any> {
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(name) || name === INPUT) {
      throw new TypeError(`\`${name}\` is no name of a node: it has 1 to 64 letters, digits, \`_\` and \`-\`, and is not \`input\``);
    }
    if (this.#nodes.has(name)) throw new TypeError(`there are two nodes \`${name}\` in the graph: give each its own name`);
    checkOptions(options, known, `the node \`${name}\``);
    const needs = new Set<string>();
    const found = this.finder(needs);
    const node: Record<string, unknown> = { ...does };
    for (const [field, template] of Object.entries(templates)) {
      node[field] = template === undefined ? null : templateOf(template, `the input of the node \`${name}\``, found);
    }
    const { after = [], when } = options;
    for (const before of Array.isArray(after) ? (after as Output[]) : [after as Output]) {
      if (!(before instanceof Output)) throw new TypeError(`\`after\` of the node \`${name}\` takes outputs of nodes`);
      found(before);
    }
    if (when !== undefined) {
      if (!(when instanceof Condition)) throw new TypeError(`\`when\` of the node \`${name}\` takes a condition, such as \`output.is(true)\``);
      when.places.forEach(found);
      node.when = when.expression;
    }
    Object.assign(node, limits(name, options));
    if (needs.size > 0) node.needs = [...needs];
    this.#nodes.set(name, node);
    return new Output(this, name);
  }
}

function limits(name: string, { timeout, attemptTimeout, retry, once }: AttemptOptions): object {
  const length = (given: Duration, option: string) => `${milliseconds(given, `\`${option}\` of the node \`${name}\``)}ms`;
  if (once === true && retry !== undefined) throw new TypeError(`the node \`${name}\` has \`once\` and \`retry\`: what begins once is not repeated`);
  return {
    ...(timeout === undefined ? {} : { timeout: length(timeout, 'timeout') }),
    ...(attemptTimeout === undefined ? {} : { attempt_timeout: length(attemptTimeout, 'attemptTimeout') }),
    ...(retry === undefined ? {} : { retry: retryOf(name, retry) }),
    ...(once === true ? { once } : {}),
  };
}

function retryOf(name: string, retry: RetryOptions): object {
  checkOptions(retry, ['initial', 'factor', 'max', 'maxAttempts'], `\`retry\` of the node \`${name}\``);
  const { initialMs, factor, maxMs, maxAttempts } = retryRecord(retry);
  return { initial: `${initialMs}ms`, factor, max: `${maxMs}ms`, ...(maxAttempts === undefined ? {} : { max_attempts: maxAttempts }) };
}
