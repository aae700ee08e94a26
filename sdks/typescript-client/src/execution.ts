// One execution of a function, known by its id.

import type {
  Accepted,
  BehindLimit,
  BudgetView,
  Continued,
  Invocation,
  InvocationOutcome,
  LogLine,
  LogPage,
  QueryAnswer,
  Removed,
  SignalAccepted,
} from './api.js';
import { Listing } from './listing.js';
import type { CallOptions, WaitOptions } from './options.js';
import { PromiseHandle } from './promise.js';
import type { Arguments, FreeName, HandlerInput, HandlerOutput, MessageName, MessageValue } from './reference.js';
import type { StartFirstOptions } from './start.js';
import { randomKey } from './time.js';
import type { Transport } from './transport.js';
import { Update, type UpdateOptions, accepted, completed, updateRequest } from './update.js';
import { endOf, isSettled, outcomeOf, outputOf } from './waiting.js';

/** Options of a signal. */
export interface SignalOptions extends CallOptions {
  /** Key of the signal: the same key again is the same signal. Default: made by the client. */
  key?: string | undefined;
  /** The execution to start, in the same step, if none has this id. */
  start?: StartFirstOptions | undefined;
}

/** Options of a query. */
export interface QueryOptions extends CallOptions {
  /** Number of records of the journal after which the workflow is asked. Default: all. */
  at?: number | undefined;
}

/** Options of a restart. */
export interface RestartOptions extends CallOptions {
  /** Id of the new execution. Default: the first free one of `ID-r1`, `ID-r2`, …. */
  id?: string | undefined;
  /** Module to run, by alias or digest. Default: the one that the old execution's name refers to. */
  module?: string | undefined;
}

/** Options of a removal. */
export interface RemoveOptions extends CallOptions {
  /** True to cancel what has not ended, and to kill it after `graceMs`. */
  cancel?: boolean | undefined;
  /** Time to clean up after a cancellation, in milliseconds. Default: 10,000. */
  graceMs?: number | undefined;
}

/**
 * An execution of a function. The handle keeps only its id: it costs nothing, and every program may make one.
 * `Messages` has the types of its messages, if it was started by a reference.
 */
export class Execution<Output = unknown, Messages = unknown> {
  readonly #transport: Transport;

  /** @internal */
  constructor(
    transport: Transport,
    id: string,
    started?: { created: boolean; behind: BehindLimit | undefined; outcome: InvocationOutcome },
  ) {
    this.#transport = transport;
    this.id = id;
    this.created = started?.created;
    this.behind = started?.behind;
    this.#outcome = started && isSettled(started.outcome.state) ? started.outcome : undefined;
  }

  /** The outcome that the start brought along, if it had ended by then. */
  readonly #outcome: InvocationOutcome | undefined;
  /** Id of the execution. */
  readonly id: string;
  /** After a start: true if this start made it, false if it existed already. */
  readonly created: boolean | undefined;
  /** After a start: the limit that it waits behind, if it does. */
  readonly behind: BehindLimit | undefined;

  /**
   * Waits for the end and returns the output.
   *
   * @throws {ExecutionFailedError} if it was rejected, cancelled, killed, or timed out.
   * @throws {ExecutionHaltedError} if it is halted: it needs a person.
   * @throws {WaitTimeoutError} after `waitMs`; the execution goes on.
   */
  async result(options: WaitOptions = {}): Promise<Output> {
    return outputOf(this.#outcome ?? (await this.wait(options)), options.waitMs) as Output;
  }

  /** Waits until it has ended or is halted, or for `waitMs`. Returns its state in any case. */
  async wait(options: WaitOptions = {}): Promise<InvocationOutcome> {
    return outcomeOf(this.#transport, this.id, endOf(options.waitMs), options);
  }

  /** Everything that is known of it, without its journal. */
  async status(options: CallOptions = {}): Promise<Invocation> {
    return this.#transport.send('GET /v1/invocations/{id}', { path: { id: this.id }, signal: options.signal });
  }

  /** Sends a signal. */
  signal<Name extends MessageName<Messages, 'signals'>>(
    name: Name,
    ...given: Arguments<MessageValue<Messages, 'signals', Name>, SignalOptions>
  ): Promise<SignalAccepted>;
  signal(
    name: FreeName<Messages, 'signals'>,
    payload?: unknown,
    options?: SignalOptions,
  ): Promise<SignalAccepted>;
  async signal(name: string, payload?: unknown, options: SignalOptions = {}): Promise<SignalAccepted> {
    return this.#transport.send('POST /v1/invocations/{id}/signals', {
      path: { id: this.id },
      body: { name, payload, key: options.key ?? randomKey(), start: options.start },
      isRepeatable: true,
      signal: options.signal,
    });
  }

  /** Asks the workflow, and returns the answer. A refusal of the workflow is a `WorkflowRefusedError`. */
  query<Name extends MessageName<Messages, 'queries'>>(
    name: Name,
    ...given: Arguments<HandlerInput<Messages, 'queries', Name>, QueryOptions>
  ): Promise<HandlerOutput<Messages, 'queries', Name>>;
  query<Value = unknown>(
    name: FreeName<Messages, 'queries'>,
    input?: unknown,
    options?: QueryOptions,
  ): Promise<Value>;
  async query(name: string, input?: unknown, options: QueryOptions = {}): Promise<unknown> {
    return (await this.queryAnswer(name, input, options)).value;
  }

