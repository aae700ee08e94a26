// Objects: state by key, with one writer at a time.

import type { FailureView, ObjectPromiseView, ObjectView } from './api.js';
import { InvalidArgumentError } from './errors.js';
import { Execution } from './execution.js';
import type { CallOptions, WaitOptions } from './options.js';
import { type StartOptions, instant } from './start.js';
import type { Transport } from './transport.js';
import { endOf, isSettled, outcomeOf, outputOf } from './waiting.js';

/** Longest wait of the request that starts, in milliseconds. */
const START_WAIT_MS = 30_000;

/** Options of a call of a function of an object. */
export type ObjectStartOptions = Omit<StartOptions, 'retry' | 'attemptTimeoutMs'>;

/** An object: a kind of a module, and a key. */
export class ObjectHandle {
  readonly #transport: Transport;
  readonly #path: { module: string; object: string; key: string };

  /** @internal */
  constructor(transport: Transport, kind: string, key: string) {
    const [module, object, ...more] = kind.split('/');
    if (!module || !object || more.length > 0) {
      throw new InvalidArgumentError(
        `\`${kind}\` is not a kind of objects: write MODULE/OBJECT, and pass the key by itself`,
      );
    }
    this.#transport = transport;
    this.#path = { module, object, key };
  }

  /** Name of the object: `MODULE/OBJECT@KEY`. */
  get name(): string {
    const { module, object, key } = this.#path;
    return `${module}/${object}@${key}`;
  }

  /** Calls a function, waits for its end, and returns its output; throws as `Execution.result` does. */
  async call<Output = unknown>(
    name: string,
    input?: unknown,
    options: ObjectStartOptions & WaitOptions = {},
  ): Promise<Output> {
    const until = endOf(options.waitMs);
    const waitMs = Math.min(START_WAIT_MS, Math.max(0, until - Date.now()));
    const started = await this.#start(name, input, options, waitMs);
    if (isSettled(started.invocation.state)) return outputOf(started.invocation, options.waitMs) as Output;
    return outputOf(await outcomeOf(this.#transport, started.id, until, options), options.waitMs) as Output;
  }

  /**
   * Starts a function, and returns at once. Without an `id` this start is not repeated after a lost answer, because
   * some functions run once for their key under an id that the host chooses.
   */
  async start<Output = unknown>(
    name: string,
    input?: unknown,
    options: ObjectStartOptions = {},
  ): Promise<Execution<Output>> {
    const { id, created, behind, invocation } = await this.#start(name, input, options, 0);
    return new Execution<Output>(this.#transport, id, { created, behind, outcome: invocation });
  }

  /** Its state, with the execution that has the turn, if any. */
  async status(options: CallOptions = {}): Promise<ObjectView> {
    return this.#transport.send('GET /v1/objects/{module}/{object}/{key}', {
      path: this.#path,
      signal: options.signal,
    });
  }

  /** The value of one name of its state; `undefined` if there is none. */
  async get<Value = unknown>(name: string, options: CallOptions = {}): Promise<Value | undefined> {
    const view = await this.#transport.send('GET /v1/objects/{module}/{object}/{key}', {
      path: this.#path,
      query: { name },
      signal: options.signal,
    });
    return (Object.hasOwn(view.state, name) ? view.state[name] : undefined) as Value | undefined;
  }

  /** Sets names of its state. Refused (`object-busy`) while an execution has the turn or waits for it. */
  async set(values: Record<string, unknown>, options: CallOptions = {}): Promise<ObjectView> {
    return this.#change({ set: values }, options);
  }

  /** Clears names of its state; without names all of them, and its promises. */
  async clear(names?: string[], options: CallOptions = {}): Promise<ObjectView> {
    return this.#change(names === undefined ? { clearAll: true } : { clear: names }, options);
  }

  /** One of its promises, which exists as soon as anyone asks for it. */
  promise<Value = unknown>(name: string): ObjectPromise<Value> {
    return new ObjectPromise<Value>(this.#transport, { ...this.#path, name });
  }

  async #start(name: string, input: unknown, options: ObjectStartOptions, waitMs: number) {
    return this.#transport.send('POST /v1/objects/{module}/{object}/{key}/{function}', {
      path: { ...this.#path, function: name },
      body: {
        id: options.id,
        input,
        labels: options.labels,
        budget: options.budget,
        startAtMs: instant(options.startAt),
        timeoutMs: options.timeoutMs,
        waitMs: waitMs === 0 ? undefined : Math.ceil(waitMs),
      },
      isRepeatable: options.id !== undefined,
      waitMs,
      signal: options.signal,
    });
  }

  async #change(body: { set?: Record<string, unknown>; clear?: string[]; clearAll?: boolean }, options: CallOptions) {
    return this.#transport.send('PATCH /v1/objects/{module}/{object}/{key}', {
      path: this.#path,
      body,
      isRepeatable: true,
      signal: options.signal,
    });
  }
}

/** A promise of an object. */
export class ObjectPromise<Value = unknown> {
  readonly #transport: Transport;
  readonly #path: { module: string; object: string; key: string; name: string };

  /** @internal */
  constructor(transport: Transport, path: { module: string; object: string; key: string; name: string }) {
    this.#transport = transport;
    this.#path = path;
  }

  /** Its state; pending if it was never made. */
  async status(options: CallOptions = {}): Promise<ObjectPromiseView> {
    return this.#transport.send('GET /v1/objects/{module}/{object}/{key}/promises/{name}', {
      path: this.#path,
      signal: options.signal,
    });
  }

  /** Settles it with a value, also before anything waits for it. */
  async resolve(value?: Value, options: CallOptions = {}): Promise<ObjectPromiseView> {
    return this.#transport.send('POST /v1/objects/{module}/{object}/{key}/promises/{name}/resolve', {
      path: this.#path,
      body: { value: value ?? null },
      isRepeatable: true,
      signal: options.signal,
    });
  }

  /** Settles it with a failure. */
  async reject(failure: FailureView, options: CallOptions = {}): Promise<ObjectPromiseView> {
    return this.#transport.send('POST /v1/objects/{module}/{object}/{key}/promises/{name}/reject', {
      path: this.#path,
      body: { failure },
      isRepeatable: true,
      signal: options.signal,
    });
  }
}
