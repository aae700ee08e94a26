// The client: everything that does not belong to one execution, object, promise or schedule.

import type {
  CloudEvent,
  CreatePromise,
  CreateSchedule,
  Deployed,
  Health,
  InvocationCounts,
  InvocationPage,
  InvocationSummary,
  Module,
  ModuleList,
  ObjectItem,
  ObjectList,
  PromisePage,
  PromiseSummary,
  Readiness,
  ScheduleList,
  ScheduleView,
  Undeployed,
} from './api.js';
import { Blobs } from './blobs.js';
import { SegnoError } from './errors.js';
import { type EventOptions, acknowledge, read } from './events.js';
import { Execution } from './execution.js';
import type { ExecutionFilter, ListOptions, PromiseFilter } from './filters.js';
import { Listing } from './listing.js';
import { ObjectHandle } from './object.js';
import { type CallOptions, type ClientOptions, type WaitOptions, settingsOf } from './options.js';
import { PromiseHandle } from './promise.js';
import { type Arguments, type FunctionReference, addressOf } from './reference.js';
import { Schedule } from './schedule.js';
import { type StartOptions, identity, instant } from './start.js';
import { pause } from './time.js';
import { Transport } from './transport.js';
import { endOf, isSettled, outcomeOf, outputOf } from './waiting.js';

/** Longest wait of the request that starts, in milliseconds. */
const START_WAIT_MS = 30_000;

/** A client of one host, or of several behind one address. It keeps no connection that would have to be closed. */
export class Client {
  readonly #transport: Transport;

  /**
   * Sends nothing. Without `server` and `token` it reads `SEGNO_SERVER` and `SEGNO_TOKEN`, as the command line does.
   */
  constructor(options: ClientOptions = {}) {
    this.#transport = new Transport(settingsOf(options));
  }

  /** Address of the host. */
  get server(): string {
    return this.#transport.settings.server;
  }