  /** Like `query`, with the number of records that the answer has seen. */
  async queryAnswer(name: string, input?: unknown, options: QueryOptions = {}): Promise<QueryAnswer> {
    return this.#transport.send('POST /v1/invocations/{id}/queries/{name}', {
      path: { id: this.id, name },
      body: { input, at: options.at },
      isRepeatable: true,
      // The host may have to replay a long journal first.
      waitMs: 300_000,
      signal: options.signal,
    });
  }

  /**
   * Sends an update, and waits for the workflow's answer.
   *
   * @throws {WorkflowRefusedError} if the workflow refuses it.
   * @throws {UpdateFailedError} if its answer is a failure.
   * @throws {WaitTimeoutError} after `waitMs`; the update goes on.
   */
  update<Name extends MessageName<Messages, 'updates'>>(
    name: Name,
    ...given: Arguments<HandlerInput<Messages, 'updates', Name>, UpdateOptions>
  ): Promise<HandlerOutput<Messages, 'updates', Name>>;
  update<Answer = unknown>(
    name: FreeName<Messages, 'updates'>,
    input?: unknown,
    options?: UpdateOptions,
  ): Promise<Answer>;
  async update(name: string, input?: unknown, options: UpdateOptions = {}): Promise<unknown> {
    return completed(this.#transport, updateRequest(this.id, name, input, options), options);
  }

  /** Sends an update, and returns when the workflow has accepted it. */
  sendUpdate<Name extends MessageName<Messages, 'updates'>>(
    name: Name,
    ...given: Arguments<HandlerInput<Messages, 'updates', Name>, UpdateOptions>
  ): Promise<Update<HandlerOutput<Messages, 'updates', Name>>>;
  sendUpdate<Answer = unknown>(
    name: FreeName<Messages, 'updates'>,
    input?: unknown,
    options?: UpdateOptions,
  ): Promise<Update<Answer>>;
  async sendUpdate(name: string, input?: unknown, options: UpdateOptions = {}): Promise<Update> {
    const request = updateRequest(this.id, name, input, options);
    return new Update(this.#transport, request, await accepted(this.#transport, request, options));
  }

  /** Its promise with this name, which others settle. */
  promise<Name extends MessageName<Messages, 'promises'>>(
    name: Name,
  ): PromiseHandle<MessageValue<Messages, 'promises', Name>>;
  promise<Value = unknown>(name: FreeName<Messages, 'promises'>): PromiseHandle<Value>;
  promise(name: string): PromiseHandle {
    return new PromiseHandle(this.#transport, `${this.id}/p/${name}`);
  }

  /** Asks it to stop. It may clean up first: `wait` tells when it has ended. */
  async cancel(options: CallOptions = {}): Promise<Accepted> {
    return this.#transport.send('POST /v1/invocations/{id}/cancel', { ...this.#same(options) });
  }

  /** Ends it at once, without cleaning up. */
  async kill(options: CallOptions = {}): Promise<Accepted> {
    return this.#transport.send('POST /v1/invocations/{id}/kill', { ...this.#same(options) });
  }

  /** Stops it for a person to look at. */
  async halt(options: CallOptions = {}): Promise<Accepted> {
    return this.#transport.send('POST /v1/invocations/{id}/halt', { ...this.#same(options) });
  }

  /** Goes on with it after a halt, on another module if `module` (alias or digest) repeats its journal. */
  async resume(options: CallOptions & { module?: string | undefined } = {}): Promise<Continued> {
    return this.#transport.send('POST /v1/invocations/{id}/continue', {
      path: { id: this.id },
      body: { module: options.module },
      signal: options.signal,
    });
  }

  /** Starts its function once more, with the same input, labels and time limit. */
  async restart(options: RestartOptions = {}): Promise<Execution<Output, Messages>> {
    const started = await this.#transport.send('POST /v1/invocations/{id}/restart', {
      path: { id: this.id },
      body: { id: options.id, module: options.module },
      isRepeatable: options.id !== undefined,
      signal: options.signal,
    });
    return new Execution(this.#transport, started.id, {
      created: started.created,
      behind: started.behind,
      outcome: started.invocation,
    });
  }

  /** The budgets that it draws on, the nearest first, and those of executions below it. */
  async budget(options: CallOptions = {}): Promise<BudgetView> {
    return this.#transport.send('GET /v1/invocations/{id}/budget', { path: { id: this.id }, signal: options.signal });
  }

  /** Sets limits of its own budget. Units that are not named keep theirs, and what is spent stays spent. */
  async setBudget(limits: Record<string, number>, options: CallOptions = {}): Promise<BudgetView> {
    return this.#transport.send('PUT /v1/invocations/{id}/budget', { ...this.#same(options), body: { limits } });
  }

  /** Removes it after its end, with everything that it made. */
  async remove(options: RemoveOptions = {}): Promise<Removed> {
    const { cancel, graceMs } = options;
    return this.#transport.send('DELETE /v1/invocations/{id}', {
      path: { id: this.id },
      query: { cancel, graceMs: cancel ? graceMs : undefined },
      waitMs: cancel ? (graceMs ?? 10_000) : 0,
      signal: options.signal,
    });
  }

  /** Its log lines. */
  logs(options: CallOptions = {}): Listing<LogLine, LogPage> {
    return new Listing(
      (from) =>
        this.#transport.send('GET /v1/invocations/{id}/logs', {
          path: { id: this.id },
          query: { from: from === undefined ? undefined : Number(from) },
          signal: options.signal,
        }),
      (page) => page.lines,
      (page) => page.next?.toString(),
    );
  }

  /** A request without a body that may be sent again. */
  #same(options: CallOptions) {
    return { path: { id: this.id }, isRepeatable: true, signal: options.signal };
  }
}
