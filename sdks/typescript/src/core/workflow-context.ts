// The context of a workflow over its execution.

import { BUDGET_FUNCTION } from './budget.js';
import type { Call, ObjectCalls, Signal, SignalOptions, WorkflowContext } from './context.js';
import { type Callable, addressOf, naming } from './definition.js';
import { type Duration, type Instant, instantMs, milliseconds } from './duration.js';
import type { Command, Outcome } from './engine.js';
import { NextGeneration, type WorkflowExecution, failed, success } from './execution.js';
import { Failure } from './failure.js';
import { guarded } from './guard.js';
import { type HttpRequest, durableResponse, httpRecord } from './http.js';
import { logger } from './log.js';
import { objectParts } from './object-context.js';
import { ObjectType } from './object.js';
import { generator, seedOf, uuid } from './random.js';
import { type CallOptions, type SendOptions, callRecord, checkOptions, sendRecord } from './retry.js';
import { validated } from './schema.js';
import type { HeardSignal } from './signal-wait.js';
import { PartReader, type ReadOptions, STREAM_FUNCTION, type StreamPart } from './stream-reader.js';
import { type StreamOptions, workflowStream } from './stream.js';
import { encode } from './value.js';

const PROMISE_OPTIONS = ['timeout'];

const contexts = new WeakMap<WorkflowExecution, WorkflowContext<any>>();

/** The context of the execution; always the same one. */
export function workflowContext(execution: WorkflowExecution): WorkflowContext<any> {
  const known = contexts.get(execution);
  if (known !== undefined) return known;
  const parts = Object.assign(facts(execution), commands(execution), waits(execution));
  const whole = Object.defineProperties(parts, { ...live(execution), ...objectParts(execution) });
  const context = guarded(whole, 'a command or a field of the context') as WorkflowContext<any>;
  contexts.set(execution, context);
  return context;
}

function facts(execution: WorkflowExecution): object {
  const { facts: known, engine } = execution;
  return {
    id: known.invocation,
    parent: known.parent,
    startedAt: new Date(known.startedAtMs),
    abortSignal: execution.controller.signal,
    log: logger((level, message) => engine.log(level, message)),
    now: () => engine.now(),
    random: () => execution.random(),
    uuid: () => uuid(() => execution.random()),
  };
}

function live(execution: WorkflowExecution): PropertyDescriptorMap {
  return {
    isCancelled: { enumerable: true, get: () => execution.isCancelled },
    shared: { enumerable: true, get: () => execution.shared },
  };
}

/** A command whose promise can be cancelled, also by an `AbortSignal`. */
function cancellable<T>(execution: WorkflowExecution, command: Command, signal: AbortSignal | undefined, read?: (value: unknown) => T, id?: string): Call<T> {
  signal?.throwIfAborted();
  const { index, promise: given } = execution.issue(command);
  const promise = execution.completion<T>(index, read);
  execution.unawaited.add(index, () => nameOf(command), promise);
  const cancel = async (): Promise<void> => {
    execution.unawaited.delete(index);
    const asked = execution.issue({ kind: 'cancel', command: index });
    await execution.completion(asked.index);
  };
  signal?.addEventListener('abort', () => {
    execution.unawaited.delete(index);
    if (execution.isFinished || !execution.isOpen(index)) return;
    const asked = execution.issue({ kind: 'cancel', command: index });
    execution.engine.forget(asked.index);
  });
  const made = id ?? given ?? `${execution.facts.invocation}/${index}`;
  const call = promise as { -readonly [part in keyof Call<T>]: Call<T>[part] };
  call.id = made;
  call.command = index;
  call.cancel = cancel;
  return call;
}

/** The command in a warning. */
function nameOf(command: Command): string {
  switch (command.kind) {
    case 'call':
      return `the call of \`${command.function}\``;
    case 'http':
      return `the request to ${command.request.url}`;
    case 'promise':
      return command.name === undefined ? 'a promise' : `the promise \`${command.name}\``;
    default:
      return `the ${command.kind}`;
  }
}