  /** Starts a function by its reference, and returns at once. */
  start<Input, Output, Messages>(
    target: FunctionReference<Input, Output, Messages>,
    ...given: Arguments<Input, StartOptions>
  ): Promise<Execution<Output, Messages>>;
  /** Starts a function by its name (`MODULE/FUNCTION`, `MODULE/OBJECT@KEY/FUNCTION`), and returns at once. */
  start<Output = unknown>(target: string, input?: unknown, options?: StartOptions): Promise<Execution<Output>>;
  async start(
    target: string | FunctionReference<never, unknown>,
    input?: unknown,
    options: StartOptions = {},
  ): Promise<Execution> {
    const { id, created, behind, invocation } = await this.#start(addressOf(target), input, options, 0);
    return new Execution(this.#transport, id, { created, behind, outcome: invocation });
  }

  /** Starts a function by its reference, waits for its end, and returns its output. */
  call<Input, Output>(
    target: FunctionReference<Input, Output>,
    ...given: Arguments<Input, StartOptions & WaitOptions>
  ): Promise<Output>;
  /** Starts a function, waits for its end, and returns its output; throws as `Execution.result` does. */
  call<Output = unknown>(target: string, input?: unknown, options?: StartOptions & WaitOptions): Promise<Output>;
  async call(
    target: string | FunctionReference<never, unknown>,
    input?: unknown,
    options: StartOptions & WaitOptions = {},
  ): Promise<unknown> {
    const until = endOf(options.waitMs);
    const waitMs = Math.min(START_WAIT_MS, Math.max(0, until - Date.now()));
    const { id, invocation } = await this.#start(addressOf(target), input, options, waitMs);
    const outcome = isSettled(invocation.state) ? invocation : await outcomeOf(this.#transport, id, until, options);
    return outputOf(outcome, options.waitMs);
  }

  /** The execution with this id. Sends nothing. */
  execution<Output = unknown>(id: string): Execution<Output>;
  /** The execution with this id, which runs this function. Sends nothing, and does not check it. */
  execution<Output, Messages>(
    id: string,
    runs: FunctionReference<never, Output, Messages>,
  ): Execution<Output, Messages>;
  execution(id: string): Execution {
    return new Execution(this.#transport, id);
  }

  /** Executions, the newest first. */
  list(filter: ExecutionFilter = {}): Listing<InvocationSummary, InvocationPage> {
    return new Listing(
      (after) => this.#page(filter, after, filter.pageSize),
      (page) => page.items,
      (page) => page.next,
    );
  }

  /** Number of executions in each state that the filter takes, of the newest 10,000. */
  async counts(filter: ExecutionFilter = {}): Promise<InvocationCounts> {
    const page = await this.#page(filter, undefined, 1, true);
    return page.counts ?? { newestOnly: false, states: {} };
  }

  /** The blobs of executions: upload, download, list, removal. */
  get blobs(): Blobs {
    return new Blobs(this.#transport);
  }

  /** The object `key` of the kind `MODULE/OBJECT`. Sends nothing. */
  object(kind: string, key: string): ObjectHandle {
    return new ObjectHandle(this.#transport, kind, key);
  }

  /** Objects, by name: `MODULE/OBJECT@KEY`. */
  objects({ prefix, pageSize, signal }: ListOptions = {}): Listing<ObjectItem, ObjectList> {
    return new Listing(
      (after) => this.#transport.send('GET /v1/objects', { query: { prefix, after, limit: pageSize }, signal }),
      (page) => page.items,
      (page) => page.next,
    );
  }

  /** The promise with this id. Sends nothing. */
  promise<Value = unknown>(id: string): PromiseHandle<Value> {
    return new PromiseHandle<Value>(this.#transport, id);
  }

  /** Makes a promise, or finds the one with the same id. */
  async createPromise<Value = unknown>(
    promise: CreatePromise,
    options: CallOptions = {},
  ): Promise<PromiseHandle<Value>> {
    await this.#transport.send('POST /v1/promises', { body: promise, isRepeatable: true, signal: options.signal });
    return new PromiseHandle<Value>(this.#transport, promise.id);
  }

  /** Promises, by id. */
  promises({ state, external, tags, prefix, pageSize, signal }: PromiseFilter = {}): Listing<
    PromiseSummary,
    PromisePage
  > {
    const query = { state, external, prefix, tags: tags && JSON.stringify(tags), limit: pageSize };
    return new Listing(
      (after) => this.#transport.send('GET /v1/promises', { query: { ...query, after }, signal }),
      (page) => page.items,
      (page) => page.next,
    );
  }

  /** The schedule with this id. Sends nothing. */
  schedule(id: string): Schedule {
    return new Schedule(this.#transport, id);
  }

  /** Makes a schedule, or finds the one with the same id. */
  async createSchedule(schedule: CreateSchedule, options: CallOptions = {}): Promise<Schedule> {
    const { created } = await this.#transport.send('POST /v1/schedules', {
      body: schedule,
      isRepeatable: true,
      signal: options.signal,
    });
    return new Schedule(this.#transport, schedule.id, created);
  }

  /** Schedules, by id. */
  schedules({ label, prefix, pageSize, signal }: ListOptions & { label?: string | undefined } = {}): Listing<
    ScheduleView,
    ScheduleList
  > {
    return new Listing(
      (after) =>
        this.#transport.send('GET /v1/schedules', { query: { label, prefix, after, limit: pageSize }, signal }),
      (page) => page.items,
      (page) => page.next,
    );
  }

  /**
   * Published events, the oldest first, each at least once: `for await (const event of client.events())`. It does not
   * end by itself.
   */
  events(options: EventOptions = {}): AsyncGenerator<CloudEvent, void, undefined> {
    return read(this.#transport, options);
  }

  /** Acknowledges events by their ids: they are not read again. */
  async acknowledge(ids: string[], options: CallOptions = {}): Promise<number> {
    return acknowledge(this.#transport, ids, options);
  }

  /** Uploads a component, and points `alias` at it. */
  async deploy(component: Uint8Array, options: CallOptions & { alias?: string | undefined } = {}): Promise<Deployed> {
    return this.#transport.send('POST /v1/modules', {
      query: { alias: options.alias },
      body: component,
      isRepeatable: true,
      // The host compiles it first.
      waitMs: 300_000,
      signal: options.signal,
    });
  }

  /** The stored modules, the newest first. */
  async modules(options: CallOptions = {}): Promise<ModuleList> {
    return this.#transport.send('GET /v1/modules', { signal: options.signal });
  }

  /** A module, by alias or digest, with its functions and their schemas. */
  async module(name: string, options: CallOptions = {}): Promise<Module> {
    return this.#transport.send('GET /v1/modules/{module}', { path: { module: name }, signal: options.signal });
  }

  /** The component of a module. */
  async component(name: string, options: CallOptions = {}): Promise<Uint8Array> {
    return this.#transport.send('GET /v1/modules/{module}/component', {
      path: { module: name },
      signal: options.signal,
    });
  }

  /** Removes an alias: it starts nothing any more. */
  async undeploy(alias: string, options: CallOptions = {}): Promise<Undeployed> {
    return this.#transport.send('DELETE /v1/modules/{module}', { path: { module: alias }, signal: options.signal });
  }

  /** The version of the host, if its process answers. */
  async health(options: CallOptions = {}): Promise<Health> {
    return this.#transport.send('GET /health', { signal: options.signal });
  }

  /** Returns when the host accepts work; throws its reason after `waitMs` (0: at once). */
  async ready(options: WaitOptions = {}): Promise<Readiness> {
    const until = endOf(options.waitMs ?? 0);
    for (;;) {
      try {
        return await this.#transport.send('GET /ready', { retryForMs: 0, signal: options.signal });
      } catch (error) {
        if (!(error instanceof SegnoError) || Date.now() >= until) throw error;
      }
      await pause(Math.min(250, Math.max(0, until - Date.now())), options.signal);
    }
  }

  /**
   * Sends a request that this client has no method for, such as `request('GET', '/v1/limits')`. Bodies and answers are
   * those of the HTTP API, with its names of fields. A `GET` is tried again; others only with `isRepeatable`.
   */
  async request(
    method: string,
    path: string,
    options: CallOptions & { body?: unknown; isRepeatable?: boolean | undefined } = {},
  ): Promise<unknown> {
    return this.#transport.raw(method, path, options.body, options.isRepeatable ?? method === 'GET', options.signal);
  }

  async #start(target: string, input: unknown, options: StartOptions, waitMs: number) {
    const { id, isRepeatable } = identity(target, options.id);
    const started = await this.#transport.send('POST /v1/invocations', {
      body: {
        id,
        target,
        input,
        labels: options.labels,
        budget: options.budget,
        timeoutMs: options.timeoutMs,
        startAtMs: instant(options.startAt),
        retry: options.retry,
        attemptTimeoutMs: options.attemptTimeoutMs,
        waitMs: waitMs === 0 ? undefined : Math.ceil(waitMs),
      },
      isRepeatable,
      waitMs,
      signal: options.signal,
    });
    // Nobody else has an id that this client made up: if it was there, an earlier attempt of this start made it.
    return options.id === undefined && isRepeatable ? { ...started, created: true } : started;
  }

  async #page(
    filter: ExecutionFilter,
    after: string | undefined,
    limit: number | undefined,
    counts?: boolean,
  ): Promise<InvocationPage> {
    const { signal, pageSize: _, since, until, ...rest } = filter;
    const query = { ...rest, sinceAtMs: instant(since), untilAtMs: instant(until), after, limit, counts };
    return this.#transport.send('GET /v1/invocations', { query, signal });
  }
}
