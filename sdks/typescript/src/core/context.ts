// The context of a workflow: the second argument of its function, as its author sees it.

import type { Budget } from './budget.js';
import type { Callable } from './definition.js';
import type { Duration, Instant } from './duration.js';
import type { Failure } from './failure.js';
import type { HttpRequest, HttpResponse } from './http.js';
import type { Logger } from './log.js';
import type { ObjectType, StateMap } from './object.js';
import type { CallOptions, SendOptions } from './retry.js';
import type { Saga } from './saga.js';
import type { OutputOf, Schema } from './schema.js';
import type { ReadOptions, StreamReader } from './stream-reader.js';
import type { StreamOptions, WorkflowStream } from './stream.js';
import type { Values } from './workflow.js';

/** The promise of a command, which can be cancelled. */
export interface Call<T> extends Promise<T> {
  /** The id of what the command made: an invocation or a promise. */
  readonly id: string;
  /** The number of the command in the journal. */
  readonly command: number;
  /**
   * Cancels it. A sleep, a promise or a request ends at once with a `Failure` 499. A called function is asked to stop,
   * and its promise gives what it answers.
   */
  cancel(): Promise<void>;
}

/** Input and options of a call; functions without input need none. */
export type Arguments<In, Options> = [In] extends [undefined] | [void]
  ? [input?: undefined, options?: Options]
  : undefined extends In
    ? [input?: In, options?: Options]
    : [input: In, options?: Options];

/** A signal. */
export interface Signal<Name extends string = string, T = unknown> {
  /** The name that the sender gave. */
  name: Name;
  /** The value. */
  value: T;
}

/** The name of a field or of a declared value. */
type Named<T> = Extract<keyof T, string>;

/** A schema of a state's field, or a map of them. */
export type StateSchema = Schema | StateMap;

/** The functions of one object, to be called. */
export type ObjectCalls<F> = {
  readonly [K in keyof F]: F[K] extends Callable<infer In, infer Out> ? (...given: Arguments<In, CallOptions>) => Call<Out> : never;
} & {
  /** The same functions, sent: they are started and not awaited. */
  readonly send: {
    readonly [K in keyof F]: F[K] extends Callable<infer In, any> ? (...given: Arguments<In, SendOptions>) => Promise<string> : never;
  };
};

/** The options of a wait for a signal. */
export interface SignalOptions {
  /** The longest time to wait. Then the wait gives undefined. */
  timeout?: Duration;
}

/** The types of a context: the values of its signals and promises by name, and the shared value. */
export interface ContextTypes {
  signals: Record<string, any>;
  promises: Record<string, any>;
  shared: any;
}

/** The context of a workflow. */
export interface WorkflowContext<T extends ContextTypes = { signals: {}; promises: {}; shared: undefined }> {
  /** The id of this invocation. */
  readonly id: string;
  /** The id of the invocation that called it. */
  readonly parent: string | undefined;
  /** When it began. */
  readonly startedAt: Date;
  /** True after a cancellation was requested. */
  readonly isCancelled: boolean;
  /** Aborted when the invocation is cancelled. */
  readonly abortSignal: AbortSignal;
  /** Log lines, which `segno logs ID` shows. A replay adds none. */
  readonly log: Logger;
  /** The value that `shared` of the options made: queries and updates see it. */
  readonly shared: T['shared'];

  /** Calls a function, and gives its result. */
  call<In, Out>(target: Callable<In, Out>, ...given: Arguments<In, CallOptions>): Call<Out>;
  /** Calls a function by its name in this module, or by its address `wasm://MODULE/FUNCTION`. */
  call<Out = unknown>(target: string, input?: unknown, options?: CallOptions): Call<Out>;
  /** Starts a function that outlives this invocation. Gives its id as soon as the start is stored. */
  send<In>(target: Callable<In, unknown>, ...given: Arguments<In, SendOptions>): Promise<string>;
  /** Starts a function by its name. */
  send(target: string, input?: unknown, options?: SendOptions): Promise<string>;
  /** The functions of an object of this module: `ctx.object(Account, 'ada').deposit(100)`. */
  object<F extends Record<string, any>>(kind: ObjectType<F, any, any>, key: string): ObjectCalls<F>;

  /** What is left for this invocation, by unit: of its budget, or of one above it that has less left. */
  budget(): Call<Budget>;

  /** Waits. A sleep may last for years. `setTimeout` does the same with a callback. */
  sleep(length: Duration, options?: Pick<CallOptions, 'signal'>): Call<void>;
  /** Waits until an instant. */
  sleepUntil(instant: Instant, options?: Pick<CallOptions, 'signal'>): Call<void>;
  /** Computes once, and keeps the result. The function may not wait or use anything of this context. */
  run<R>(name: string, compute: () => R): Promise<R>;
  /** Logical time in milliseconds, as `Date.now()`. */
  now(): number;
  /** A random number from 0 to 1, the same in every replay, as `Math.random()`. */
  random(): number;
  /** A random UUID, the same in every replay. */
  uuid(): string;

  /** A promise with a declared name, which somebody outside settles: its id is `{invocation}/p/{name}`. */
  promise<N extends Named<T['promises']>>(name: N, options?: { timeout?: Duration }): Call<T['promises'][N]>;
  /** A promise that somebody outside settles, by name or by the id of the result. */
  promise<V = unknown>(name?: string, options?: { timeout?: Duration }): Call<V>;
  /** Resolves a promise of another invocation. */
  resolve(id: string, value?: unknown): Promise<void>;
  /** Rejects a promise of another invocation. */
  reject(id: string, failure: Failure): Promise<void>;