function commands(execution: WorkflowExecution): object {
  const { engine } = execution;
  const once = async (command: Command): Promise<void> => {
    await execution.completion(execution.issue(command).index);
  };
  const call = (target: string | Callable<never, unknown>, input?: unknown, options: CallOptions = {}) => {
    const name = addressOf(target, '`ctx.call` is given');
    const what = `the call of \`${name}\``;
    const record = callRecord(options, what);
    return cancellable(execution, { kind: 'call', function: name, input: encode(input, `the input of \`${name}\``), options: record }, options.signal);
  };
  const send = async (target: string | Callable<never, unknown>, input?: unknown, options: SendOptions = {}) => {
    const name = addressOf(target, '`ctx.send` is given');
    const record = sendRecord(options, `the send of \`${name}\``, engine.now());
    const { index } = execution.issue({ kind: 'send', function: name, input: encode(input, `the input of \`${name}\``), options: record });
    return execution.completion<string>(index);
  };
  const sleepUntil = (untilMs: number, options: Pick<CallOptions, 'signal'>) => {
    checkOptions(options, ['signal'], 'a sleep');
    return cancellable<void>(execution, { kind: 'sleep', untilMs }, options.signal, () => undefined);
  };
  return {
    call,
    send,
    budget: () => call(BUDGET_FUNCTION),
    object: (kind: ObjectType, key: string) => objectCalls(kind, key, call, send),
    sleep: (length: Duration, options: Pick<CallOptions, 'signal'> = {}) => sleepUntil(engine.now() + milliseconds(length, 'the length of a sleep'), options),
    sleepUntil: (instant: Instant, options: Pick<CallOptions, 'signal'> = {}) => sleepUntil(instantMs(instant, 'the end of a sleep'), options),
    run: (name: string, compute: () => unknown) => run(execution, name, compute),
    resolve: (id: string, value?: unknown) => once({ kind: 'settle', promise: id, outcome: success(value, `the value of promise \`${id}\``) }),
    reject: (id: string, failure: Failure) => once({ kind: 'settle', promise: id, outcome: failed(failure) }),
    sendSignal: (id: string, name: string, value?: unknown) =>
      once({ kind: 'send-signal', invocation: id, name, payload: encode(value, `the value of signal \`${name}\``) }),
    http(given: string | HttpRequest, options: CallOptions = {}) {
      const request = httpRecord(given);
      const record = callRecord(options, `the request to ${request.url}`);
      return cancellable(execution, { kind: 'http', request, options: record }, options.signal, (told) => durableResponse(told, request.url));
    },
    publish: (topic: string, value?: unknown) => once({ kind: 'publish', topic, payload: encode(value, `the event on topic \`${topic}\``) }),
    stream: (name: string, options?: StreamOptions) => workflowStream(execution, name, options),
    readStream: (invocation: string, name: string, options: ReadOptions = {}) => new PartReader(invocation, name, options, (query) => call(STREAM_FUNCTION, query) as Call<StreamPart>),
    saga: (name: string) => execution.sagas.begin(name),
    graph: (plan: object, input?: unknown, options: CallOptions = {}) =>
      cancellable(
        execution,
        { kind: 'call', function: 'segno:graph', input: encode({ plan, input: input ?? null }, 'the plan'), options: callRecord(options, 'the graph') },
        options.signal,
      ),
    continueAsNew(input?: unknown, { sameCode = false }: { sameCode?: boolean } = {}) {
      if (execution.definition.owner !== undefined) throw new Error('a function of an object cannot continue as new: an object keeps its state instead');
      execution.continuing = new NextGeneration(encode(input, 'the input of the next generation'), sameCode);
      return execution.continuing;
    },
  };
}

function objectCalls(kind: ObjectType, key: string, call: Function, send: Function): ObjectCalls<any> {
  if (!(kind instanceof ObjectType)) throw new TypeError('`ctx.object` takes a kind of object of this module, and a key');
  if (typeof key !== 'string' || key === '') throw new TypeError(`the key of \`${kind.title}\` is ${JSON.stringify(key)}, and has to be a text`);
  naming.keyed?.(kind);
  if (kind.assigned === undefined) throw new TypeError('`ctx.object` is given a kind of object that the entry file does not export: export it there');
  const calls: Record<string, unknown> = {};
  const sends: Record<string, unknown> = {};
  for (const [name, definition] of Object.entries(kind.functions as Record<string, { options: { name?: string } }>)) {
    const address = `${kind.assigned}@${key}/${definition.options.name ?? name}`;
    calls[name] = (input?: unknown, options?: CallOptions) => call(address, input, options);
    sends[name] = (input?: unknown, options?: SendOptions) => send(address, input, options);
  }
  const what = `a function of \`${kind.assigned}\``;
  return guarded({ ...calls, send: guarded(sends, what) }, what) as unknown as ObjectCalls<any>;
}