  /** The value of the next signal with this name. One that loses a `Promise.race` takes none. */
  signal<N extends Named<T['signals']>>(name: N): Promise<T['signals'][N]>;
  /** The same with a time limit: undefined if it passes. */
  signal<N extends Named<T['signals']>>(name: N, options: SignalOptions): Promise<T['signals'][N] | undefined>;
  /** The next signal, whatever its name. */
  anySignal(): Promise<Signal>;
  /** The same with a time limit: undefined if it passes. */
  anySignal(options: SignalOptions): Promise<Signal | undefined>;
  /** The signals with this name, one after the other, without an end. */
  signals<N extends Named<T['signals']>>(name: N): AsyncIterableIterator<T['signals'][N]>;
  /** Sends another invocation a signal. */
  sendSignal(id: string, name: string, value?: unknown): Promise<void>;

  /** A durable request: the host sends it, retries it, and keeps the response. `fetch` does the same. */
  http(request: string | HttpRequest, options?: CallOptions): Call<HttpResponse>;
  /** Hands an event to the receivers of the topic, at least once. */
  publish(topic: string, value?: unknown): Promise<void>;
  /** A stream of this invocation, for readers outside: `ctx.stream('tokens').append({ text })`. */
  stream(name: string, options?: StreamOptions): WorkflowStream;
  /** Reads a stream of any invocation, or of an object (`MODULE/OBJECT@KEY`), while it grows: `for await (const item of ctx.readStream<number>(id, 'numbers'))`. */
  readStream<T = unknown>(invocation: string, name: string, options?: ReadOptions): StreamReader<T>;
  /** Begins a saga: steps that are undone, the last one first, when a `Failure` leaves the workflow. */
  saga(name: string): Saga;
  /** Runs a plan of a graph that is made at run time. The result has the outputs by name. */
  graph<Out = Record<string, unknown>>(plan: object, input?: unknown, options?: CallOptions): Call<Out>;

  /** Waits until the condition holds. It is asked again after every event. */
  until(holds: () => boolean): Promise<void>;
  /** Waits until every update that was accepted is answered. */
  updatesDone(): Promise<void>;
  /** Ends this generation; the next one begins with this input: `return ctx.continueAsNew(input)`. */
  continueAsNew(input?: unknown, options?: { sameCode?: boolean }): never;
}

/** The value of a field of a state. */
type StateValue<S> = S extends Schema ? OutputOf<S> : never;
/** The names of the fields that are no maps. */
type Fields<St> = { [K in keyof St]: St[K] extends StateMap ? never : K }[keyof St] & string;
/** The names of the fields that are maps. */
type Maps<St> = { [K in keyof St]: St[K] extends StateMap ? K : never }[keyof St] & string;

/** A map in an object's state. */
export interface ObjectMap<V> {
  /** The value, or undefined. */
  get(key: string): Promise<V | undefined>;
  /** Writes. It is stored with the next step. */
  set(key: string, value: V): void;
  /** Removes one value. */
  clear(key: string): void;
  /** The keys that have a value, in order. */
  keys(): Promise<string[]>;
}

/** The state of an object. Writes are stored with the next step; shared functions only read. */
export interface ObjectState<St> {
  /** The value, or undefined. */
  get<N extends Fields<St>>(name: N): Promise<StateValue<St[N]> | undefined>;
  /** Writes. It is stored with the next step. */
  set<N extends Fields<St>>(name: N, value: StateValue<St[N]>): void;
  /** Removes one value. */
  clear(name: Fields<St>): void;
  /** A field that was declared with `mapOf`. */
  map<N extends Maps<St>>(name: N): ObjectMap<St[N] extends StateMap<infer V> ? V : never>;
  /** All names that have a value, in order. */
  names(): Promise<string[]>;
  /** Removes the whole state. */
  clearAll(): void;
}

/** A promise of an object: it belongs to no execution, and is settled once. */
export interface ObjectPromise<V> {
  /** The value, when it is settled. Throws the `Failure` with which it was rejected. */
  wait(): Promise<V>;
  /** The value if it is settled now, else undefined. Throws the `Failure` with which it was rejected. */
  peek(): Promise<V | undefined>;
  /** Resolves it. A `Failure` 409 says that it was settled before. */
  resolve(value: V): Promise<void>;
  /** Rejects it. */
  reject(failure: Failure): Promise<void>;
}

/** The context of a function of an object. */
export interface ObjectContext<St, Pr, Sig = {}, Pro = {}>
  extends WorkflowContext<{ signals: Values<Sig>; promises: Values<Pro>; shared: undefined }> {
  /** The key of the object. */
  readonly key: string;
  /** The state of the object. */
  readonly state: ObjectState<St>;
  /**
   * A stream of the object, which outlives its executions and is removed with its state: `ctx.objectStream('history').append(amount)`.
   * A shared function may not write it.
   */
  objectStream(name: string, options?: StreamOptions): WorkflowStream;
  /** A promise of the object. */
  objectPromise<N extends Named<Pr>>(name: N): ObjectPromise<Pr[N] extends Schema ? OutputOf<Pr[N]> : unknown>;
}