function run(execution: WorkflowExecution, name: string, compute: () => unknown): Promise<unknown> {
  if (typeof name !== 'string') throw new TypeError("`ctx.run` takes a name and a function: `ctx.run('price', () => …)`");
  execution.refuseInRun(`\`ctx.run('${name}', …)\``);
  const { index, execute } = execution.engine.run(name);
  const completion = execution.completion(index);
  if (execute) {
    let outcome: Outcome;
    execution.running = { name, random: generator(seedOf(`${Array.from(execution.facts.seed)} ${index}`)) };
    try {
      outcome = stored(execution, name, compute());
    } catch (error) {
      outcome = failed(error);
    }
    execution.running = undefined;
    execution.engine.runDone(index, outcome);
  }
  return completion;
}

/** The result of a computation. One that cannot be stored is a defect. */
function stored(execution: WorkflowExecution, name: string, value: unknown): Outcome {
  try {
    if (typeof (value as { then?: unknown } | undefined)?.then === 'function') {
      throw new TypeError(`the function of \`ctx.run('${name}', …)\` waits: it only computes, so it is no \`async\` function`);
    }
    return success(value, `the result of the step \`${name}\``);
  } catch (error) {
    execution.broke(error);
    throw error;
  }
}

function waits(execution: WorkflowExecution): object {
  const { options, title } = execution.definition;
  const declared = (kind: 'signals' | 'promises', name: string): void => {
    const known = options[kind];
    if (known === true || (kind === 'promises' && known === undefined) || (known !== undefined && Object.hasOwn(known, name))) return;
    const names = Object.keys(known ?? {}).map((one) => `\`${one}\``).join(', ') || 'none';
    throw new TypeError(`\`${title}\` declares no ${kind.slice(0, -1)} \`${name}\` in its options (\`${kind}\`); it declares: ${names}`);
  };
  const schemaOf = (kind: 'signals' | 'promises', name: string) => {
    const known = options[kind];
    return known === undefined || known === true ? undefined : known[name];
  };
  const value = (signal: HeardSignal) => validated(schemaOf('signals', signal.name), signal.value, `the value of signal \`${signal.name}\``);
  const signal = (name: string, how?: SignalOptions) => {
    declared('signals', name);
    return next(execution, name, how, value);
  };
  return {
    promise(name?: string, how?: { timeout?: Duration }) {
      if (name !== undefined && options.promises !== undefined) declared('promises', name);
      if (how !== undefined) checkOptions(how, PROMISE_OPTIONS, 'a promise');
      const timeoutMs = how?.timeout === undefined ? undefined : milliseconds(how.timeout, '`timeout`');
      const schema = name === undefined ? undefined : schemaOf('promises', name);
      const read = schema === undefined ? undefined : (told: unknown) => validated(schema, told, `the value of promise \`${name}\``);
      return cancellable(execution, { kind: 'promise', name, timeoutMs }, undefined, read);
    },
    signal,
    anySignal: (how?: SignalOptions) =>
      next(execution, undefined, how, async ({ name, ...heard }): Promise<Signal> => ({ name, value: await value({ name, ...heard }) })),
    async *signals(name: string) {
      for (;;) yield await signal(name);
    },
    until: (holds: () => boolean) => execution.until(holds),
    updatesDone: () => execution.until(() => execution.updates.unanswered === 0),
  };
}

/** The next signal, with a time limit if one is given. */
function next(execution: WorkflowExecution, name: string | undefined, how: SignalOptions | undefined, read: (signal: HeardSignal) => unknown): unknown {
  const { options, title } = execution.definition;
  if (options.signals === undefined && options.updates === undefined) {
    throw new TypeError(`\`${title}\` takes no signals: declare them in its options, \`signals: { approved: schema }\``);
  }
  const wait = execution.signals.wait(name, read);
  if (how?.timeout !== undefined) {
    const { index } = execution.issue({ kind: 'sleep', untilMs: execution.engine.now() + milliseconds(how.timeout, '`timeout`') });
    execution.await(index, { resolve: () => void wait.expire(), reject: () => {} });
    // A signal that is given back, because the wait lost a race, leaves the time limit in place.
    execution.whenTaken(wait, index);
  }
  return wait;
}
